"""Left operands that threads compute from tiles that lie along m."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def scaled(a, b, scales, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a[0] * scales).T @ b in tf32, with a scale for each row of a."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(b, axis=0, shape=(K, N))):
        scale = ct.load(scales, (k,), (K,)).reshape((K, 1))
        x = ct.load(a, (0, k, 0), (1, K, M)).reshape((K, M)).astype(ct.float32) * scale
        y = ct.load(b, (k, 0), (K, N))
        acc = ct.mma(ct.transpose(x).astype(ct.tfloat32), y.astype(ct.tfloat32), acc)
    ct.store(out, (0, 0), acc)


def _case(name, m):
    wide = Array("float32", 2, stride_divisible_by=4)
    left = Array("float16", 3, stride_divisible_by=8)
    return Case(name, scaled, (left, wide, Array("float32", 1), wide, m, 64, 64))


CASES = [_case("scaled", 128), _case("scaled_of_64", 64)]
