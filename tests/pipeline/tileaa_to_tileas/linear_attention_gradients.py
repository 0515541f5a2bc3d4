"""Gradients of linear attention: one loop forward for those of queries, one backward for those of keys and values. Each has as many tiles
in shared memory as a GPU has bytes for, most of them computed.
"""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


def _rows(array, step, T: ConstInt, D: ConstInt):
    return ct.load(array, (step, 0), (T, D))


@ct.kernel
def gradients(q, k, v, do, dq, dk, dv, T: ConstInt, D: ConstInt, HALVED: ct.Constant[bool]):
    """Those of half of the queries, which threads multiply, or of all."""
    steps, rows = ct.num_tiles(q, axis=0, shape=(T, D)), ct.arange(T, dtype=ct.int32)
    causal = rows[:, None] >= rows[None, :]
    state = ct.zeros((D, D), dtype=ct.float32)
    for step in range(steps):
        keys, values, grads = _rows(k, step, T, D), _rows(v, step, T, D), _rows(do, step, T, D)
        scores = ct.where(causal, ct.mma(grads, values.transpose(), ct.zeros((T, T), dtype=ct.float32)), 0.0)
        of_queries = ct.mma(scores.astype(keys.dtype), keys, ct.zeros((T, D), dtype=ct.float32))
        of_queries = of_queries + ct.mma(grads, state.astype(grads.dtype), ct.zeros((T, D), dtype=ct.float32))
        state = ct.mma(values.transpose(), keys, state)
        ct.store(dq, (step, 0), of_queries.astype(dq.dtype))
    state = ct.zeros((D, D), dtype=ct.float32)
    for number in range(steps):
        step = steps - 1 - number
        queries = _rows(q, step, T, D)
        keys, values, grads = _rows(k, step, T, D), _rows(v, step, T, D), _rows(do, step, T, D)
        if HALVED:
            queries = (queries.astype(ct.float32) * 0.5).astype(queries.dtype)
        weights = ct.where(causal, ct.mma(queries, keys.transpose(), ct.zeros((T, T), dtype=ct.float32)), 0.0)
        scores = ct.where(causal, ct.mma(grads, values.transpose(), ct.zeros((T, T), dtype=ct.float32)), 0.0)
        of_keys = ct.mma(scores.astype(queries.dtype).transpose(), queries, ct.zeros((T, D), dtype=ct.float32))
        of_keys = ct.mma(values, state.astype(values.dtype).transpose(), of_keys)
        of_values = ct.mma(weights.astype(grads.dtype).transpose(), grads, ct.zeros((T, D), dtype=ct.float32))
        of_values = ct.mma(keys, state.astype(keys.dtype), of_values)
        state = ct.mma(queries.transpose(), grads, state)
        ct.store(dk, (step, 0), of_keys.astype(dk.dtype))
        ct.store(dv, (step, 0), of_values.astype(dv.dtype))


_ROWS = Array("bfloat16", 2, stride_divisible_by=8, shape_divisible_by=8)
CASES = [Case(name, gradients, (*[_ROWS] * 7, 64, 128, name == "halved")) for name in ("halved", "whole")]
