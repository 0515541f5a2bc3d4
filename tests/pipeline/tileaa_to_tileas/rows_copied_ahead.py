"""Loops without dots, over tiles that threads copy ahead."""

import math

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def column_totals(x, out, TM: ConstInt, TN: ConstInt):
    """Of a matrix whose last tiles end inside."""
    total = ct.zeros((TN,), dtype=ct.float32)
    for row in range(ct.cdiv(x.shape[0], TM)):
        tile = ct.load(x, (row, ct.bid(0)), (TM, TN), padding_mode=ZERO)
        total = total + ct.sum(tile.astype(ct.float32), axis=0)
    ct.store(out, (ct.bid(0),), total)


@ct.kernel
def shares(x, out, N: ConstInt):
    """Each row over its total, of rows that CTAs take in turn; stores follow loads of later rows."""
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        tile = ct.load(x, (row, 0), (1, N)).astype(ct.float32)
        ct.store(out, (row, 0), tile / ct.sum(tile, axis=1, keepdims=True))


@ct.kernel
def shares_by_pointers(x, out, N: ConstInt):
    """The same by pointers."""
    place = ct.arange(N, dtype=ct.int32)
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        tile = ct.gather(x, (row, place)).astype(ct.float32)
        ct.scatter(out, (row, place), tile / ct.sum(tile, axis=0, keepdims=True))


@ct.kernel
def by_pointers(x, y, out, T: ConstInt):
    """What is loaded by pointers, multiplied and added."""
    place, total = ct.arange(T, dtype=ct.int32), ct.zeros((T,), dtype=ct.float32)
    for start in range(ct.bid(0) * T, x.shape[0], ct.num_blocks(0) * T):
        total = total + ct.gather(x, start + place) * ct.gather(y, start + place)
    ct.store(out, (ct.bid(0),), ct.sum(total, axis=0, keepdims=True))


@ct.kernel
def weighted(x, weights, scale, out, TM: ConstInt, TN: ConstInt):
    """Totals of columns with a weight for each row, which lanes share, and a scale for each tile, which all threads share."""
    total = ct.zeros((TM, TN), dtype=ct.float32)
    for row in range(ct.cdiv(x.shape[0], TM)):
        tile = ct.load(x, (row, ct.bid(0)), (TM, TN), padding_mode=ZERO).astype(ct.float32)
        weight = ct.load(weights, (row,), (TM,), padding_mode=ZERO).astype(ct.float32).reshape((TM, 1))
        total = total + tile * weight * ct.load(scale, (row,), (1,)).reshape((1, 1))
    ct.store(out, (0, ct.bid(0)), ct.sum(total, axis=0, keepdims=True))


@ct.kernel
def maxima(x, out, T: ConstInt):
    """Of rows whose last part ends inside: what is past the end is no maximum."""
    most = ct.full((1, 1), -math.inf, dtype=ct.float32)
    for part in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        tile = ct.load(x, (ct.bid(0), part), (1, T), padding_mode=ct.PaddingMode.NEG_INF)
        most = ct.maximum(most, ct.max(tile.astype(ct.float32), axis=1, keepdims=True))
    ct.store(out, (ct.bid(0),), most.reshape((1,)))


@ct.kernel
def maxima_by_pointers(x, out, T: ConstInt):
    """The same by pointers."""
    place, most = ct.arange(T, dtype=ct.int32), ct.full((T,), -math.inf, dtype=ct.float32)
    for start in range(0, x.shape[1], T):
        most = ct.maximum(most, ct.gather(x, (ct.bid(0), start + place), padding_value=-math.inf))
    ct.store(out, (ct.bid(0),), ct.max(most, axis=0, keepdims=True))


@ct.kernel
def running(x, N: ConstInt):
    """Each row is what the one before it became, and half of its own: no load may run ahead of the store."""
    for row in range(1, x.shape[0]):
        before = ct.load(x, (row - 1, 0), (1, N))
        ct.store(x, (row, 0), before + ct.load(x, (row, 0), (1, N)) * 0.5)


@ct.kernel
def totals_of_parts(x, out, T: ConstInt):
    """An inner loop that starts again for each row."""
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        total = ct.zeros((1, T), dtype=ct.float32)
        for part in range(ct.num_tiles(x, axis=1, shape=(1, T))):
            total = total + ct.load(x, (row, part), (1, T), padding_mode=ZERO)
        ct.store(out, (row,), ct.sum(total, axis=1))


