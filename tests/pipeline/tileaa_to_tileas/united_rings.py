"""Loops inside another one whose tiles have equal bytes and other forms."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def scores_and_values(q, k, v, out, M: ConstInt, N: ConstInt, W: ConstInt, T: ConstInt):
    """out = the sum over tiles of keys of (q @ k.T) * (q @ v), each in T steps."""
    total = ct.zeros((M, N), dtype=ct.float32)
    for keys in range(ct.num_tiles(k, axis=0, shape=(N, W))):
        scores = ct.zeros((M, N), dtype=ct.float32)
        for step in range(T):
            tile = ct.load(k, (keys, step), (N, W), padding_mode=ZERO).transpose()
            scores = ct.mma(ct.load(q, (ct.bid(0), step), (M, W), padding_mode=ZERO), tile, scores)
        values = ct.zeros((M, N), dtype=ct.float32)
        for step in range(T):
            tile = ct.load(v, (step, keys), (W, N), padding_mode=ZERO)
            values = ct.mma(ct.load(q, (ct.bid(0), step), (M, W), padding_mode=ZERO), tile, values)
        total = total + scores * values
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def values_of_scores(q, k, v, out, M: ConstInt, N: ConstInt, W: ConstInt, T: ConstInt):
    """out = (q @ k.T) @ v, where T tiles of v have the factors of one tile of k: TMA fills a stage with two tiles or with one."""
    total = ct.zeros((M, W), dtype=ct.float32)
    for keys in range(ct.num_tiles(k, axis=0, shape=(N, W))):
        scores = ct.zeros((M, N), dtype=ct.float32)
        for step in range(T):
            tile = ct.load(k, (keys, step), (N, W), padding_mode=ZERO).transpose()
            scores = ct.mma(ct.load(q, (ct.bid(0), step), (M, W), padding_mode=ZERO), tile, scores)
        factors = scores.astype(ct.float16)
        for step in range(T):
            total = ct.mma(factors, ct.load(v, (keys * T + step, 0), (N, W), padding_mode=ZERO), total)
    ct.store(out, (ct.bid(0), 0), total)


HALF, FLOAT = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float16", "float32"))
CASES = [
    Case("scores_and_values", scores_and_values, (*(HALF,) * 3, FLOAT, 128, 64, 128, 4)),
    Case("values_of_scores", values_of_scores, (*(HALF,) * 3, FLOAT, 128, 128, 128, 3)),
    Case("scores_and_values_of_three", scores_and_values, (*(HALF,) * 3, FLOAT, 128, 128, 64, 4)),
    Case("scores_and_values_short", scores_and_values, (*(HALF,) * 3, FLOAT, 64, 32, 64, 3)),
]
