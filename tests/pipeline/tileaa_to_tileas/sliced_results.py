"""Matmuls that store their results by slices of columns, one after the other."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel(occupancy=2)
def persistent(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt, PARTS: ConstInt):
    """out = a @ b + 2 c, a tile of each block after the other."""
    columns = ct.num_tiles(b, 1, (K, N))
    for tile in range(ct.bid(0), ct.num_tiles(a, 0, (M, K)) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        acc = ct.zeros((M, N), ct.float32)
        for k in range(ct.num_tiles(a, 1, (M, K))):
            acc = ct.mma(ct.load(a, (row, k), (M, K)), ct.load(b, (k, column), (K, N)), acc)
        for part in ct.static_iter(range(PARTS)):
            place = row, column * PARTS + part
            added = ct.load(c, place, (M, N // PARTS)).astype(ct.float32)
            ct.store(out, place, ct.extract(acc, (0, part), (M, N // PARTS)) + 2 * added)


@ct.kernel
def single(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, halves in reverse order."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        acc = ct.mma(ct.load(a, (row, k), (M, K)), ct.load(b, (k, column), (K, N)), acc)
    for part in ct.static_iter((1, 0)):
        ct.store(out, (row, 2 * column + part), ct.extract(acc, (0, part), (M, N // 2)))


A, F = (Array(name, 2, stride_divisible_by=16, shape_divisible_by=16) for name in ("float16", "float32"))
CASES = [
    Case("halves", persistent, (A, A, A, F, 128, 128, 64, 2)),
    Case("quarters", persistent, (A, A, A, F, 256, 128, 64, 4)),
    Case("narrow", persistent, (A, A, A, F, 64, 64, 64, 2)),
    Case("rows", single, (A, A, F, 256, 64, 64)),
]
