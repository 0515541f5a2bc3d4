"""Gradients of a gated layer: two matmuls, of whose results one waits while what follows from both is stored."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def gated(dy, x, gates, values, to_values, to_gates, M: ConstInt, N: ConstInt, K: ConstInt):
    """g = x @ gates, v = x @ values; to_values = dy g s(g), to_gates = dy v s(g) (1 + g (1 - s(g))), s(g) = 1 / (1 + exp(-g))."""
    row, column = ct.bid(0), ct.bid(1)
    gate, value = ct.zeros((M, N), ct.float32), ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(x, 1, (M, K))):
        left = ct.load(x, (row, k), (M, K))
        gate = ct.mma(left, ct.load(gates, (k, column), (K, N)), gate)
        value = ct.mma(left, ct.load(values, (k, column), (K, N)), value)
    d = ct.load(dy, (row, column), (M, N)).astype(ct.float32)
    sigmoid = 1.0 / (1.0 + ct.exp(-gate))
    ct.store(to_values, (row, column), (d * gate * sigmoid).astype(to_values.dtype))
    ct.store(to_gates, (row, column), (d * value * sigmoid * (1.0 + gate * (1.0 - sigmoid))).astype(to_gates.dtype))


ARRAYS = [Array("float16", 2, stride_divisible_by=16, shape_divisible_by=16)] * 6
CASES = [Case("gated", gated, (*ARRAYS, 128, 128, 64)), Case("gated_narrow", gated, (*ARRAYS, 128, 32, 64))]
