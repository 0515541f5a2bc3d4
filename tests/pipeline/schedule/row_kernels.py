"""Kernels that reduce tiles: rows of several lengths, and a loop over rows."""

import math

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def maxima(x, out, ROWS: ConstInt, N: ConstInt):
    """The largest element of each row."""
    rows = ct.load(x, (ct.bid(0), 0), (ROWS, N))
    ct.store(out, (ct.bid(0),), ct.max(rows, axis=1))


@ct.kernel
def scaled_rows(x, weights, shifts, out, N: ConstInt):
    """Rows divided by their maxima, times weights, and shifted: both are loaded afterwards."""
    row = ct.load(x, (ct.bid(0), 0), (1, N)).astype(ct.float32)
    share = row / ct.max(row, axis=1, keepdims=True)
    factors = ct.load(weights, (0,), (N,)).astype(ct.float32).reshape((1, N))
    terms = ct.load(shifts, (0,), (N,)).astype(ct.float32).reshape((1, N))
    ct.store(out, (ct.bid(0), 0), (share * factors + terms).astype(out.dtype))


@ct.kernel
def looped(x, out, N: ConstInt):
    """Each CTA takes every so many-th row."""
    for index in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        row = ct.load(x, (index, 0), (1, N))
        ct.store(out, (index, 0), row - ct.max(row, axis=1, keepdims=True))


@ct.kernel
def looped_in_place(x, out, N: ConstInt):
    """Rows less the largest element, added to those that the array has."""
    for index in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        row = ct.load(x, (index, 0), (1, N)) + ct.load(out, (index, 0), (1, N))
        ct.store(out, (index, 0), row - ct.max(row, axis=1, keepdims=True))


@ct.kernel
def gathered(x, weights, out, N: ConstInt, T: ConstInt):
    """Rows divided by their totals, times weights, in parts of T by pointers."""
    row, columns = ct.bid(0), ct.arange(T, dtype=ct.int32)
    total = ct.zeros((T,), dtype=ct.float32)
    for part in range(0, N, T):
        total = total + ct.gather(x, (row, part + columns), check_bounds=False)
    share = 1 / ct.sum(total, axis=0)
    for part in range(0, N, T):
        value = ct.gather(x, (row, part + columns), check_bounds=False) * share
        value = value * ct.gather(weights, part + columns, check_bounds=False)
        ct.scatter(out, (row, part + columns), value, check_bounds=False)


@ct.kernel
def weighted(x, weights, out, N: ConstInt):
    """Rows divided by their maxima, times weights, by pointers."""
    at, columns = ct.bid(0), ct.arange(N, dtype=ct.int32)
    row = ct.gather(x, (at, columns)).astype(ct.float32)
    share = row / ct.max(row)
    ct.scatter(out, (at, columns), (share * ct.gather(weights, columns)).astype(out.dtype))


@ct.kernel
def gradients(x, y, weights, out, by_weight, by_shift, COUNT: ConstInt, N: ConstInt):
    """Of the first COUNT rows, for one block: each gradient less its share, and totals over the rows, which wait for each reduction."""
    factors = ct.load(weights, (0,), (N,)).astype(ct.float32).reshape((1, N))
    weight, shift = ct.zeros((1, N), dtype=ct.float32), ct.zeros((1, N), dtype=ct.float32)
    for i in range(COUNT):
        at = (i, 0)
        row = ct.load(x, at, (1, N)).astype(ct.float32)
        gradient = ct.load(y, at, (1, N)).astype(ct.float32)
        scaled = gradient * factors
        share = ct.sum(row * scaled, axis=1, keepdims=True) / N
        ct.store(out, at, (scaled - row * share).astype(out.dtype))
        weight, shift = weight + gradient * row, shift + gradient
    ct.store(by_weight, (ct.bid(0), 0), weight)
    ct.store(by_shift, (ct.bid(0), 0), shift)


