"""Kernels whose authors have unrolled loops with dots."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
SIZE, TRIPS = 64, 6


@ct.kernel
def matmul(a, b, out, SIZE: ConstInt, TRIPS: ConstInt):
    """out = every second tile of a and b, multiplied and added, from the second one on."""
    total = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    for step in ct.static_iter(range(1, 2 * TRIPS, 2)):
        total = ct.mma(ct.load(a, (0, step), (SIZE, SIZE)), ct.load(b, (step, ct.bid(0)), (SIZE, SIZE)), total)
    ct.store(out, (0, ct.bid(0)), total)


@ct.kernel
def scaled(a, b, out, SIZE: ConstInt, TRIPS: ConstInt):
    """out = the total of tiles of a times those of b, each times the first column of the tile of a."""
    total = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    for step in ct.static_iter(range(TRIPS)):
        own = ct.load(a, (0, step), (SIZE, SIZE))
        scores = ct.mma(own, ct.load(b, (step, ct.bid(0)), (SIZE, SIZE)), ct.zeros((SIZE, SIZE), dtype=ct.float32))
        total = total + scores * ct.extract(own, (0, 0), (SIZE, 1)).astype(ct.float32)
    ct.store(out, (0, ct.bid(0)), total)


@ct.kernel
def of_two(a, b, out, SIZE: ConstInt, TRIPS: ConstInt):
    """out = a b + (a b^T), of which both read the tiles of a."""
    total = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    other = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    for step in ct.static_iter(range(TRIPS)):
        own = ct.load(a, (0, step), (SIZE, SIZE))
        tile = ct.load(b, (step, ct.bid(0)), (SIZE, SIZE))
        total = ct.mma(own, tile, total)
        other = ct.mma(own, ct.transpose(tile), other)
    ct.store(out, (0, ct.bid(0)), total + other)


@ct.kernel
def attention(a, b, out, SIZE: ConstInt, TRIPS: ConstInt):
    """out = softmax(q k^T) k of one tile q of b and all tiles k of a."""
    query = ct.load(b, (ct.bid(0), 0), (SIZE, SIZE))
    largest = ct.full((SIZE, 1), -1.0e30, dtype=ct.float32)
    total, weights = ct.zeros((SIZE, SIZE), dtype=ct.float32), ct.zeros((SIZE, 1), dtype=ct.float32)
    for step in ct.static_iter(range(TRIPS)):
        keys = ct.load(a, (0, step), (SIZE, SIZE))
        scores = ct.mma(query, ct.transpose(keys), ct.zeros((SIZE, SIZE), dtype=ct.float32))
        now = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weight = ct.exp2(scores - now)
        factor = ct.exp2(largest - now)
        weights = weights * factor + ct.sum(weight, axis=1, keepdims=True)
        total = ct.mma(weight.astype(a.dtype), keys, total * factor)
        largest = now
    ct.store(out, (0, ct.bid(0)), total / weights)


MATRIX = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=(64, 64))
RESULT = Array("float32", 2, stride_divisible_by=16, shape_divisible_by=(64, 64))
OPERANDS = (MATRIX, MATRIX, RESULT, SIZE, TRIPS)
KERNELS = {"matmul": matmul, "scaled": scaled, "of_two": of_two, "attention": attention}
CASES = [Case(name, kernel, OPERANDS) for name, kernel in KERNELS.items()]
