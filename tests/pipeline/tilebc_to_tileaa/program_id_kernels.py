"""Kernels that ask for their place in the grid."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

OUT = Array("int32", 3, -1)


@ct.kernel
def places(out):
    """out[x, y, z] = 10000 * x + 100 * y + z + 1, each by the program at that place."""
    x, y, z = ct.bid(0), ct.bid(1), ct.bid(2)
    ct.store(out, (x, y, z), ct.full((1, 1, 1), 10000 * x + 100 * y + z + 1, ct.int32))


@ct.kernel
def line(out):
    """out[x, 0, 0] = x, in one line of programs."""
    ct.store(out, (ct.bid(0), 0, 0), ct.full((1, 1, 1), ct.bid(0), ct.int32))


@ct.kernel
def waits(out):
    """out[x, y, 0] = x, where others may wait for it."""
    ct.store(out, (ct.bid(0), ct.bid(1), 0), ct.full((1, 1, 1), ct.bid(0), ct.int32))
    ct.atomic_xchg(out, (0, 0, 0), 1)


@ct.kernel
def matmul(a, b, out):
    """out = a @ b in tiles of 128 by 64."""
    acc = ct.zeros((128, 64), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(128, 64))):
        x = ct.load(a, (ct.bid(0), k), (128, 64))
        y = ct.load(b, (k, ct.bid(1)), (64, 64))
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc.astype(out.dtype))


_MATRIX = Array("float16", 2, -1, stride_divisible_by=16, shape_divisible_by=16)
CASES = [
    Case("places", places, (OUT,)),
    Case("line", line, (OUT,)),
    Case("waits", waits, (OUT,)),
    Case("matmul", matmul, (_MATRIX, _MATRIX, _MATRIX)),
    Case("matmul_in_clusters", matmul.replace_hints(num_ctas=2), (_MATRIX, _MATRIX, _MATRIX)),
]
