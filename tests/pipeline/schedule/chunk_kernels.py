"""Dots of one chunk of a recurrence: its outputs, two dots that multiply one loaded tile, and gradients of the states before chunks."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def chunk(array, step, place, N, D):
    return ct.load(array, (step, place), (N, D), padding_mode=ZERO)


def dot(a, b, M, N):
    return ct.mma(a, b, ct.zeros((M, N), dtype=ct.float32))


@ct.kernel
def outputs(q, k, v, state, gate, out, T: ConstInt, K: ConstInt, D: ConstInt, V: ConstInt):
    """out = gate * (q @ state) + tril(q @ k.T) @ v."""
    step = ct.bid(0)
    result, scores = ct.zeros((T, V), dtype=ct.float32), ct.zeros((T, T), dtype=ct.float32)
    for place in range(K // D):
        queries, keys = chunk(q, step, place, T, D), chunk(k, step, place, T, D)
        result = ct.mma(queries, chunk(state, place, 0, D, V), result)
        scores = ct.mma(queries, ct.transpose(keys), scores)
    rows = ct.arange(T, dtype=ct.int32)
    scores = ct.where(rows[:, None] >= rows[None, :], scores, 0.0)
    result = result * ct.load(gate, (step,), (T,), padding_mode=ZERO)[:, None]
    ct.store(out, (step, 0), result + dot(scores.astype(v.dtype), chunk(v, step, 0, T, V), T, V))


@ct.kernel
def gated_outputs(q, v, state, gate, scores, out, T: ConstInt, K: ConstInt, D: ConstInt, V: ConstInt):
    """out = (q * gate) @ state + tril(scores) @ v."""
    step = ct.bid(0)
    result = ct.zeros((T, V), dtype=ct.float32)
    for place in range(K // D):
        queries = chunk(q, step, place, T, D) * chunk(gate, step, place, T, D)
        result = ct.mma(queries, chunk(state, place, 0, D, V), result)
    rows = ct.arange(T, dtype=ct.int32)
    factors = ct.where(rows[:, None] >= rows[None, :], chunk(scores, step, 0, T, T), 0.0).astype(q.dtype)
    ct.store(out, (step, 0), ct.mma(factors, chunk(v, step, 0, T, V), result))


@ct.kernel
def corrections(factors, k, v, beta, w, u, T: ConstInt, D: ConstInt):
    """w = factors @ (k * beta), u = factors @ (v * beta)."""
    step = ct.bid(0)
    a, scale = chunk(factors, step, 0, T, T), ct.load(beta, (step,), (T,), padding_mode=ZERO)[:, None]
    ct.store(u, (step, 0), dot(a, chunk(v, step, 0, T, D) * scale, T, D))
    ct.store(w, (step, 0), dot(a, chunk(k, step, 0, T, D) * scale, T, D))


@ct.kernel
def state_gradients(q, k, w, do, dv, out, T: ConstInt, D: ConstInt):
    """From the last chunk on: d = k @ state + dv, which is stored; the state grows by q.T @ do - w.T @ d, and is halved before."""
    steps = ct.num_tiles(q, axis=0, shape=(T, D))
    state = ct.zeros((D, D), dtype=ct.float32)
    for index in range(steps):
        step = steps - 1 - index
        grown = dot(chunk(k, step, 0, T, D), state.astype(k.dtype), T, D) + chunk(dv, step, 0, T, D).astype(ct.float32)
        ct.store(out, (step, 0), grown)
        state = state * 0.5
        state = state + dot(ct.transpose(chunk(q, step, 0, T, D)), chunk(do, step, 0, T, D), D, D)
        state = state - dot(ct.transpose(chunk(w, step, 0, T, D)), grown.astype(w.dtype), D, D)


half, single = (Array(dtype, 2, stride_divisible_by=8) for dtype in ("float16", "float32"))
row, half_row = (Array(dtype, 1) for dtype in ("float32", "float16"))
CASES = [
    Case("outputs", outputs, (*4 * [half], row, single, 64, 128, 128, 128)),
    Case("outputs_of_two_trips", outputs, (*4 * [half], row, single, 64, 128, 64, 128)),
    Case("outputs_of_eight_trips", outputs, (*4 * [half], row, single, 64, 128, 16, 128)),
    Case("gated_outputs", gated_outputs, (*5 * [half], single, 64, 128, 64, 128)),
    Case("corrections", corrections, (*3 * [half], half_row, single, single, 64, 128)),
    Case("state_gradients", state_gradients, (*5 * [half], single, 64, 128)),
]
