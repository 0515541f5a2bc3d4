"""The kernels of ``parity.py``: one matmul per kernel, whose operands arrive in the ways in which people write them.

All have the arguments a (m, k), b (k, n) or its transpose, c (m, n), some scales (k / 64, n) or its transpose; the tile is (128, 128, 64), or as named.
"""

import cuda.tile as ct
from key_kernels import matrix

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
TILE_M, TILE_N, TILE_K = 128, 128, 64


def tile_of(array, row, column, shape):
    """One tile; zeros beyond the ends of the array."""
    return ct.load(array, (row, column), shape, padding_mode=ct.PaddingMode.ZERO)


def steps_of(a):
    """The iterations along k."""
    return ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))


def finish(c, total):
    """Store the tile of this block."""
    ct.store(c, (ct.bid(0), ct.bid(1)), total.astype(c.dtype))


@ct.kernel
def direct(a, b, c):
    """c = a @ b, the form that all others are compared with."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        left = tile_of(a, ct.bid(0), k, (TILE_M, TILE_K))
        total = ct.mma(left, tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)), total)
    finish(c, total)


@ct.kernel
def bitcast(a, b, c):
    """Both operands hold bfloat16 as uint16."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        left = ct.bitcast(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), ct.bfloat16)
        right = ct.bitcast(tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)), ct.bfloat16)
        total = ct.mma(left, right, total)
    finish(c, total)


@ct.kernel
def bitcast_fp8(a, b, c):
    """Both hold fp8 as uint8, the right one transposed."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        left = ct.bitcast(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), ct.float8_e4m3fn)
        right = ct.bitcast(tile_of(b, ct.bid(1), k, (TILE_N, TILE_K)), ct.float8_e4m3fn)
        total = ct.mma(left, ct.transpose(right), total)
    finish(c, total)


@ct.kernel
def left_converted(a, b, c):
    """The left operand is converted to the type of the right one."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        left = tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)).astype(b.dtype)
        total = ct.mma(left, tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)), total)
    finish(c, total)


@ct.kernel
def right_converted(a, b, c):
    """The right operand is converted to the type of the left one."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        right = tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)).astype(a.dtype)
        total = ct.mma(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), right, total)
    finish(c, total)


@ct.kernel
def both_converted(a, b, c):
    """Both operands are converted to bfloat16."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        left = tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)).astype(ct.bfloat16)
        right = tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)).astype(ct.bfloat16)
        total = ct.mma(left, right, total)
    finish(c, total)


@ct.kernel
def left_to_fp8(a, b, c):
    """The left operand is scaled and rounded to fp8."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        left = (tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)).astype(ct.float32) * 0.5).astype(ct.float8_e4m3fn)
        right = tile_of(b, ct.bid(1), k, (TILE_N, TILE_K))
        total = ct.mma(left, ct.transpose(right), total)
    finish(c, total)


@ct.kernel
def right_computed(a, b, c):
    """The right operand is computed from a loaded tile."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        right = tile_of(b, k, ct.bid(1), (TILE_K, TILE_N))
        total = ct.mma(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), right + right, total)
    finish(c, total)


@ct.kernel
def right_before_loop(a, b, c):
    """The right operand is loaded once, and multiplied by many left ones."""
    right = tile_of(b, 0, ct.bid(1), (TILE_K, TILE_N))
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        total = ct.mma(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), right, total)
    finish(c, total)


@ct.kernel
def right_used_twice(a, b, c):
    """Two dots of an iteration read one right operand."""
    first = ct.zeros((64, TILE_N), ct.float32)
    second = ct.zeros((64, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        right = tile_of(b, k, ct.bid(1), (TILE_K, TILE_N))
        first = ct.mma(tile_of(a, 2 * ct.bid(0), k, (64, TILE_K)), right, first)
        second = ct.mma(tile_of(a, 2 * ct.bid(0) + 1, k, (64, TILE_K)), right, second)
    ct.store(c, (2 * ct.bid(0), ct.bid(1)), first.astype(c.dtype))
    ct.store(c, (2 * ct.bid(0) + 1, ct.bid(1)), second.astype(c.dtype))


@ct.kernel
def few_columns(a, b, c, COLUMNS: ConstInt):
    """A tile of so many columns, as a decoder has heads."""
    total = ct.zeros((TILE_M, COLUMNS), ct.float32)
    for k in range(steps_of(a)):
        left = tile_of(a, ct.bid(0), k, (TILE_M, TILE_K))
        total = ct.mma(left, tile_of(b, k, ct.bid(1), (TILE_K, COLUMNS)), total)
    finish(c, total)


@ct.kernel
def few_columns_transposed(a, b, c, COLUMNS: ConstInt):
    """The right operand lies along k, as keys and queries do."""
    total = ct.zeros((TILE_M, COLUMNS), ct.float32)
    for k in range(steps_of(a)):
        right = tile_of(b, ct.bid(1), k, (COLUMNS, TILE_K))
        total = ct.mma(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), ct.transpose(right), total)
    finish(c, total)


@ct.kernel
def few_columns_computed(a, b, c, COLUMNS: ConstInt):
    """The right operand is computed, as probabilities are."""
    total = ct.zeros((TILE_M, COLUMNS), ct.float32)
    for k in range(steps_of(a)):
        right = tile_of(b, k, ct.bid(1), (TILE_K, COLUMNS))
        total = ct.mma(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), right + right, total)
    finish(c, total)


