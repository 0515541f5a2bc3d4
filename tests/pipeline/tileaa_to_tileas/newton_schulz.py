"""Newton-Schulz iterations of a tile: each multiplies tiles that it computes, and loads none."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

SIZE, STEPS = 128, 2


@ct.kernel
def orthogonalize(x, out):
    tile = ct.load(x, (0, 0), (SIZE, SIZE))
    zero = ct.zeros((SIZE, SIZE), ct.float32)
    for _ in range(STEPS):
        gram = ct.mma(tile, tile.transpose(), zero)
        half = gram.astype(ct.float16)
        series = 0.5 * ct.mma(half, half, zero) - gram
        tile = (tile.astype(ct.float32) + ct.mma(series.astype(ct.float16), tile, zero)).astype(ct.float16)
    ct.store(out, (0, 0), tile)


X = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=SIZE)
CASES = [Case("orthogonalize", orthogonalize, (X, X))]
