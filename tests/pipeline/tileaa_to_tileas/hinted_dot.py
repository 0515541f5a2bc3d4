"""A dot whose loads say how long they take, in kernels that say how many of their blocks share an SM."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


def _dot(a, b, out, M, N, K, LATENCY):
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ct.PaddingMode.ZERO, latency=LATENCY)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ct.PaddingMode.ZERO, latency=LATENCY)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), 0), acc)


@ct.kernel
def matmul(
    a, b, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int], LATENCY: ct.Constant[int]
):  # fmt: skip
    _dot(a, b, out, M, N, K, LATENCY)


@ct.kernel(occupancy=3)
def matmul_of_three(
    a, b, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int], LATENCY: ct.Constant[int]
):  # fmt: skip
    _dot(a, b, out, M, N, K, LATENCY)


@ct.kernel
def matmul_of_f64(a, b, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    acc = ct.zeros((M, N), dtype=ct.float64)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(ct.load(a, (ct.bid(0), k), (M, K)), ct.load(b, (k, 0), (K, N)), acc)
    ct.store(out, (ct.bid(0), 0), acc)


OPERAND = Array("float16", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)
RESULT = Array("float32", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)
DOUBLE = Array("float64", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)
ARRAYS = (OPERAND, OPERAND, RESULT)

CASES = [
    Case("latency_1", matmul, (*ARRAYS, 64, 64, 32, 1)),
    Case("latency_5", matmul, (*ARRAYS, 64, 64, 32, 5)),
    Case("latency_10", matmul, (*ARRAYS, 64, 64, 32, 10)),
    Case("latency_10_of_three", matmul_of_three, (*ARRAYS, 64, 64, 32, 10)),
    Case("wide_of_three", matmul_of_three, (*ARRAYS, 128, 128, 64, 1)),
    Case("of_f64", matmul_of_f64, (DOUBLE, DOUBLE, DOUBLE, 128, 128, 16)),
]
