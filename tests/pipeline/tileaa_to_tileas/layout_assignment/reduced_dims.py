"""Reductions along dimensions that are not the fastest one of memory."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def columns(x, out, ROWS: ConstInt, DEPTH: ConstInt, N: ConstInt):
    """The maxima along the middle dimension."""
    tile = ct.load(x, (ct.bid(0), 0, 0), (ROWS, DEPTH, N))
    ct.store(out, (ct.bid(0), 0), ct.max(tile, axis=1))


@ct.kernel
def planes(x, out, ROWS: ConstInt, DEPTH: ConstInt, N: ConstInt):
    """The maxima along both inner dimensions."""
    tile = ct.load(x, (ct.bid(0), 0, 0), (ROWS, DEPTH, N))
    ct.store(out, (ct.bid(0),), ct.max(ct.max(tile, axis=1), axis=1))


@ct.kernel
def shares(x, out, ROWS: ConstInt, DEPTH: ConstInt, N: ConstInt):
    """Each element less the largest one along the middle dimension."""
    tile = ct.load(x, (ct.bid(0), 0, 0), (ROWS, DEPTH, N))
    ct.store(out, (ct.bid(0), 0, 0), tile - ct.max(tile, axis=1, keepdims=True))


@ct.kernel
def reduced_rows(x, out, ROWS: ConstInt, N: ConstInt):
    """The maxima along the first of two dimensions."""
    ct.store(out, (ct.bid(0),), ct.max(ct.load(x, (0, ct.bid(0)), (ROWS, N)), axis=0))


def _array(ndim: int) -> Array:
    return Array("float32", ndim, stride_divisible_by=4, shape_divisible_by=(1, 1, 4)[-ndim:])


CASES = [
    Case("columns", columns, (_array(3), _array(2), 8, 16, 32)),
    Case("planes", planes, (_array(3), _array(1), 8, 16, 32)),
    Case("shares", shares, (_array(3), _array(3), 8, 16, 32)),
    Case("few_rows", columns, (_array(3), _array(2), 1, 128, 32)),
    Case("reduced_rows", reduced_rows, (_array(2), _array(1), 64, 64)),
]
