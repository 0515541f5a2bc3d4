"""A loop whose iterations each read the result of their dot: the nearest of many rows, as k-means assigns points."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def nearest(points, centers, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out[i] = min over j of |centers[j]|^2 - 2 points[i] . centers[j]"""
    left = ct.load(points, (ct.bid(0), 0), (M, K), padding_mode=ct.PaddingMode.ZERO)
    best = ct.full((M,), 1e30, dtype=ct.float32)
    for step in range(ct.num_tiles(centers, axis=0, shape=(N, K))):
        right = ct.load(centers, (step, 0), (N, K), padding_mode=ct.PaddingMode.ZERO)
        wide = right.astype(ct.float32)
        dots = ct.mma(left, ct.transpose(right), ct.zeros((M, N), dtype=ct.float32))
        best = ct.minimum(best, ct.min(ct.sum(wide * wide, axis=1)[None, :] - 2.0 * dots, axis=1))
    ct.store(out, (ct.bid(0),), best)


half = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=16)
CASES = [Case("nearest", nearest, (half, half, Array("float32", 1), 128, 64, 64))]
