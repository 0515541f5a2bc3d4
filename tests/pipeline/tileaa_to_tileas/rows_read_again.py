"""Kernels that read each row again after a reduction, in loops over parts of it."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ZERO = ct.PaddingMode.ZERO


@ct.kernel
def centered(x, totals, out, N: ct.Constant[int], T: ct.Constant[int]):
    """totals = those of the rows of x; out = the rows less their means."""
    row, columns = ct.bid(0), ct.arange(T, dtype=ct.int32)
    total = ct.zeros((T,), dtype=ct.float32)
    for part in range(0, N, T):
        total = total + ct.gather(x, (row, part + columns), padding_value=0)
    mean = ct.sum(total, axis=0) / N
    ct.scatter(totals, row, mean * N)
    for part in range(0, N, T):
        ct.scatter(out, (row, part + columns), ct.gather(x, (row, part + columns), padding_value=0) - mean)


@ct.kernel
def views(x, out, N: ct.Constant[int], T: ct.Constant[int]):
    """The same by views, without the totals."""
    row = ct.bid(0)
    total = ct.zeros((1, T), dtype=ct.float32)
    for part in range(ct.cdiv(N, T)):
        total = total + ct.load(x, (row, part), (1, T), padding_mode=ZERO)
    mean = ct.sum(total, axis=1, keepdims=True) / N
    for part in range(ct.cdiv(N, T)):
        ct.store(out, (row, part), ct.load(x, (row, part), (1, T), padding_mode=ZERO) - mean)


@ct.kernel
def twice(x, N: ct.Constant[int], T: ct.Constant[int]):
    """x = the rows less the totals of their parts by T, two times: what is read again was written between."""
    row = ct.bid(0)
    for _ in range(2):
        total = ct.zeros((1, T), dtype=ct.float32)
        for part in range(ct.cdiv(N, T)):
            total = total + ct.load(x, (row, part), (1, T), padding_mode=ZERO)
        mean = ct.sum(total, axis=1, keepdims=True) / T
        for part in range(ct.cdiv(N, T)):
            ct.store(x, (row, part), ct.load(x, (row, part), (1, T), padding_mode=ZERO) - mean)


@ct.kernel
def in_place(x, N: ct.Constant[int], T: ct.Constant[int]):
    """x = its rows less their totals by T, one row of a CTA after the other: a part is read again before it is written."""
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        total = ct.zeros((1, 1), dtype=ct.float32)
        for part in range(ct.cdiv(N, T)):
            total = total + ct.sum(ct.load(x, (row, part), (1, T), padding_mode=ZERO), axis=1, keepdims=True)
        for part in range(ct.cdiv(N, T)):
            ct.store(x, (row, part), ct.load(x, (row, part), (1, T), padding_mode=ZERO) - total / T)


@ct.kernel
def online(x, out, N: ct.Constant[int], T: ct.Constant[int]):
    """out = the rows of x less their maxima, which each part updates."""
    row, most = ct.bid(0), ct.full((1, 1), -1e9, dtype=ct.float32)
    for part in range(ct.cdiv(N, T)):
        most = ct.maximum(most, ct.max(ct.load(x, (row, part), (1, T), padding_mode=ZERO), axis=1, keepdims=True))
    for part in range(ct.cdiv(N, T)):
        ct.store(out, (row, part), ct.load(x, (row, part), (1, T), padding_mode=ZERO) - most)


_X = Array("float32", 2, stride_divisible_by=4)
_OF_ROWS = (_X, Array("float32", 1), _X)
CASES = [
    Case("one_part", centered, (*_OF_ROWS, 200, 256)),
    Case("four_parts", centered, (*_OF_ROWS, 500, 128)),
    Case("many_parts", centered, (*_OF_ROWS, 1280, 128)),
    Case("long_parts", centered, (*_OF_ROWS, 32768, 8192)),
    Case("views", views, (_X, _X, 500, 128)),
    Case("online", online, (_X, _X, 500, 128)),
    Case("twice", twice, (_X, 500, 128)),
    Case("in_place", in_place, (_X, 100, 128)),
    Case("in_place_in_parts", in_place, (_X, 100, 64)),
]
