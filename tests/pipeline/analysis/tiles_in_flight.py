"""A reduction of each iteration beside a dot in flight, whose operands threads write."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ZERO = ct.PaddingMode.ZERO


@ct.kernel
def largest_totals(places, x, y, z, out, largest):
    """out = x @ y, its tiles of x at the given places; the largest totals of rows of tiles of z."""
    acc, most = ct.zeros((64, 128), dtype=ct.float32), ct.zeros((64, 1), dtype=ct.float32)
    for step in range(4):
        place = ct.load(places, (step,), (1,)).item()
        left = ct.load(x, (0, place), (64, 64), padding_mode=ZERO, allow_tma=False)
        right = ct.load(y, (step, 0), (64, 128), padding_mode=ZERO, allow_tma=False)
        acc = ct.mma(left, right, acc)
        tile = ct.load(z, (0, step), (64, 64), padding_mode=ZERO).astype(ct.float32)
        most = ct.maximum(most, ct.sum(tile, axis=1, keepdims=True))
    ct.store(out, (0, 0), acc)
    ct.store(largest, (0, 0), most)


F16 = Array("float16", 2)
F32 = Array("float32", 2)
CASES = [Case("largest_totals", largest_totals, (Array("int32", 1), F16, F16, F16, F32, F32))]
