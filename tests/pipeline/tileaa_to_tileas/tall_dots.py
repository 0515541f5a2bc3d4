"""Dots whose accumulators are more than the registers of an SM, or more rows than tensor memory has."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def weighing(q, k, v, out, peaks, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = ((q @ k.T / 4) squared, in f16) @ v, halved in each step; peaks = the largest of each row's last scores."""
    queries = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total, peak = ct.zeros((M, D), dtype=ct.float32), ct.zeros((M,), dtype=ct.float32)
    for step in range(ct.cdiv(k.shape[0], N)):
        keys = ct.load(k, (step, 0), (N, D), padding_mode=ZERO).transpose()
        scores = ct.mma(queries, keys, ct.zeros((M, N), dtype=ct.float32)) / 4
        peak = ct.max(scores, axis=1)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total * 0.5)
    ct.store(out, (ct.bid(0), 0), total)
    ct.store(peaks, (ct.bid(0),), peak)


@ct.kernel
def adding(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + out."""
    total = ct.load(out, (ct.bid(0), ct.bid(1)), (M, N), padding_mode=ZERO)
    for step in range(ct.cdiv(a.shape[1], K)):
        x = ct.load(a, (ct.bid(0), step), (M, K), padding_mode=ZERO)
        y = ct.load(b, (step, ct.bid(1)), (K, N), padding_mode=ZERO)
        total = ct.mma(x, y, total)
    ct.store(out, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def shifting(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + the first column of out, which is in another tile than what a later turn writes."""
    total = ct.zeros((M, N), dtype=ct.float32) + ct.load(out, (0, 0), (M, 1), padding_mode=ZERO)
    for step in range(ct.cdiv(a.shape[1], K)):
        x = ct.load(a, (ct.bid(0), step), (M, K), padding_mode=ZERO)
        y = ct.load(b, (step, ct.bid(1)), (K, N), padding_mode=ZERO)
        total = ct.mma(x, y, total)
    ct.store(out, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def leaving(a, b, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b in blocks up to ``limit``, ones in the next one, nothing behind."""
    row = ct.bid(0)
    if row >= limit:
        if row > limit:
            return
        ct.store(out, (row, 0), ct.ones((M, N), dtype=ct.float32))
        return
    total = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.cdiv(a.shape[1], K)):
        x = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
        y = ct.load(b, (step, 0), (K, N), padding_mode=ZERO)
        total = ct.mma(x, y, total)
    ct.store(out, (row, 0), total)


@ct.kernel
def leaving_in_a_loop(a, b, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same, told in a loop."""
    total, row = ct.zeros((M, N), dtype=ct.float32), ct.bid(0)
    while row > limit:
        if row > limit + 1:
            return
        ct.store(out, (row, 0), ct.ones((M, N), dtype=ct.float32))
        return
    for step in range(ct.cdiv(a.shape[1], K)):
        x = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
        y = ct.load(b, (step, 0), (K, N), padding_mode=ZERO)
        total = ct.mma(x, y, total)
    ct.store(out, (row, 0), total)


def _rows(dtype: str) -> Array:
    return Array(dtype, 2, stride_divisible_by=16)


F16, F32 = _rows("float16"), _rows("float32")
CASES = [
    Case("weighing", weighing, (F16, F16, F16, F32, Array("float32", 1), 256, 128, 128)),
    Case("adding", adding, (F16, F16, F32, 256, 256, 32)),
    Case("shifting", shifting, (F16, F16, F32, 256, 256, 32)),
    Case("leaving", leaving, (F16, F16, F32, Scalar("int32"), 256, 256, 32)),
    Case("leaving_in_a_loop", leaving_in_a_loop, (F16, F16, F32, Scalar("int32"), 256, 256, 32)),
]
