"""Kernels whose neighbouring tile programs may share loads, and some that cannot."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def _multiplied(a, b, row, column, steps, M, N, K):
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(steps):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    return acc


@ct.kernel
def by_rows(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b: neighbours have the same columns."""
    row, column = ct.bid(0), ct.bid(1)
    acc = _multiplied(a, b, row, column, ct.num_tiles(a, axis=1, shape=(M, K)), M, N, K)
    ct.store(out, (row, column), acc.astype(out.dtype))


@ct.kernel
def by_columns(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b: neighbours have the same rows."""
    row, column = ct.bid(1), ct.bid(0)
    acc = _multiplied(a, b, row, column, ct.num_tiles(a, axis=1, shape=(M, K)), M, N, K)
    ct.store(out, (row, column), acc.astype(out.dtype))


@ct.kernel
def triangular(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same up to the diagonal of a: neighbours load the same tiles, one of them more."""
    row, column = ct.bid(0), ct.bid(1)
    acc = _multiplied(a, b, row, column, (row + 1) * M // K, M, N, K)
    ct.store(out, (row, column), acc.astype(out.dtype))


@ct.kernel
def chosen(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The columns depend on the row by a branch."""
    row, column = ct.bid(0), 0
    if row % 2 == 0:
        column = 1
    acc = _multiplied(a, b, row, column, ct.num_tiles(a, axis=1, shape=(M, K)), M, N, K)
    ct.store(out, (row, column), acc.astype(out.dtype))


@ct.kernel
def leaving(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """Some programs return."""
    row, column = ct.bid(0), ct.bid(1)
    if row >= ct.num_tiles(out, axis=0, shape=(M, N)):
        return
    acc = _multiplied(a, b, row, column, ct.num_tiles(a, axis=1, shape=(M, K)), M, N, K)
    ct.store(out, (row, column), acc.astype(out.dtype))


F16 = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=16)
KERNELS = {
    "by_rows": by_rows,
    "by_columns": by_columns,
    "triangular": triangular,
    "chosen": chosen,
    "leaving": leaving,
}
CASES = [Case(name, kernel, (F16, F16, F16, 128, 64, 64)) for name, kernel in KERNELS.items()]
