"""Dots of consecutive loops that multiply the same left operand, in tensor memory that holds it once."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ROWS = 128


@ct.kernel
def scan(q, k, v, states, out, D: ConstInt, T: ConstInt, V: ConstInt):
    """For each 128 rows: out = q @ (the sum of all D rows of states) / 2 + the sum of (q @ k.T) @ v over T rows of k and v."""
    for place in range(ct.num_tiles(q, axis=0, shape=(ROWS, D))):
        queries = ct.load(q, (place, 0), (ROWS, D))
        result = ct.zeros((ROWS, V), dtype=ct.float32)
        for step in range(ct.num_tiles(states, axis=0, shape=(D, V))):
            result = ct.mma(queries, ct.load(states, (step, 0), (D, V)), result)
        result = result * 0.5
        for step in range(ct.num_tiles(k, axis=0, shape=(T, D))):
            keys, values = ct.load(k, (step, 0), (T, D)), ct.load(v, (step, 0), (T, V))
            scores = ct.mma(queries, ct.transpose(keys), ct.zeros((ROWS, T), dtype=ct.float32))
            result = ct.mma(scores.astype(v.dtype), values, result)
        ct.store(out, (place, 0), result)


@ct.kernel
def twice(q, states, others, added, out, D: ConstInt, V: ConstInt):
    """added = the sums of the rows of q @ states, added by D rows; out = q @ others."""
    queries = ct.load(q, (ct.bid(0), 0), (ROWS, D))
    total = ct.zeros((ROWS, V), dtype=ct.float32)
    for step in range(ct.num_tiles(states, axis=0, shape=(D, V))):
        total = ct.mma(queries, ct.load(states, (step, 0), (D, V)), total)
    ct.store(added, (ct.bid(0), 0), ct.sum(total, axis=1, keepdims=True))
    total = ct.zeros((ROWS, V), dtype=ct.float32)
    for step in range(ct.num_tiles(others, axis=0, shape=(D, V))):
        total = ct.mma(queries, ct.load(others, (step, 0), (D, V)), total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def differing(q, states, added, out, D: ConstInt, V: ConstInt):
    """added = 2 * q[:128] @ the sum of all D rows of states, out = 3 * q[128:] @ it, V columns at a time."""
    first, second = ct.load(q, (0, 0), (ROWS, D)) * 2, ct.load(q, (1, 0), (ROWS, D)) * 3
    for place in range(ct.num_tiles(states, axis=1, shape=(D, V))):
        total = ct.zeros((ROWS, V), dtype=ct.float32)
        for step in range(ct.num_tiles(states, axis=0, shape=(D, V))):
            total = ct.mma(first, ct.load(states, (step, place), (D, V)), total)
        ct.store(added, (0, place), total)
        total = ct.zeros((ROWS, V), dtype=ct.float32)
        for step in range(ct.num_tiles(states, axis=0, shape=(D, V))):
            total = ct.mma(second, ct.load(states, (step, place), (D, V)), total)
        ct.store(out, (0, place), total)


@ct.kernel
def shorter(a, b, c, d, added, out, D: ConstInt):
    """added = a @ b + c @ d + a @ d, out = a @ b + c @ d, by D columns of a and c."""
    total = ct.zeros((ROWS, D), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(ROWS, D))):
        left, right = ct.load(a, (0, step), (ROWS, D)), ct.load(d, (step, 0), (D, D))
        total = ct.mma(left, ct.load(b, (step, 0), (D, D)), total)
        total = ct.mma(ct.load(c, (0, step), (ROWS, D)), right, total)
        total = ct.mma(left, right, total)
    ct.store(added, (0, 0), total)
    total = ct.zeros((ROWS, D), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(ROWS, D))):
        total = ct.mma(ct.load(a, (0, step), (ROWS, D)), ct.load(b, (step, 0), (D, D)), total)
        total = ct.mma(ct.load(c, (0, step), (ROWS, D)), ct.load(d, (step, 0), (D, D)), total)
    ct.store(out, (0, 0), total)


half, single = (Array(dtype, 2, stride_divisible_by=8, alignment=16) for dtype in ("float16", "float32"))
CASES = [
    Case("scan", scan, (half, half, half, half, single, 128, 64, 256)),
    Case("scan_narrow", scan, (half, half, half, half, single, 128, 64, 64)),
    Case("twice", twice, (half, half, half, Array("float32", 2), single, 128, 256)),
    Case("differing", differing, (half, half, single, single, 128, 64)),
    Case("shorter", shorter, (half, half, half, half, single, single, 64)),
]