@ct.kernel
def left_gathered(a, b, c):
    """The rows of the left operand are gathered."""
    rows = ct.bid(0) * TILE_M + (ct.arange(TILE_M, dtype=ct.int32) ^ 1)
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        columns = k * TILE_K + ct.arange(TILE_K, dtype=ct.int32)
        left = ct.gather(a, (rows.reshape((TILE_M, 1)), columns.reshape((1, TILE_K))))
        total = ct.mma(left, tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)), total)
    finish(c, total)


@ct.kernel
def right_scaled(a, b, c, scales):
    """The right operand is converted, and multiplied by a scale for each column and step, as weights of few bits are."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        scale = tile_of(scales, k, ct.bid(1), (1, TILE_N))
        right = tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)).astype(a.dtype) * scale
        total = ct.mma(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), right, total)
    finish(c, total)


@ct.kernel
def right_packed(a, b, c, scales):
    """Eight weights of four bits are in a word, along k, with a scale for each column and step: b (n, k / 8), scales (n, k / 64)."""
    total = ct.zeros((TILE_M, TILE_N), ct.float32)
    shifts = 4 * ct.arange(8, dtype=ct.int32)
    for k in range(steps_of(a)):
        words = tile_of(b, ct.bid(1), k, (TILE_N, TILE_K // 8))
        weights = ((words[:, :, None] >> shifts[None, None, :]) & 15).reshape((TILE_N, TILE_K))
        right = (weights.astype(a.dtype) - 8) * tile_of(scales, ct.bid(1), k, (TILE_N, 1))
        total = ct.mma(tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)), ct.transpose(right), total)
    finish(c, total)


@ct.kernel
def batch_of_one(a, b, c):
    """All tiles have a batch dimension."""
    total = ct.zeros((1, TILE_M, TILE_N), ct.float32)
    for k in range(steps_of(a)):
        left = tile_of(a, ct.bid(0), k, (TILE_M, TILE_K)).reshape((1, TILE_M, TILE_K))
        right = tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)).reshape((1, TILE_K, TILE_N))
        total = ct.mma(left, right, total)
    finish(c, total.reshape((TILE_M, TILE_N)))


@ct.kernel
def batches_of_two(a, b, c):
    """Two matrices at once, of arrays (2, m, k), (2, k, n) and (2, m, n)."""
    total = ct.zeros((2, TILE_M, TILE_N), ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(2, TILE_M, TILE_K))):
        left = ct.load(a, (0, ct.bid(0), k), (2, TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (0, k, ct.bid(1)), (2, TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (0, ct.bid(0), ct.bid(1)), total.astype(c.dtype))


@ct.kernel
def half_accumulator(a, b, c):
    """The accumulator is float16."""
    total = ct.zeros((TILE_M, TILE_N), ct.float16)
    for k in range(steps_of(a)):
        left = tile_of(a, ct.bid(0), k, (TILE_M, TILE_K))
        total = ct.mma(left, tile_of(b, k, ct.bid(1), (TILE_K, TILE_N)), total)
    finish(c, total)


def _case(name: str, kernel, left: str, right: str, *others: Array | int) -> Case:
    return Case(name, kernel, (matrix(left, 2), matrix(right, 2), matrix("float32", 2), *others))


def _matrices(dtype: str) -> Array:
    """Matrices whose extents and strides are multiples of 16."""
    return Array(dtype, 3, stride_divisible_by=16, shape_divisible_by=(1, 16, 16))


WORDS, SCALES = Array("int32", 2, stride_divisible_by=4), Array("bfloat16", 2)
CASES = [
    _case("direct", direct, "bfloat16", "bfloat16"),
    _case("bitcast", bitcast, "uint16", "uint16"),
    _case("bitcast_fp8_transposed", bitcast_fp8, "uint8", "uint8"),
    _case("left_int8", left_converted, "int8", "bfloat16"),
    _case("left_f32", left_converted, "float32", "bfloat16"),
    _case("right_int8", right_converted, "bfloat16", "int8"),
    _case("right_f32", right_converted, "bfloat16", "float32"),
    _case("right_fp8", right_converted, "bfloat16", "float8_e4m3fn"),
    _case("both_int8", both_converted, "int8", "int8"),
    _case("both_f32", both_converted, "float32", "float32"),
    _case("left_to_fp8_transposed", left_to_fp8, "bfloat16", "float8_e4m3fn"),
    _case("right_computed", right_computed, "bfloat16", "bfloat16"),
    _case("right_int8_scaled", right_scaled, "bfloat16", "int8", Array("bfloat16", 2, stride_divisible_by=16)),
    _case("batch_of_one", batch_of_one, "bfloat16", "bfloat16"),
    Case("batches_of_two", batches_of_two, (*[_matrices("bfloat16")] * 2, _matrices("float32"))),
    _case("right_before_loop", right_before_loop, "bfloat16", "bfloat16"),
    _case("right_used_twice", right_used_twice, "bfloat16", "bfloat16"),
    _case("columns_8", few_columns, "bfloat16", "bfloat16", 8),
    _case("columns_16", few_columns, "bfloat16", "bfloat16", 16),
    _case("columns_8_transposed", few_columns_transposed, "bfloat16", "bfloat16", 8),
    _case("columns_8_computed", few_columns_computed, "bfloat16", "bfloat16", 8),
    _case("half_accumulator", half_accumulator, "float16", "float16"),
    Case("unaligned", direct, (*[Array("float16", 2, alignment=2)] * 2, matrix("float32", 2))),
    _case("left_gathered", left_gathered, "bfloat16", "bfloat16"),
    Case("right_packed_scaled_transposed", right_packed, (matrix("bfloat16", 2), WORDS, matrix("float32", 2), SCALES)),
]
