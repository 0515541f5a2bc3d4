"""Products of small floats with scales, of operands that the loop computes: quantized there, or converted."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
BLOCK, BIAS = 32, 127


def _quantized(tile, M, K):
    """A tile of e4m3 and a power of two for each block of 32: the largest one that is no more than the largest magnitude."""
    blocks = tile.reshape((M, K // BLOCK, BLOCK))
    largest = ct.max(ct.abs(blocks), axis=2, keepdims=True)
    exponent = ct.maximum(ct.bitcast(largest, ct.int32) >> 23, 1)
    inverse = ct.bitcast((2 * BIAS - exponent) << 23, ct.float32)
    small = (blocks * inverse).reshape((M, K)).astype(ct.float8_e4m3fn)
    return small, ct.bitcast(exponent.reshape((M, K // BLOCK)).astype(ct.uint8), ct.float8_e8m0fnu)


@ct.kernel
def quantized_left(a, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt):
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, x_scale = _quantized(ct.load(a, (row, k), (M, K), padding_mode=ZERO).astype(ct.float32), M, K)
        y = ct.load(b, (column, k), (N, K), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO)
        acc = ct.mma_scaled(x, x_scale, y.transpose(), y_scale.transpose(), acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def quantized_both(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, x_scale = _quantized(ct.load(a, (row, k), (M, K), padding_mode=ZERO).astype(ct.float32), M, K)
        y, y_scale = _quantized(ct.load(b, (column, k), (N, K), padding_mode=ZERO).astype(ct.float32), N, K)
        acc = ct.mma_scaled(x, x_scale, y.transpose(), y_scale.transpose(), acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def converted_right(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt):
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y = ct.load(b, (column, k), (N, K), padding_mode=ZERO).astype(ct.float8_e4m3fn)
        y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO)
        acc = ct.mma_scaled(x, x_scale, y.transpose(), y_scale.transpose(), acc)
    ct.store(out, (row, column), acc)


SMALL, WIDE, PLAIN = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float8_e4m3fn", "bfloat16", "float32"))
SCALE, LINES = (Array("float8_e8m0fnu", 2, stride_divisible_by=many, shape_divisible_by=(1, many)) for many in (1, 16))
ARGUMENTS = {
    quantized_left: (WIDE, SMALL, SCALE, PLAIN),
    quantized_both: (WIDE, WIDE, PLAIN),
    converted_right: (SMALL, SCALE, WIDE, SCALE, PLAIN),
}
CASES = [
    Case("left", quantized_left, (*ARGUMENTS[quantized_left], 128, 64, 64)),
    Case("left_deep", quantized_left, (*ARGUMENTS[quantized_left], 128, 128, 128)),
    Case("both", quantized_both, (*ARGUMENTS[quantized_both], 128, 64, 128)),
    Case("right", converted_right, (*ARGUMENTS[converted_right], 128, 64, 128)),
    Case("right_grouped", converted_right, (SMALL, LINES, WIDE, LINES, PLAIN, 128, 128, 256)),
]
