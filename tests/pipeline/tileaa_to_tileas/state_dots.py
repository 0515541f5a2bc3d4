"""Loops that carry a state from chunk to chunk: dots of one chunk that do not depend on each other."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


def chunk(array, step, place, N, D):
    return ct.load(array, (step, place), (N, D), padding_mode=ct.PaddingMode.ZERO)


def lower_triangle(N):
    return ct.arange(N, dtype=ct.int32)[:, None] >= ct.arange(N, dtype=ct.int32)[None, :]


def masked_scores(queries, keys, mask, N):
    return ct.where(mask, ct.mma(queries, ct.transpose(keys), ct.zeros((N, N), dtype=ct.float32)), 0.0)


@ct.kernel
def linear_attention(q, k, v, out, T: ConstInt, D: ConstInt, V: ConstInt):
    """out = tril(q @ k.T) @ v of each chunk of T rows, and q @ state; the state is the sum of k.T @ v of those before."""
    state = ct.zeros((D, V), dtype=ct.float32)
    lower = lower_triangle(T)
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        queries, keys, values = chunk(q, step, 0, T, D), chunk(k, step, 0, T, D), chunk(v, step, ct.bid(0), T, V)
        scores = masked_scores(queries, keys, lower, T)
        result = ct.mma(scores.astype(v.dtype), values, ct.zeros((T, V), dtype=ct.float32))
        result = ct.mma(queries, state.astype(v.dtype), result)
        state = ct.mma(ct.transpose(keys), values, state)
        ct.store(out, (step, ct.bid(0)), result)


@ct.kernel
def decayed_in_tf32(q, k, v, out, T: ConstInt, D: ConstInt, V: ConstInt):
    """The same in tf32, with scores divided by the power of two of their distance, the second part by that of their row, and the state halved."""
    state = ct.zeros((D, V), dtype=ct.float32)
    places = ct.arange(T, dtype=ct.int32).astype(ct.float32)
    distances = places[:, None] - places[None, :]
    decay = ct.where(distances >= 0.0, ct.exp2(-distances), 0.0)
    zeros = ct.zeros((T, V), dtype=ct.float32)
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        queries = chunk(q, step, 0, T, D).astype(ct.float32)
        keys = ct.transpose(chunk(k, step, 0, T, D).astype(ct.float32))
        values = chunk(v, step, ct.bid(0), T, V).astype(ct.float32).astype(ct.tfloat32)
        scores = (
            ct.mma(queries.astype(ct.tfloat32), keys.astype(ct.tfloat32), ct.zeros((T, T), dtype=ct.float32)) * decay
        )
        result = ct.mma(scores.astype(ct.tfloat32), values, zeros)
        before = ct.mma(queries.astype(ct.tfloat32), state.astype(ct.tfloat32), zeros)
        result = result + before * ct.exp2(-places)[:, None]
        state = state * 0.5 + ct.mma(
            (keys * ct.exp2(-places)[None, :]).astype(ct.tfloat32), values, ct.zeros((D, V), dtype=ct.float32)
        )
        ct.store(out, (step, ct.bid(0)), result)


@ct.kernel
def of_results(q, k, v, out, T: ConstInt, D: ConstInt, V: ConstInt):
    """The state is updated by q.T @ result: its dot depends on all before it."""
    state = ct.zeros((D, V), dtype=ct.float32)
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        queries, keys, values = chunk(q, step, 0, T, D), chunk(k, step, 0, T, D), chunk(v, step, ct.bid(0), T, V)
        scores = ct.mma(queries, ct.transpose(keys), ct.zeros((T, T), dtype=ct.float32))
        result = ct.mma(scores.astype(v.dtype), values, ct.zeros((T, V), dtype=ct.float32))
        result = ct.mma(queries, state.astype(v.dtype), result)
        state = ct.mma(ct.transpose(queries), (result * 0.125).astype(v.dtype), state)
        ct.store(out, (step, ct.bid(0)), result)


@ct.kernel
def delta_rule(q, k, w, u, out, T: ConstInt, D: ConstInt, V: ConstInt):
    """Of each chunk: new = u - w @ state, out = tril(q @ k.T) @ new + q @ state; then the state grows by k.T @ new."""
    state = ct.zeros((D, V), dtype=ct.float32)
    lower = lower_triangle(T)
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        queries, keys, weights = chunk(q, step, 0, T, D), chunk(k, step, 0, T, D), chunk(w, step, 0, T, D)
        before = state.astype(q.dtype)
        corrected = ct.mma(weights, before, ct.zeros((T, V), dtype=ct.float32))
        new = (chunk(u, step, ct.bid(0), T, V).astype(ct.float32) - corrected).astype(q.dtype)
        scores = masked_scores(queries, keys, lower, T)
        result = ct.mma(queries, before, ct.zeros((T, V), dtype=ct.float32))
        result = ct.mma(scores.astype(q.dtype), new, result)
        state = ct.mma(ct.transpose(keys), new, state)
        ct.store(out, (step, ct.bid(0)), result)


@ct.kernel
def halved_queries(q, k, v, out, T: ConstInt, D: ConstInt, V: ConstInt):
    """``linear_attention`` of q / 2, which threads write for two dots; TMA loads no operand of the second one."""
    state = ct.zeros((D, V), dtype=ct.float32)
    lower = lower_triangle(T)
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        queries, keys, values = chunk(q, step, 0, T, D), chunk(k, step, 0, T, D), chunk(v, step, ct.bid(0), T, V)
        queries = queries * 0.5
        scores = masked_scores(queries, keys, lower, T)
        result = ct.mma(scores.astype(v.dtype), values, ct.zeros((T, V), dtype=ct.float32))
        result = result + ct.mma(queries, state.astype(v.dtype), ct.zeros((T, V), dtype=ct.float32))
        state = ct.mma(ct.transpose(keys), values, state)
        ct.store(out, (step, ct.bid(0)), result)


@ct.kernel
def halved_values(q, k, v, out, T: ConstInt, D: ConstInt, V: ConstInt):
    """``linear_attention`` whose state grows by k.T @ (v / 2), which threads compute before the scores are multiplied, and read q."""
    state = ct.zeros((D, V), dtype=ct.float32)
    lower = lower_triangle(T)
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        queries, keys, values = chunk(q, step, 0, T, D), chunk(k, step, 0, T, D), chunk(v, step, ct.bid(0), T, V)
        scores = masked_scores(queries, keys, lower, T)
        result = ct.mma(scores.astype(v.dtype), values, ct.zeros((T, V), dtype=ct.float32))
        result = ct.mma(queries * 2, state.astype(v.dtype), result)
        state = ct.mma(ct.transpose(keys), values * 0.5, state)
        ct.store(out, (step, ct.bid(0)), result)


@ct.kernel
def gradients(q, k, v, do, rows, delta, dk, dv, M: ConstInt, N: ConstInt, D: ConstInt):
    """``dv = p do``, ``dk = ds q``, where ``p = (k q^T) * rows`` and ``ds = p * (v do^T - delta)``: loads of rows between the dots."""
    keys, values = chunk(k, ct.bid(0), 0, N, D), chunk(v, ct.bid(0), 0, N, D)
    grad_k, grad_v = ct.zeros((N, D), dtype=ct.float32), ct.zeros((N, D), dtype=ct.float32)
    for step in range(ct.num_tiles(q, axis=0, shape=(M, D))):
        queries, out = chunk(q, step, 0, M, D), chunk(do, step, 0, M, D)
        row = ct.load(rows, (step,), (M,))[None, :]
        p = ct.mma(keys, ct.transpose(queries), ct.zeros((N, M), dtype=ct.float32)) * row
        grad_v = ct.mma(p.astype(do.dtype), out, grad_v)
        shift = ct.load(delta, (step,), (M,))[None, :]
        ds = p * (ct.mma(values, ct.transpose(out), ct.zeros((N, M), dtype=ct.float32)) - shift)
        grad_k = ct.mma(ds.astype(q.dtype), queries, grad_k)
    ct.store(dk, (ct.bid(0), 0), grad_k)
    ct.store(dv, (ct.bid(0), 0), grad_v)


@ct.kernel
def inverse(a, out, N: ConstInt):
    """(1 - a)^-1 of strictly triangular tiles: the product of 1 + a, 1 + a^2, 1 + a^4, ..."""
    power = ct.load(a, (ct.bid(0), 0), (N, N)).astype(ct.float32)
    total = power + ct.where(ct.arange(N, dtype=ct.int32)[:, None] == ct.arange(N, dtype=ct.int32)[None, :], 1.0, 0.0)
    for _ in range(5):
        factor = power.astype(a.dtype)
        power = ct.mma(factor, factor, ct.zeros((N, N), dtype=ct.float32))
        total = ct.mma(total.astype(a.dtype), power.astype(a.dtype), total)
    ct.store(out, (ct.bid(0), 0), total)


half, single = (Array(dtype, 2, stride_divisible_by=8) for dtype in ("float16", "float32"))
CASES = [
    Case("linear_attention", linear_attention, (half, half, half, single, 64, 64, 64)),
    Case("decayed_in_tf32", decayed_in_tf32, (half, half, half, single, 128, 128, 128)),
    Case("of_results", of_results, (half, half, half, single, 64, 64, 64)),
    Case("halved_queries", halved_queries, (half, half, half, single, 64, 64, 64)),
    Case("halved_values", halved_values, (half, half, half, single, 64, 64, 64)),
    Case("delta_rule", delta_rule, (half, half, half, half, single, 64, 64, 64)),
    Case("gradients", gradients, (*4 * [half], *2 * [Array("float32", 1)], single, single, 64, 128, 64)),
    Case("gradients_wide", gradients, (*4 * [half], *2 * [Array("float32", 1)], single, single, 128, 128, 128)),
    Case("inverse", inverse, (half, single, 64)),
    Case("delta_rule_wide", delta_rule, (half, half, half, half, single, 64, 128, 64)),
]
