"""A matmul in a loop that a condition ends, with more CTAs per SM asked for than have registers for its accumulators."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar


@ct.kernel(occupancy=8)
def matmul_until(a, b, out, end, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    acc = ct.zeros((M, N), dtype=ct.float32)
    k = 0
    while k < end:
        acc = ct.mma(ct.load(a, (ct.bid(0), k), (M, K)), ct.load(b, (k, 0), (K, N)), acc)
        k += 1
    ct.store(out, (ct.bid(0), 0), acc)


OPERAND = Array("float16", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)
RESULT = Array("float32", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)

CASES = [Case("until", matmul_until, (OPERAND, OPERAND, RESULT, Scalar("int32"), 64, 64, 64))]
