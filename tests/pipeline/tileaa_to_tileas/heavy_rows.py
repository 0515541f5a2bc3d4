"""Loops over tiles of rows, whose loads have hints of how much traffic of DRAM there is."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ROWS, N = 8, 1024


@ct.kernel
def shares(x, out, LATENCY: ConstInt):
    """Each row over the total of its magnitudes."""
    for row in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(ROWS, N)), ct.num_blocks(0)):
        tile = ct.load(x, (row, 0), (ROWS, N), latency=LATENCY).astype(ct.float32)
        total = ct.sum(ct.where(tile > 0, tile, -tile), axis=1, keepdims=True)
        ct.store(out, (row, 0), tile / total)


X = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=(8, 1024))
OUT = Array("float32", 2, stride_divisible_by=4, shape_divisible_by=(8, 1024))
CASES = [Case("heavy", shares, (X, OUT, 10)), Case("light", shares, (X, OUT, 2))]
