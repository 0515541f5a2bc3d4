"""Kernels whose results TMA writes, or may not: matmuls, loops over tiles, stores that order later accesses."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def _dot(a, b, row, column, M, N, K):
    """The tile at (row, column) of a @ b, in f32."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    return acc


@ct.kernel
def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, one tile per block."""
    row, column = ct.bid(0), ct.bid(1)
    ct.store(out, (row, column), _dot(a, b, row, column, M, N, K).astype(out.dtype))


@ct.kernel
def transposed(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a @ b).T."""
    row, column = ct.bid(0), ct.bid(1)
    ct.store(out, (column, row), ct.transpose(_dot(a, b, row, column, M, N, K).astype(out.dtype)))


@ct.kernel
def stacked(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out[row] = tile `row` of the rows of a @ b."""
    row, column = ct.bid(0), ct.bid(1)
    tile = _dot(a, b, row, column, M, N, K).astype(out.dtype)
    ct.store(out, (row, 0, column), ct.reshape(tile, (1, M, N)))


@ct.kernel
def persistent(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, every tile that a block's number and the grid's size give."""
    rows, columns = ct.num_tiles(out, axis=0, shape=(M, N)), ct.num_tiles(out, axis=1, shape=(M, N))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        ct.store(out, (row, column), _dot(a, b, row, column, M, N, K).astype(out.dtype))


@ct.kernel
def overwritten(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ the last tile of columns of b, after all the others, which were stored in the same place."""
    row = ct.bid(0)
    for column in range(ct.num_tiles(b, axis=1, shape=(K, N))):
        ct.store(out, (row, 0), _dot(a, b, row, column, M, N, K).astype(out.dtype))


@ct.kernel
def twice(a, b, out, more, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b and more = its negative: two stores in a loop, each with its own place in shared memory."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        tile = _dot(a, b, row, 0, M, N, K).astype(out.dtype)
        ct.store(out, (row, 0), tile)
        ct.store(more, (row, 0), -tile)


@ct.kernel
def read_back(a, b, out, more, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, then more = out in reversed order of columns' halves: the load comes after the store."""
    row = ct.bid(0)
    ct.store(out, (row, 0), _dot(a, b, row, 0, M, N, K).astype(out.dtype))
    half = N // 2
    ct.store(more, (row, 0), ct.load(out, (row, 1), (M, half)))
    ct.store(more, (row, 1), ct.load(out, (row, 0), (M, half)))


@ct.kernel
def multiplied(a, b, out, more, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b; more = a @ out, of which threads copy the tiles to shared memory."""
    row = ct.bid(0)
    ct.store(out, (row, 0), _dot(a, b, row, 0, M, N, K).astype(out.dtype))
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(out, axis=1, shape=(M, K))):
        acc = ct.mma(ct.load(a, (row, k), (M, K)), ct.load(out, (row, k), (K, N)), acc)
    ct.store(more, (row, 0), acc.astype(more.dtype))


@ct.kernel
def written_before(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = out + a @ b, where all threads have just added one to out."""
    row = ct.bid(0)
    ct.store(out, (row, 0), ct.load(out, (row, 0), (M, N)) + 1)
    acc = _dot(a, b, row, 0, M, N, K).astype(out.dtype)
    ct.store(out, (row, 0), acc + ct.load(out, (row, 0), (M, N)))


@ct.kernel
def signalled(a, b, out, flag, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, and flag counts the tiles that others may read."""
    row = ct.bid(0)
    ct.store(out, (row, 0), _dot(a, b, row, 0, M, N, K).astype(out.dtype))
    ct.atomic_add(flag, (0,), 1, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def signalled_in_turn(a, b, out, more, flag, steps, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b and more = its negative; before each tile of rows others may read the last ones ``steps`` times, or never."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        tile = _dot(a, b, row, 0, M, N, K).astype(out.dtype)
        for step in range(steps):
            ct.atomic_add(flag, (0,), 1, memory_order=ct.MemoryOrder.ACQ_REL)
        ct.store(out, (row, 0), tile)
        ct.store(more, (row, 0), -tile)


@ct.kernel
def forbidden(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b without TMA for the store."""
    row, column = ct.bid(0), ct.bid(1)
    ct.store(out, (row, column), _dot(a, b, row, column, M, N, K).astype(out.dtype), allow_tma=False)


def rows(dtype: str, rank: int = 2) -> Array:
    return Array(dtype, rank, stride_divisible_by=16)


def unaligned(dtype: str) -> Array:
    return Array(dtype, 2)


def _case(name, kernel, tiles, dtype="float16", out=None, result=rows) -> Case:
    return Case(name, kernel, (rows(dtype), rows(dtype), result(out or dtype), *tiles))


def _two(name, kernel, tiles) -> Case:
    return Case(name, kernel, (*(rows("float16"),) * 4, *tiles))


BY_8_BYTES = Array("float16", 2, stride_divisible_by=4)  # which threads load
CASES = [
    _case("f16", matmul, (128, 128, 64)),
    _case("bf16_wide", matmul, (128, 256, 64), "bfloat16"),
    _case("f16_tall", matmul, (256, 64, 64)),
    _case("f16_narrow", matmul, (128, 32, 64)),
    _case("f16_to_f8", matmul, (128, 128, 64), out="float8_e5m2"),
    _case("f16_to_i32", matmul, (128, 64, 64), out="int32"),
    _case("f16_to_f32", matmul, (128, 64, 64), out="float32"),
    _case("f16_to_f64", matmul, (128, 64, 64), out="float64"),
    _case("f16_to_i8", matmul, (128, 64, 64), out="int8"),
    _case("transposed", transposed, (128, 64, 64)),
    Case("stacked", stacked, (rows("float16"), rows("float16"), rows("float16", 3), 128, 64, 64)),
    _case("persistent", persistent, (128, 128, 64)),
    _case("persistent_wide", persistent, (128, 256, 64)),
    _case("overwritten", overwritten, (128, 64, 32)),
    _two("twice", twice, (128, 64, 32)),
    _two("multiplied", multiplied, (64, 64, 64)),
    _two("read_back", read_back, (128, 128, 64)),
    _case("written_before", written_before, (128, 64, 64)),
    Case("signalled", signalled, (*(rows("float16"),) * 3, Array("int32", 1), 128, 64, 64)),
    Case(
        "signalled_in_turn",
        signalled_in_turn,
        (*(BY_8_BYTES,) * 2, *(rows("float16"),) * 2, Array("int32", 1), Scalar("int32"), 128, 64, 64),
    ),
    _case("forbidden", forbidden, (128, 128, 64)),
    _case("unaligned", matmul, (128, 128, 64), result=unaligned),
]
