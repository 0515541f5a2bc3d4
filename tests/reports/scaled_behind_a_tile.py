"""A block-scaled dot behind a return that the contents of a tile decide: threads copy no operands of such dots for other instructions."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ZERO = ct.PaddingMode.ZERO
M, N, K, BLOCK = 128, 128, 128, 32


@ct.kernel
def scaled(a, a_scale, b, b_scale, out):
    """out = (a * a_scale) @ (b * b_scale) where out has no positive element."""
    if ct.max(ct.load(out, (0, 0), (M, N))).item() > 0:
        return
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, y = ct.load(a, (0, k), (M, K), padding_mode=ZERO), ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        x_scale = ct.load(a_scale, (0, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (k, 0), (K // BLOCK, N), padding_mode=ZERO)
        acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
    ct.store(out, (0, 0), acc)


BYTES = Array("float8_e4m3fn", 2, stride_divisible_by=16, shape_divisible_by=(16, 16))
SCALES = Array("float8_e8m0fnu", 2)
CASES = [Case("scaled", scaled, (BYTES, SCALES, BYTES, SCALES, Array("float32", 2)))]
