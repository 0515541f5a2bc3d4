"""Dots in loops over tiles, whose accumulators start from zero: one partition may issue those of a tile while others store the last."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def persistent(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, each block taking every so many-th tile."""
    columns = ct.cdiv(out.shape[1], N)
    for tile in range(ct.bid(0), ct.cdiv(out.shape[0], M) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        acc = ct.zeros((M, N), dtype=ct.int32 if a.dtype == ct.int8 else ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, column), acc.astype(out.dtype))


def persistent_tf32(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same with both operands rounded to tf32."""
    columns = ct.cdiv(out.shape[1], N)
    for tile in range(ct.bid(0), ct.cdiv(out.shape[0], M) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO).astype(ct.tfloat32)
            y = ct.load(b, (k, column), (K, N), padding_mode=ZERO).astype(ct.tfloat32)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, column), acc)


def triangular(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The rows of tile i are the sums of i dots: none for the first."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(row % 4):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, 0), acc)


def grouped(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out[g] = a[g] @ b[g], all by one block."""
    for group in range(a.shape[0]):
        for row in range(ct.num_tiles(a, axis=1, shape=(1, M, K))):
            acc = ct.zeros((M, N), dtype=ct.float32)
            for k in range(ct.num_tiles(a, axis=2, shape=(1, M, K))):
                x = ct.load(a, (group, row, k), (1, M, K), padding_mode=ZERO).reshape((M, K))
                y = ct.load(b, (group, k, 0), (1, K, N), padding_mode=ZERO).reshape((K, N))
                acc = ct.mma(x, y, acc)
            ct.store(out, (group, row, 0), acc.reshape((1, M, N)))


def gated(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a @ b) * (a @ c), one dot after the other."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        first = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            first = ct.mma(x, ct.load(b, (k, 0), (K, N), padding_mode=ZERO), first)
        second = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            second = ct.mma(x, ct.load(c, (k, 0), (K, N), padding_mode=ZERO), second)
        ct.store(out, (row, 0), first * second)


def beside(a, b, weights, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + the sum of the first so many weights: the loop of the dot does something else, too."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc, weight = ct.zeros((M, N), dtype=ct.float32), ct.zeros((1,), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
            weight = weight + ct.load(weights, (k,), (1,))
        ct.store(out, (row, 0), acc + weight.reshape((1, 1)))


def added_to(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = max(out + a @ b, 0): the epilogue reads what it overwrites."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, 0), ct.maximum(ct.load(out, (row, 0), (M, N)) + acc, 0.0))


def from_a_tile(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = out + a @ b, the accumulators starting from the old values."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.load(out, (row, 0), (M, N))
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, 0), acc)


def rows(dtype: str, ndim: int = 2) -> Array:
    return Array(dtype, ndim, stride_divisible_by=16)


def columns(dtype: str) -> Array:
    return Array(dtype, 2, unit_stride=0, stride_divisible_by=16)


def _case(name, kernel, dtype, tiles, out="float32", right=rows, more=(), **hints) -> Case:
    return Case(name, ct.kernel(**hints)(kernel), (rows(dtype), right(dtype), *more, rows(out), *tiles))


CASES = [
    _case("f16", persistent, "float16", (128, 64, 32), "float16"),
    _case("bf16", persistent, "bfloat16", (128, 128, 64), "bfloat16"),
    _case("f8", persistent, "float8_e4m3fn", (128, 64, 64), "float16", columns),
    _case("i8", persistent, "int8", (128, 64, 64), "int32", columns),
    _case("tf32", persistent_tf32, "float32", (128, 64, 32)),
    _case("short", persistent, "float16", (64, 64, 64)),
    _case("tall", persistent, "float16", (256, 128, 64), "float16", num_ctas=1),
    _case("square", persistent, "float16", (256, 256, 32), "float16", num_ctas=1),
    _case("of_two", persistent, "float16", (128, 128, 32), "float16", occupancy=2),
    _case("deep_of_two", persistent, "float16", (128, 128, 64), "float16", occupancy=2),
    _case("wide_of_two", persistent, "float16", (128, 256, 32), "float16", occupancy=2),
    _case("f16_2ctas", persistent, "float16", (256, 64, 64), "float16", num_ctas=2),
    _case("f16_4ctas", persistent, "float16", (512, 64, 32), "float16", num_ctas=4),
    _case("tf32_2ctas", persistent_tf32, "float32", (256, 64, 32), num_ctas=2),
    _case("triangular", triangular, "float16", (128, 64, 32)),
    Case("grouped", ct.kernel(grouped), (rows("float16", 3), rows("float16", 3), rows("float32", 3), 128, 64, 32)),
    _case("gated", gated, "float16", (128, 64, 32), more=(rows("float16"),)),
    _case("beside", beside, "float16", (128, 64, 32), more=(Array("float32", 1),)),
    _case("added_to", added_to, "float16", (128, 64, 32)),
    _case("from_a_tile", from_a_tile, "float16", (128, 64, 32)),
]
