"""A matmul of f32 tiles."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def f32_matmul(a, b, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(ct.load(a, (ct.bid(0), k), (M, K)), ct.load(b, (k, ct.bid(1)), (K, N)), acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


MATRIX = Array("float32", 2, stride_divisible_by=(16, 1), shape_divisible_by=64)
CASES = [Case("f32_matmul", f32_matmul, (MATRIX, MATRIX, MATRIX, 64, 64, 32))]
