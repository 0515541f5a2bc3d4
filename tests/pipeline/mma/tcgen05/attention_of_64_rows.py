"""Attention whose tiles have 64 query rows, for two CTAs per SM."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ROWS = 64


def step(query, keys, values, total, weights, largest, allowed):
    scores = ct.mma(query, ct.transpose(keys), ct.zeros((query.shape[0], keys.shape[0]), dtype=ct.float32))
    scores = ct.where(allowed, scores, -1.0e30)
    now = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
    weight = ct.exp2(scores - now)
    factor = ct.exp2(largest - now)
    weights = weights * factor + ct.sum(weight, axis=1, keepdims=True)
    return ct.mma(weight.astype(values.dtype), values, total * factor), weights, now


@ct.kernel(occupancy=2)
def attention(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt, CAUSAL: ct.Constant[bool]):
    """out = softmax(q k^T) v; with CAUSAL, row i has the keys up to i, those of the tiles around the diagonal in a loop of their own."""
    place = ct.bid(0)
    query = ct.load(q, (place, 0), (M, D))
    largest, weights = ct.full((M, 1), -1.0e30, dtype=ct.float32), ct.zeros((M, 1), dtype=ct.float32)
    total = ct.zeros((M, D), dtype=ct.float32)
    end = ct.cdiv((place + 1) * M, N) if CAUSAL else ct.num_tiles(k, axis=0, shape=(N, D))
    whole = place * M // N if CAUSAL else end
    for tile in range(whole):
        keys, values = ct.load(k, (tile, 0), (N, D)), ct.load(v, (tile, 0), (N, D))
        total, weights, largest = step(query, keys, values, total, weights, largest, True)
    for tile in range(whole, end):
        keys, values = ct.load(k, (tile, 0), (N, D)), ct.load(v, (tile, 0), (N, D))
        rows, columns = place * M + ct.arange(M, dtype=ct.int32), tile * N + ct.arange(N, dtype=ct.int32)
        allowed = rows[:, None] >= columns[None, :]
        total, weights, largest = step(query, keys, values, total, weights, largest, allowed)
    ct.store(out, (place, 0), (total / weights).astype(out.dtype))


MATRIX = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=(64, 64))
OPERANDS = (MATRIX,) * 4
CASES = [
    Case("in_two_loops", attention, (*OPERANDS, ROWS, 64, 128, True)),
    Case("with_wide_scores", attention, (*OPERANDS, ROWS, 128, 64, False)),
]