@ct.kernel
def two_totals(x, y, out, T: ConstInt):
    """Of parts of two arrays: two loops for each row, with tiles of other sizes, and nothing between them for which threads wait."""
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        total = ct.zeros((1, T), dtype=ct.float32)
        for part in range(ct.num_tiles(x, axis=1, shape=(1, T))):
            total = total + ct.load(x, (row, part), (1, T), padding_mode=ZERO).astype(ct.float32)
        for part in range(ct.num_tiles(y, axis=1, shape=(1, T))):
            total = total - ct.load(y, (row, part), (1, T), padding_mode=ZERO)
        ct.store(out, (row, 0), total)


@ct.kernel
def totals_of_known_parts(x, out, T: ConstInt):
    """So few that registers hold all of them at once."""
    total = ct.zeros((1, T), dtype=ct.float32)
    for part in range(4):
        total = total + ct.load(x, (ct.bid(0), part), (1, T), padding_mode=ZERO)
    ct.store(out, (ct.bid(0),), ct.sum(total, axis=1))


@ct.kernel
def recurrence(keys, values, weights, out, K: ConstInt, V: ConstInt):
    """Each step decays a state, adds the product of a key and what the state lacks of a value, and stores what a query finds of it."""
    state = ct.zeros((K, V), dtype=ct.float32)
    for step in range(keys.shape[0]):
        key = ct.load(keys, (step, 0), (1, K)).astype(ct.float32).reshape((K, 1))
        value = ct.load(values, (step, ct.bid(0)), (1, V)).astype(ct.float32)
        state = state * ct.load(weights, (step,), (1,)).reshape((1, 1))
        state = state + key * (value - ct.sum(state * key, axis=0, keepdims=True))
        ct.store(out, (step, ct.bid(0)), ct.sum(state * key, axis=0, keepdims=True))


@ct.kernel
def scores(keys, values, out, T: ConstInt, D: ConstInt):
    """Of one query of ones: totals of weighted values, with the maximum so far."""
    most, total = ct.full((1, 1), -math.inf, dtype=ct.float32), ct.zeros((1, D), dtype=ct.float32)
    for part in range(ct.cdiv(keys.shape[0], T)):
        score = ct.sum(ct.load(keys, (part, 0), (T, D)).astype(ct.float32), axis=1, keepdims=True)
        larger = ct.maximum(most, ct.max(score, axis=0, keepdims=True))
        weighted = ct.exp(score - larger) * ct.load(values, (part, 0), (T, D)).astype(ct.float32)
        total = total * ct.exp(most - larger) + ct.sum(weighted, axis=0, keepdims=True)
        most = larger
    ct.store(out, (0, 0), total)


def _array(type: str, rank: int, columns: int = 1) -> Array:
    return Array(type, rank, stride_divisible_by=8, shape_divisible_by=(*[1] * (rank - 1), columns))


F32, F16 = "float32", "float16"
CASES = [
    Case("columns_f16", column_totals, (_array(F16, 2), _array(F32, 1), 16, 32)),
    Case("columns_f32", column_totals, (_array(F32, 2), _array(F32, 1), 8, 64)),
    Case("shares", shares, (_array(F16, 2), _array(F32, 2), 512)),
    Case("by_pointers", by_pointers, (_array(F32, 1, 4), _array(F32, 1, 4), _array(F32, 1), 256)),
    Case("weighted_f16", weighted, (_array(F16, 2), _array(F16, 1), _array(F32, 1), _array(F32, 2), 32, 64)),
    Case("weighted_f32", weighted, (_array(F32, 2), _array(F32, 1), _array(F32, 1), _array(F32, 2), 64, 64)),
    Case("maxima", maxima, (_array(F16, 2, 8), _array(F32, 1), 512)),
    Case("maxima_by_pointers", maxima_by_pointers, (_array(F32, 2, 8), _array(F32, 1), 256)),
    Case("running", running, (_array(F32, 2), 128)),
    Case("narrow", shares, (Array(F32, 2), _array(F32, 2), 512)),
    Case("four_parts", totals_of_known_parts, (_array(F32, 2), _array(F32, 1), 64)),
    Case("wide_parts", totals_of_parts, (_array(F32, 2), _array(F32, 1), 512)),
    Case("two_totals", two_totals, (Array(F16, 2, stride_divisible_by=4), _array(F32, 2), _array(F32, 2), 1024)),
    Case("recurrence", recurrence, (_array(F16, 2), _array(F16, 2), _array(F32, 1), _array(F32, 2), 128, 128)),
    Case("scores", scores, (_array(F16, 2), _array(F16, 2), _array(F32, 2), 64, 128)),
    Case("row_by_pointers", shares_by_pointers, (_array(F16, 2, 8), _array(F32, 2, 8), 2048)),
    Case("parts", totals_of_parts, (_array(F32, 2), _array(F32, 1), 128)),
]
