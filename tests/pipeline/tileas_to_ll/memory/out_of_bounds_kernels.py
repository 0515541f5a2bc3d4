"""Kernels whose tiles may lie outside of their arrays: the grid is too large, or the first index is not zero."""

import cuda.tile as ct

from tileiras_build.frontend.cases_api import Array, Case, Scalar

ZERO = ct.PaddingMode.ZERO
INT = ct.Constant[int]


@ct.kernel
def rows(x, out, first: int, ROWS: INT, COLUMNS: INT):
    """Tile ``first + i`` of x becomes tile i of the upper half of out; tile i of x becomes tile ``first + i`` of the lower half."""
    i = ct.bid(0)
    tile = ct.load(x, (first + i, 0), (ROWS, COLUMNS), padding_mode=ZERO, allow_tma=False)
    ct.store(out, (0, i, 0), tile.reshape((1, ROWS, COLUMNS)), allow_tma=False)
    tile = ct.load(x, (i, 0), (ROWS, COLUMNS), padding_mode=ZERO, allow_tma=False)
    ct.store(out, (1, first + i, 0), tile.reshape((1, ROWS, COLUMNS)), allow_tma=False)


@ct.kernel
def line(x, out, first: int, TILE: INT):
    i = ct.bid(0)
    ct.store(out, (first + i,), ct.load(x, (first + i,), (TILE,), padding_mode=ZERO))


@ct.kernel
def matmul(a, b, c, first: int, steps: int, M: INT, N: INT, K: INT):
    """Steps along k end far behind the arrays."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((M, N), ct.float32)
    for k in range(steps):
        left = ct.load(a, (first + i, k), (M, K), padding_mode=ZERO)
        total = ct.mma(left, ct.load(b, (k, j), (K, N), padding_mode=ZERO), total)
    ct.store(c, (first + i, j), total)


@ct.kernel(num_ctas=ct.ByTarget(sm_90=2, sm_100=2))
def divided(x, out, first: int, TILE: INT):
    i = ct.bid(0)
    ct.store(out, (first + i,), ct.load(x, (first + i,), (TILE,), padding_mode=ZERO) * 2.0)


@ct.kernel
def summed(x, out, first: int, steps: int, TILE: INT):
    """A row of totals over steps that end behind the array."""
    i = ct.bid(0)
    total = ct.zeros((1, TILE), ct.float32)
    for k in range(steps):
        total += ct.load(x, (first + i, k), (1, TILE), padding_mode=ZERO)
    ct.store(out, (i, 0), total)


@ct.kernel
def scaled(x, weights, out, first: int, TILE: INT):
    """Rows whose columns have weights, but for the last ones."""
    i = ct.bid(0)
    for k in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        tile = ct.load(x, (first + i, k), (1, TILE), padding_mode=ZERO)
        tile *= ct.load(weights, (k,), (TILE,), padding_mode=ZERO).reshape((1, TILE))
        ct.store(out, (first + i, k), tile)


def matrix(divisor) -> Array:
    return Array("float32", 2, shape_divisible_by=divisor)


FIRST = Scalar("int32")
PLANES = Array("float32", 3, shape_divisible_by=(1, 1, 64))
HALVES = Array("float16", 2, shape_divisible_by=64, stride_divisible_by=64)
RAGGED = Array("float16", 2, stride_divisible_by=8)
ACCUMULATORS = Array("float32", 2, stride_divisible_by=4)
CASES = [
    *(Case(f"rows_{r}", rows, (matrix((r, 64)), PLANES, FIRST, r, 64)) for r in (1, 16, 64)),
    Case("rows_ragged", rows, (matrix(1), Array("float32", 3), FIRST, 16, 64)),
    *(Case(f"line_{t}", line, (*[Array("float32", 1, shape_divisible_by=t)] * 2, FIRST, t)) for t in (1, 64)),
    Case("line_ragged", line, (*[Array("float32", 1)] * 2, FIRST, 64)),
    Case("matmul", matmul, (HALVES, HALVES, ACCUMULATORS, FIRST, Scalar("int32"), 64, 64, 32)),
    Case("matmul_ragged", matmul, (RAGGED, RAGGED, ACCUMULATORS, FIRST, Scalar("int32"), 64, 64, 32)),
    Case("divided", divided, (*[Array("float32", 1, shape_divisible_by=64)] * 2, FIRST, 64)),
    Case("divided_ragged", divided, (*[Array("float32", 1)] * 2, FIRST, 64)),
    Case("scaled", scaled, (matrix((1, 64)), Array("float32", 1, shape_divisible_by=64), matrix((1, 64)), FIRST, 64)),
    Case("summed", summed, (matrix((1, 64)), matrix((1, 64)), FIRST, Scalar("int32"), 64)),
    Case("summed_ragged", summed, (matrix(1), matrix(1), FIRST, Scalar("int32"), 64)),
]
