"""Matmuls whose CTAs share an SM, so that few stages fit, and one of which many do."""

import cuda.tile as ct

from tileiras_build.cases import Array, Case

ConstInt = ct.Constant[int]


def _multiply(a, b, c, M, N, K):
    total = ct.zeros((M, N), ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (ct.bid(0), step), (M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (step, ct.bid(1)), (K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (ct.bid(0), ct.bid(1)), total.astype(c.dtype))


@ct.kernel(occupancy=4)
def shared(a, b, c, M: ConstInt, N: ConstInt, K: ConstInt):
    _multiply(a, b, c, M, N, K)


@ct.kernel(occupancy=1)
def alone(a, b, c, M: ConstInt, N: ConstInt, K: ConstInt):
    _multiply(a, b, c, M, N, K)


MATRIX = Array("float16", 2, stride_divisible_by=8)
CASES = [
    Case("shared", shared, (MATRIX, MATRIX, MATRIX, 64, 64, 64)),
    Case("alone", alone, (MATRIX, MATRIX, MATRIX, 128, 256, 64)),
]
