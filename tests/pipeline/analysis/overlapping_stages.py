"""Tiles of several sizes that threads write for MMAs, at different times of a loop and in loops one after another."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
F16, F32 = "float16", "float32"
ZERO = ct.PaddingMode.ZERO


def _multiplied(x, y, acc, tile, K: ConstInt):
    rows, columns = acc.shape
    a = ct.load(x, (0, tile), (rows, K), padding_mode=ZERO, allow_tma=False)
    b = ct.load(y, (tile, 0), (K, columns), padding_mode=ZERO, allow_tma=False)
    return ct.mma(a * a, b * b, acc)


@ct.kernel
def in_two_loops(x, y, z, out, K: ConstInt):
    acc = ct.zeros((128, 64), dtype=ct.float32)
    for tile in range(ct.num_tiles(x, axis=1, shape=(128, K))):
        acc = _multiplied(x, y, acc, tile, K)
    for tile in range(ct.num_tiles(z, axis=1, shape=(128, 2 * K))):
        acc = _multiplied(z, y, acc, tile, 2 * K)
    ct.store(out, (0, 0), acc)


@ct.kernel
def in_one_loop(x, y, z, out, K: ConstInt):
    """The second dot needs the result of the first one, whose operands it no longer needs."""
    acc = ct.zeros((128, 64), dtype=ct.float32)
    for tile in range(ct.num_tiles(x, axis=1, shape=(128, K))):
        scores = _multiplied(x, y, ct.zeros((128, 64), dtype=ct.float32), tile, K)
        right = ct.load(z, (tile, 0), (64, 64), padding_mode=ZERO, allow_tma=False)
        acc = ct.mma(ct.minimum(scores, 9).astype(ct.float16), right + right, acc)
    ct.store(out, (0, 0), acc)


_F32 = Array(F32, 2, stride_divisible_by=4)
_F16 = Array(F16, 2, stride_divisible_by=8)
CASES = [
    Case("in_two_loops", in_two_loops, (_F16, _F16, _F16, _F32, 64)),
    Case("in_one_loop", in_one_loop, (_F16, _F16, _F16, _F32, 64)),
]
