"""Two loops that add to one accumulator, by dots of two families of instructions."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ZERO = ct.PaddingMode.ZERO
M, N, K = 128, 64, 32


@ct.kernel
def skipped(a, b, d, out, cut):
    """The dot of the first loop is in a branch, and its left operand is the result of another one."""
    acc = ct.zeros((M, N), ct.float32)
    for k in range(0, cut):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        w = ct.mma(x, y, ct.zeros((M, N), ct.float32)).astype(ct.float16)
        z = -ct.load(d, (0, k), (N, N), padding_mode=ZERO)
        if k != 1:
            acc = ct.mma(w, z, acc)
    for k in range(cut, ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (0, 0), acc)


HALVES = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=(1, 8))
FLOATS = Array("float32", 2, stride_divisible_by=4, shape_divisible_by=(1, 4))
CASES = [Case("skipped", skipped, (HALVES, HALVES, HALVES, FLOATS, Scalar("int32")))]
