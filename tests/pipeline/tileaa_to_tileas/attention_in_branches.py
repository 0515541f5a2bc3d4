"""Attention of sequences whose lengths are loaded: blocks past a length do nothing, or have a branch for what they do."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
ROWS = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=(1, 8))
OUT = Array("float32", 2, stride_divisible_by=4, shape_divisible_by=(1, 4))


def _attend(q, k, v, block, steps, M, N, D):
    left = ct.load(q, (block, 0), (M, D))
    return _attend_to(left, k, v, steps, M, N, D)


def _attend_to(left, k, v, steps, M, N, D):
    largest = ct.full((M, 1), -1e30, dtype=ct.float32)
    total, acc = ct.zeros((M, 1), dtype=ct.float32), ct.zeros((M, D), dtype=ct.float32)
    for j in range(steps):
        keys = ct.load(k, (0, j), (D, N), order=(1, 0), padding_mode=ZERO)
        scores = ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))
        bound = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights, factor = ct.exp2(scores - bound), ct.exp2(largest - bound)
        total = total * factor + ct.sum(weights, axis=1, keepdims=True)
        values = ct.load(v, (j, 0), (N, D), padding_mode=ZERO)
        acc = ct.mma(weights.astype(v.dtype), values, acc * factor)
        largest = bound
    return acc / total


def in_a_branch(q, k, v, lengths, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """The length of a sequence says whether a block attends, and to how many keys."""
    block = ct.bid(0)
    length = ct.load(lengths, (block,), (1,)).item()
    if length > 0:
        ct.store(out, (block, 0), _attend(q, k, v, block, length, M, N, D).astype(out.dtype))


def behind_a_return(q, k, v, lengths, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """The same, as an early return; a branch bounds the keys."""
    block = ct.bid(0)
    length = ct.load(lengths, (block,), (1,)).item()
    if length == 0:
        return
    steps = ct.num_tiles(v, axis=0, shape=(N, D))
    if length < steps:
        steps = length
    ct.store(out, (block, 0), _attend(q, k, v, block, steps, M, N, D).astype(out.dtype))


def queries_before(q, k, v, lengths, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """A loop over blocks: queries are loaded for all, and only some attend."""
    for block in range(ct.bid(0), ct.num_tiles(q, axis=0, shape=(M, D)), ct.num_blocks(0)):
        length = ct.load(lengths, (block,), (1,)).item()
        left = ct.load(q, (block, 0), (M, D))
        if length > 0:
            ct.store(out, (block, 0), _attend_to(left, k, v, length, M, N, D).astype(out.dtype))


def in_a_window(q, k, v, lengths, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """Queries attend to their tile of keys, up to their own, and to the one before, but for its first ones; both tiles are square."""
    block = ct.bid(0)
    left, rows, columns = ct.load(q, (block, 0), (M, D)), ct.arange(M, dtype=ct.int32), ct.arange(N, dtype=ct.int32)
    recent, past = columns[None, :] > rows[:, None], columns[None, :] <= rows[:, None]
    largest = ct.full((M, 1), -1e30, dtype=ct.float32)
    total, acc = ct.zeros((M, 1), dtype=ct.float32), ct.zeros((M, D), dtype=ct.float32)
    for j in range(2):
        place = block - 1 + j
        if place >= 0:
            keys = ct.load(k, (0, place), (D, N), order=(1, 0), padding_mode=ZERO)
            scores = ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))
            if j == 0:
                scores = ct.where(recent, scores, -1e30)
            if j == 1:
                scores = ct.where(past, scores, -1e30)
            bound = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
            weights, factor = ct.exp2(scores - bound), ct.exp2(largest - bound)
            total = total * factor + ct.sum(weights, axis=1, keepdims=True)
            values = ct.load(v, (place, 0), (N, D), padding_mode=ZERO)
            acc = acc * factor + ct.mma(weights.astype(v.dtype), values, ct.zeros((M, D), dtype=ct.float32))
            largest = bound
    ct.store(out, (block, 0), acc / total)


def _case(function, name="", rows_of_tile=128):
    arguments = (ROWS, ROWS, ROWS, Array("int32", 1), OUT, rows_of_tile, 64, 64)
    return Case(name or function.__name__, ct.kernel(function), arguments)


CASES = [
    *(_case(function) for function in (in_a_branch, behind_a_return, queries_before)),
    _case(queries_before, "queries_before_tall", 256),
    Case("in_a_window", ct.kernel(occupancy=2)(in_a_window), (ROWS, ROWS, ROWS, Array("int32", 1), OUT, 64, 64, 128)),
]
