"""Matmuls whose steps are scaled by a column of gathered scales, one for each row of the result."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def scaled(a, b, scales, out, M: ConstInt, N: ConstInt, K: ConstInt, SWAPS: ct.Constant[bool]):
    """out = the result of adding scales[:, k] * (a @ b.T) of each k; ``SWAPS``: as (b @ a.T).T, so that its rows are columns of the dot's."""
    rows = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (ct.bid(1), k), (N, K), padding_mode=ZERO)
        if SWAPS:
            dot = ct.transpose(ct.mma(y, ct.transpose(x), ct.zeros((N, M), dtype=ct.float32)))
        else:
            dot = ct.mma(x, ct.transpose(y), ct.zeros((M, N), dtype=ct.float32))
        acc = acc + dot * ct.gather(scales, (rows, k), padding_value=0.0)[:, None]
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


ROWS = Array("float16", 2, stride_divisible_by=16)
ARRAYS = (ROWS, ROWS, Array("float32", 2), Array("float32", 2, stride_divisible_by=16))
CASES = [Case(name, scaled, (*ARRAYS, 64, 128, 64, swaps)) for name, swaps in (("swapped", True), ("direct", False))]
