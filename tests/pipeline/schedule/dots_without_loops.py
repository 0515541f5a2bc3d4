"""Dots in no loop, of which one needs another's result, and a dot in a loop of two trips."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def both_sides(x, h, out, N: ConstInt):
    """out = h.T @ (x @ h)."""
    factors = ct.load(h, (0, 0), (N, N))
    right = ct.mma(ct.load(x, (ct.bid(0), 0), (N, N)), factors, ct.zeros((N, N), dtype=ct.float32))
    result = ct.mma(ct.transpose(factors), right.astype(x.dtype), ct.zeros((N, N), dtype=ct.float32))
    ct.store(out, (ct.bid(0), 0), result)


@ct.kernel
def two_trips(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(2):
        acc = ct.mma(ct.load(a, (ct.bid(0), k), (M, K)), ct.load(b, (k, ct.bid(1)), (K, N)), acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


half, single = (Array(dtype, 2, stride_divisible_by=8, shape_divisible_by=16) for dtype in ("float16", "float32"))
CASES = [
    Case("both_sides", both_sides, (half, half, single, 64)),
    Case("both_sides_16", both_sides, (half, half, single, 16)),
    Case("two_trips", two_trips, (half, half, single, 128, 64, 64)),
]
