"""Attention whose keys have more rows than its queries, in two forms of the accumulator, and with a bias of each score."""

import math

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt, ConstBool = ct.Constant[int], ct.Constant[bool]
ROWS, FEW, KEYS, WIDTH = 64, 16, 128, 128


@ct.kernel(occupancy=2)
def attention(q, k, v, out, TILE_M: ConstInt, TILE_N: ConstInt, WIDTH: ConstInt, APART: ConstBool):
    """out = softmax(q k^T) v by powers of 2; ``APART``: the dot with v starts from zero, and is added."""
    queries = ct.load(q, (ct.bid(0), 0), (TILE_M, WIDTH))
    peak = ct.full((TILE_M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((TILE_M, 1), dtype=ct.float32)
    total = ct.zeros((TILE_M, WIDTH), dtype=ct.float32)
    for j in range(ct.num_tiles(k, axis=0, shape=(TILE_N, WIDTH))):
        keys = ct.load(k, (0, j), (WIDTH, TILE_N), order=(1, 0))
        scores = ct.mma(queries, keys, ct.zeros((TILE_M, TILE_N), dtype=ct.float32))
        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp2(scores - new_peak, flush_to_zero=True)
        shrink = ct.exp2(peak - new_peak, flush_to_zero=True)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, (j, 0), (TILE_N, WIDTH))
        if APART:
            zero = ct.zeros((TILE_M, WIDTH), dtype=ct.float32)
            total = shrink * total + ct.mma(powers.astype(v.dtype), values, zero)
        else:
            total = ct.mma(powers.astype(v.dtype), values, total * shrink)
        peak = new_peak
    ct.store(out, (ct.bid(0), 0), (total / weight).astype(out.dtype))


@ct.kernel(occupancy=2)
def masked(q, k, v, out, TILE: ConstInt, WIDTH: ConstInt):
    """out = softmax(q k^T) v by powers of 2, where each query has the keys up to its own row: the last tile of keys is masked."""
    queries = ct.load(q, (ct.bid(0), 0), (TILE, WIDTH))
    peak = ct.full((TILE, 1), -1e9, dtype=ct.float32)
    weight = ct.zeros((TILE, 1), dtype=ct.float32)
    total = ct.zeros((TILE, WIDTH), dtype=ct.float32)
    row, column = ct.arange(TILE, dtype=ct.int32)[:, None], ct.arange(TILE, dtype=ct.int32)[None, :]
    for j in range(ct.bid(0) + 1):
        keys = ct.load(k, (0, j), (WIDTH, TILE), order=(1, 0))
        scores = ct.mma(queries, keys, ct.zeros((TILE, TILE), dtype=ct.float32))
        if j == ct.bid(0):
            scores = ct.where(row >= column, scores, -1e30)
        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp2(scores - new_peak)
        shrink = ct.exp2(peak - new_peak)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, (j, 0), (TILE, WIDTH))
        total = shrink * total + ct.mma(powers.astype(v.dtype), values, ct.zeros((TILE, WIDTH), dtype=ct.float32))
        peak = new_peak
    ct.store(out, (ct.bid(0), 0), (total / weight).astype(out.dtype))


@ct.kernel
def biased(q, k, v, bias, out, TILE_M: ConstInt, TILE_N: ConstInt, WIDTH: ConstInt):
    """out = softmax(q k^T + bias) v by powers of 2."""
    queries = ct.load(q, (ct.bid(0), 0), (TILE_M, WIDTH))
    peak = ct.full((TILE_M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((TILE_M, 1), dtype=ct.float32)
    total = ct.zeros((TILE_M, WIDTH), dtype=ct.float32)
    for j in range(ct.num_tiles(k, axis=0, shape=(TILE_N, WIDTH))):
        keys = ct.load(k, (0, j), (WIDTH, TILE_N), order=(1, 0))
        scores = ct.mma(queries, keys, ct.zeros((TILE_M, TILE_N), dtype=ct.float32))
        scores = scores + ct.load(bias, (ct.bid(0), j), (TILE_M, TILE_N)).astype(ct.float32)
        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp2(scores - new_peak)
        shrink = ct.exp2(peak - new_peak)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        total = ct.mma(powers.astype(v.dtype), ct.load(v, (j, 0), (TILE_N, WIDTH)), total * shrink)
        peak = new_peak
    ct.store(out, (ct.bid(0), 0), (total / weight).astype(out.dtype))


@ct.kernel
def gradient(x, w, out, ROWS: ConstInt, WIDTH: ConstInt, COLUMNS: ConstInt):
    """out = exp2(x w) w^T: each tile of w is an operand of both dots."""
    hidden = ct.load(x, (ct.bid(0), 0), (ROWS, WIDTH))
    total = ct.zeros((ROWS, WIDTH), dtype=ct.float32)
    for j in range(ct.num_tiles(w, axis=1, shape=(WIDTH, COLUMNS))):
        weights = ct.load(w, (0, j), (WIDTH, COLUMNS))
        powers = ct.exp2(ct.mma(hidden, weights, ct.zeros((ROWS, COLUMNS), dtype=ct.float32)))
        total = ct.mma(powers.astype(w.dtype), ct.transpose(weights), total)
    ct.store(out, (ct.bid(0), 0), total)


MATRIX = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=(128, 128))
NARROW = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=(128, 64))
BIAS = Array("float32", 2, stride_divisible_by=16, shape_divisible_by=(128, 128))
OPERANDS = (MATRIX, MATRIX, MATRIX, MATRIX, ROWS, KEYS, WIDTH)
CASES = [
    Case("attention", attention.replace_hints(occupancy=1), (*OPERANDS, False)),
    Case("apart", attention, (*OPERANDS, True)),
    Case("wide", attention.replace_hints(occupancy=1), (*[MATRIX] * 4, 128, 64, 256, False)),
    Case("in_columns", attention.replace_hints(occupancy=1), (*[MATRIX] * 4, 128, 128, WIDTH, False)),
    Case("no_stage_fits", gradient, (MATRIX, MATRIX, Array("float32", 2, stride_divisible_by=16), 64, 512, 256)),
    Case("stages_fit", gradient, (MATRIX, MATRIX, Array("float32", 2, stride_divisible_by=16), 64, 256, 64)),
    Case("deep", attention, (*[MATRIX] * 4, 64, 64, 256, False)),
    Case("tall", attention.replace_hints(occupancy=None), (*[NARROW] * 4, 128, 64, 64, False)),
    Case("tall_twice", attention, (*[NARROW] * 4, 128, 64, 64, False)),
    Case("tall_of_short_loads", attention.replace_hints(occupancy=None), (*[MATRIX] * 4, 128, 32, WIDTH, False)),
    Case("few_queries", attention, (*[MATRIX] * 4, FEW, KEYS, WIDTH, True)),
    Case("masked", masked, (*[NARROW] * 4, ROWS, WIDTH)),
    Case("biased", biased, (*[NARROW] * 3, BIAS, NARROW, 128, 64, 64)),
    Case("biased_by_halves", biased, (*[NARROW] * 3, MATRIX, NARROW, 128, 64, 64)),
    Case("biased_wide", biased, (*[NARROW] * 3, BIAS, NARROW, 128, 128, 64)),
    Case("biased_by_wide_halves", biased, (*[NARROW] * 3, MATRIX, NARROW, 128, 128, 64)),
    Case("biased_of_wide_values", biased, (*[MATRIX] * 5, 128, 128, WIDTH)),
]
