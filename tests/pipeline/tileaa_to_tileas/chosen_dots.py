"""A dot in a branch whose operands threads write before it: the scores of another dot, and a tile that they load."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel(num_ctas=2)
def chosen(q, k, v, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = sum of max(q @ k, 0) @ v for all tiles but the second one."""
    acc, queries = ct.zeros((M, N), dtype=ct.float32), ct.load(q, (0, 0), (M, K))
    for step in range(ct.num_tiles(v, axis=0, shape=(K, N))):
        scores = ct.mma(queries, ct.load(k, (0, step), (K, K)), ct.zeros((M, K), dtype=ct.float32))
        values = ct.load(v, (step, 0), (K, N), allow_tma=False)
        if step != 1:
            acc = ct.mma(ct.maximum(scores, 0).astype(ct.float16), values, acc)
    ct.store(out, (0, 0), acc)


HALF, FLOAT = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float16", "float32"))
CASES = [Case("chosen", chosen, (HALF, HALF, HALF, FLOAT, 256, 128, 32))]
