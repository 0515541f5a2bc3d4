"""A matmul whose arrays promise nothing: launches on the emulator and on a GPU choose among its variants."""

import cuda.tile as ct


@ct.kernel
def matmul(a, b, c, tile: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tile, tile), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tile)):
        total = ct.mma(ct.load(a, (i, k), (tile, tile)), ct.load(b, (k, j), (tile, tile)), total)
    ct.store(c, (i, j), total)
