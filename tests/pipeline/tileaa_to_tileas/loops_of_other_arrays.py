"""Loops one after the other whose dots read other arrays."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def add_both(a, b, c, d, row, M: ConstInt, N: ConstInt, K: ConstInt):
    """a @ b + c @ d of one tile of rows; the second loop loads its right operand first."""
    total = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
        total = ct.mma(left, ct.load(b, (step, 0), (K, N), padding_mode=ZERO), total)
    for step in range(ct.num_tiles(c, axis=1, shape=(M, K))):
        right = ct.load(d, (step, 0), (K, N), padding_mode=ZERO)
        total = ct.mma(ct.load(c, (row, step), (M, K), padding_mode=ZERO), right, total)
    return total


@ct.kernel
def sum_of_products(a, b, c, d, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + c @ d."""
    ct.store(out, (ct.bid(0), 0), add_both(a, b, c, d, ct.bid(0), M, N, K))


@ct.kernel
def persistent_sum(a, b, c, d, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same, all rows by one block."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        ct.store(out, (row, 0), add_both(a, b, c, d, row, M, N, K))


@ct.kernel
def gated(a, b, c, d, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a @ b) * (c @ d.T): the tiles of d lie otherwise."""
    first = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (ct.bid(0), step), (M, K), padding_mode=ZERO)
        first = ct.mma(left, ct.load(b, (step, 0), (K, N), padding_mode=ZERO), first)
    second = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(c, axis=1, shape=(M, K))):
        right = ct.load(d, (0, step), (N, K), padding_mode=ZERO).transpose()
        second = ct.mma(ct.load(c, (ct.bid(0), step), (M, K), padding_mode=ZERO), right, second)
    ct.store(out, (ct.bid(0), 0), first * second)


@ct.kernel
def continued_beside_another(a, b, c, d, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a @ b + c @ d) * (a @ b): the second loop adds to the first one's result, and multiplies the same tiles again."""
    total = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (ct.bid(0), step), (M, K), padding_mode=ZERO)
        total = ct.mma(left, ct.load(b, (step, 0), (K, N), padding_mode=ZERO), total)
    again = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (ct.bid(0), step), (M, K), padding_mode=ZERO)
        again = ct.mma(left, ct.load(b, (step, 0), (K, N), padding_mode=ZERO), again)
        other = ct.load(c, (ct.bid(0), step), (M, K), padding_mode=ZERO)
        total = ct.mma(other, ct.load(d, (step, 0), (K, N), padding_mode=ZERO), total)
    ct.store(out, (ct.bid(0), 0), total * again)


HALF, FLOAT = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float16", "float32"))
CASES = [
    Case(name, kernel, (*(HALF,) * 4, FLOAT, 128, *tile))
    for name, kernel, tile in (
        ("sum_of_products", sum_of_products, (64, 64)),
        ("persistent_sum", persistent_sum, (64, 64)),
        ("gated", gated, (128, 64)),
        ("continued_beside_another", continued_beside_another, (64, 64)),
    )
]