@ct.kernel
def looped_gathers(x, out, ROW_COUNT: ConstInt, N: ConstInt):
    """``looped`` by pointers, with a padding that counts."""
    columns = ct.arange(N, dtype=ct.int32)
    for index in range(ct.bid(0), ROW_COUNT, ct.num_blocks(0)):
        row = ct.gather(x, (index, columns), padding_value=7)
        ct.scatter(out, (index, columns), row - ct.sum(row, axis=0, keepdims=True))


@ct.kernel
def updated(state, x, weights, out, M: ConstInt, N: ConstInt):
    """A decode step of a state-space model: the state is stored, and reduced afterwards; a scalar is loaded behind that."""
    tile = ct.load(state, (ct.bid(0), 0), (M, N))
    column = ct.load(x, (ct.bid(0),), (M,)).reshape((M, 1))
    tile = tile * 0.5 + column
    ct.store(state, (ct.bid(0), 0), tile)
    total = ct.sum(tile, axis=1) * ct.load(weights, (ct.bid(0),), (1,))
    ct.store(out, (ct.bid(0),), total)


@ct.kernel
def labeled(x, labels, out, N: ConstInt):
    """Totals of rows, less the element that each row's label names; 0 in place of one outside of the row."""
    rows = ct.bid(0) + ct.arange(1, dtype=ct.int32)
    row = ct.gather(x, (ct.bid(0), ct.arange(N, dtype=ct.int32)))
    total = ct.sum(row.astype(ct.float32))
    ct.scatter(out, rows, total - ct.gather(x, (rows, ct.gather(labels, rows)), padding_value=0).astype(ct.float32))


@ct.kernel
def divergences(x, y, out, N: ConstInt):
    """The terms of a divergence, by parts of rows: seven tiles of floats are live at once."""
    columns = ct.arange(N, dtype=ct.int32)
    for part in range(ct.cdiv(x.shape[1], N)):
        places = (ct.bid(0), columns + part * N)
        left = ct.gather(x, places, padding_value=-math.inf)
        right = ct.gather(y, places, padding_value=-math.inf)
        most = ct.maximum(ct.max(left, keepdims=True), ct.max(right, keepdims=True))
        p, q = ct.exp(left - most) * ct.exp(most) * 0.5, ct.exp(right - most) * ct.exp(most) * 0.5
        mean = p + q
        ct.scatter(out, places, p * left + q * right - mean * ct.log(mean))


ROWS, ROW = (Array("float16", n, stride_divisible_by=16, shape_divisible_by=(1, 16)[-n:]) for n in (2, 1))
FLOATS = Array("float32", 2, stride_divisible_by=4)
ODD = Array("float16", 2)
CASES = [
    Case("eight_rows", maxima, (ROWS, ROW, 8, 4096)),
    Case("one_row", maxima, (ROWS, ROW, 1, 4096)),
    Case("small", maxima, (ROWS, ROW, 1, 64)),
    Case("long", scaled_rows, (ROWS, ROW, ROW, ROWS, 16384)),
    Case("odd", scaled_rows, (ODD, Array("float16", 1), Array("float16", 1), ODD, 4096)),
    Case("unaligned", weighted, (Array("float16", 2), Array("float16", 1), Array("float16", 2), 2048)),
    Case("short_weighted", weighted, (ROWS, ROW, ROWS, 256)),
    Case("looped", looped, (ROWS, ROWS, 4096)),
    Case("looped_in_place", looped_in_place, (ROWS, ROWS, 256)),
    Case("looped_short", looped, (ROWS, ROWS, 256)),
    Case("gradients", gradients, (ROWS, ROWS, ROW, ROWS, FLOATS, FLOATS, 3, 4096)),
    Case("looped_gathers", looped_gathers, (Array("int32", 2), Array("int32", 2), 7, 128)),
    Case("updated", updated, (FLOATS, Array("float32", 1), Array("float32", 1), Array("float32", 1), 64, 128)),
    Case("labeled", labeled, (ROWS, Array("int32", 1), Array("float32", 1), 256)),
    Case("divergences", divergences, (FLOATS, FLOATS, FLOATS, 4096)),
    Case("parts", gathered, (FLOATS, Array("float32", 1), FLOATS, 4096, 1024)),
]
