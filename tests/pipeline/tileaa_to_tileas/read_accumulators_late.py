"""An accumulator that each iteration halves before it adds to it, with queries in columns; several tiles are live beside it."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def step(k, keys, queries, total, most, beyond, N: ConstInt, M: ConstInt, W: ConstInt):
    tile = ct.load(k, (keys, 0), (N, W), padding_mode=ZERO)
    scores = ct.mma(tile, queries, ct.zeros((N, M), dtype=ct.float32))
    beyond = beyond + ct.maximum(scores - most[None, :], 0.0)
    most = ct.maximum(most, ct.max(scores, axis=0))
    values = ct.load(k, (keys, 0), (N, W), padding_mode=ZERO).transpose()
    return ct.mma(values, ct.maximum(scores, 0.0).astype(ct.float16), total * 0.5), most, beyond


def halved(q, k, out, more, N: ConstInt, M: ConstInt, W: ConstInt, BEGIN: ConstInt):
    """out = out / 2 + k.T @ max(k @ q, 0) for the tiles of k from BEGIN on; more: by how much all scores exceed the largest before"""
    queries = ct.load(q, (0, ct.bid(0)), (W, M), padding_mode=ZERO)
    total, most = ct.zeros((W, M), dtype=ct.float32), ct.zeros((M,), dtype=ct.float32)
    beyond = ct.zeros((N, M), dtype=ct.float32)
    for keys in range(BEGIN, ct.num_tiles(k, axis=0, shape=(N, W))):
        total, most, beyond = step(k, keys, queries, total, most, beyond, N, M, W)
    ct.store(out, (0, ct.bid(0)), total)
    ct.store(more, (0, ct.bid(0)), beyond)


@ct.kernel
def repeated(q, k, out, more, N: ConstInt, M: ConstInt, W: ConstInt, BEGIN: ConstInt, TIMES: ConstInt):
    """The same TIMES times, one after the other."""
    queries = ct.load(q, (0, ct.bid(0)), (W, M), padding_mode=ZERO)
    total, most = ct.zeros((W, M), dtype=ct.float32), ct.zeros((M,), dtype=ct.float32)
    beyond = ct.zeros((N, M), dtype=ct.float32)
    for _ in range(TIMES):
        for keys in range(BEGIN, ct.num_tiles(k, axis=0, shape=(N, W))):
            total, most, beyond = step(k, keys, queries, total, most, beyond, N, M, W)
    ct.store(out, (0, ct.bid(0)), total)
    ct.store(more, (0, ct.bid(0)), beyond)


HALF, FLOAT = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float16", "float32"))
KERNELS = {"halved": ct.kernel(occupancy=2)(halved), "by_more_warps": ct.kernel(halved)}
CASES = [
    Case(f"{name}_from_{begin}", kernel, (HALF, HALF, FLOAT, FLOAT, 128, 16, 512, begin))
    for name, kernel in KERNELS.items()
    for begin in (0, 2)
]
CASES.append(Case("repeated", repeated, (HALF, HALF, FLOAT, FLOAT, 128, 16, 512, 1, 3)))
