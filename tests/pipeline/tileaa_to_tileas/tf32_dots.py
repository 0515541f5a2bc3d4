"""Dots of tf32 in loops that carry a state, of tiles that are extended from f16 or computed in f32."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


def chunk(array, step, place, N, D):
    return ct.load(array, (step, place), (N, D), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)


def dot(a, b):
    acc = ct.zeros((a.shape[0], b.shape[1]), dtype=ct.float32)
    return ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), acc)


@ct.kernel
def gated_delta_rule(q, k, w, u, gates, out, T: ConstInt, D: ConstInt, V: ConstInt):
    """Of each chunk: new = u - w @ state, out = tril(q @ k.T) @ new + (gate * q) @ state; then the state is that times the last
    gate, and k.T * gate @ new. Scores are of f16 tiles, the other dots of computed ones.
    """
    state = ct.zeros((D, V), dtype=ct.float32)
    lower = ct.arange(T, dtype=ct.int32)[:, None] >= ct.arange(T, dtype=ct.int32)[None, :]
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        before = dot(chunk(w, step, 0, T, D), state)
        new = chunk(u, step, ct.bid(0), T, V) - before
        queries, gate = chunk(q, step, 0, T, D), ct.load(gates, (step,), (T,))
        result = dot(queries * gate[:, None], state)
        keys = chunk(k, step, 0, T, D)
        scores = ct.where(lower, dot(queries, ct.transpose(keys)), 0.0)
        ct.store(out, (step, ct.bid(0)), result + dot(scores, new))
        last = ct.load(gates, ((step + 1) * T - 1,), (1,)).item()
        state = state * last + dot(ct.transpose(keys * gate[:, None]), new)


@ct.kernel
def extended(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b.T of f16 tiles that are extended before the dot."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, y = chunk(a, 0, k, M, K), chunk(b, 0, k, N, K)
        acc = ct.mma(x.astype(ct.tfloat32), ct.transpose(y).astype(ct.tfloat32), acc)
    ct.store(out, (0, 0), acc)


half, single = (Array(dtype, 2, stride_divisible_by=8) for dtype in ("float16", "float32"))
GATES = Array("float32", 1, shape_divisible_by=4)
CASES = [
    Case("gated_delta_rule", gated_delta_rule, (*4 * [half], GATES, single, 64, 64, 64)),
    Case("gated_delta_rule_wide", gated_delta_rule, (*4 * [half], GATES, single, 64, 128, 128)),
    Case("extended", extended, (half, half, single, 64, 64, 64)),
]
