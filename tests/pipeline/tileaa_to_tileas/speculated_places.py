"""Dots of tiles whose places are quotients, remainders or shifted integers, where the program may not come to them."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def divided(a, b, out, trips, divisor, M: ConstInt, N: ConstInt, K: ConstInt):
    """What stands behind a loop that has not run still sees a divisor of 0."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(trips):
        x = ct.load(a, (0, k // divisor), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k // divisor, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    if divisor == 0:
        acc = acc + 1
    ct.store(out, (0, 0), acc)


def remaining(a, b, out, trips, divisor, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same of remainders."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(trips):
        x = ct.load(a, (0, k % divisor), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k % divisor, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    if divisor == 0:
        acc = acc + 1
    ct.store(out, (0, 0), acc)


def until_zero(a, b, out, trips, dividend, M: ConstInt, N: ConstInt, K: ConstInt):
    """The divisor of one more iteration would be 0."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(trips):
        x = ct.load(a, (0, dividend // (trips - k)), (M, K), padding_mode=ZERO)
        y = ct.load(b, (dividend // (trips - k), 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (0, 0), acc)


def shifted(a, b, out, trips, bits, M: ConstInt, N: ConstInt, K: ConstInt):
    """Two more iterations would shift by as many bits as there are."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(trips):
        x = ct.load(a, (0, bits >> (k * 16)), (M, K), padding_mode=ZERO)
        y = ct.load(b, (bits >> (k * 16), 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (0, 0), acc)


def asserted(a, b, out, trips, divisor, M: ConstInt, N: ConstInt, K: ConstInt):
    """Of no divisor the program says so, and ends."""
    ct.assert_(divisor != 0, "no divisor")
    row = trips // divisor
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(trips):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, 0), acc)


def _case(kernel, k=32):
    arrays = [
        Array(kind, 2, stride_divisible_by=16, shape_divisible_by=16) for kind in ("float16", "float16", "float32")
    ]
    return Case(kernel.__name__, ct.kernel(kernel), (*arrays, Scalar("int32"), Scalar("int32"), 64, 64, k))


CASES = [_case(divided), _case(remaining), _case(until_zero), _case(shifted), _case(asserted)]
