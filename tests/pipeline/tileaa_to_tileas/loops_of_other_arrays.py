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
def two_matmuls_added(a, b, c, d, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + c @ d."""
    ct.store(out, (ct.bid(0), 0), add_both(a, b, c, d, ct.bid(0), M, N, K))


@ct.kernel
def persistent_matmuls(a, b, c, d, out, M: ConstInt, N: ConstInt, K: ConstInt):
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


@ct.kernel
def gradients_in_two_loops(q, k, v, do, dk, dv, M: ConstInt, N: ConstInt, D: ConstInt):
    """Gradients of keys and values (without the softmax), of queries in two loops."""
    keys, values = ct.load(k, (ct.bid(0), 0), (N, D)), ct.load(v, (ct.bid(0), 0), (N, D))
    of_keys, of_values = ct.zeros((N, D), dtype=ct.float32), ct.zeros((N, D), dtype=ct.float32)
    for part in ct.static_iter(range(2)):
        for step in range(part, ct.num_tiles(q, axis=0, shape=(M, D)), 2):
            queries, gradients = ct.load(q, (step, 0), (M, D)), ct.load(do, (step, 0), (M, D))
            scores = ct.mma(keys, queries.transpose(), ct.zeros((N, M), dtype=ct.float32))
            of_values = ct.mma(scores.astype(ct.float16), gradients, of_values)
            of_scores = ct.mma(values, gradients.transpose(), ct.zeros((N, M), dtype=ct.float32)) * scores
            of_keys = ct.mma(of_scores.astype(ct.float16), queries, of_keys)
    ct.store(dk, (ct.bid(0), 0), of_keys)
    ct.store(dv, (ct.bid(0), 0), of_values)


HALF, FLOAT = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float16", "float32"))
CASES = [
    Case(name, kernel, (*(HALF,) * 4, FLOAT, 128, *tile))
    for name, kernel, tile in (
        ("two_matmuls_added", two_matmuls_added, (64, 64)),
        ("persistent_matmuls", persistent_matmuls, (64, 64)),
        ("gated", gated, (128, 64)),
        ("continued_beside_another", continued_beside_another, (64, 64)),
    )
]
CASES.append(Case("gradients_in_two_loops", gradients_in_two_loops, (*(HALF,) * 4, FLOAT, FLOAT, 64, 128, 128)))
