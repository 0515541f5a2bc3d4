"""Loops that add up tiles of which a comparison of coordinates masks a part."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

SIZE, WINDOW = 64, 30


@ct.kernel
def masked(x, out, first, last, place):
    """out = sum over the tiles of x (steps, 64, 64) of those elements whose column, ``place`` and 64 per step further on,
    is at most ``last`` plus the row, and at least ``first``; -1 for the others."""
    row = last + ct.arange(SIZE, dtype=ct.int32)[:, None]
    inside = ct.arange(SIZE, dtype=ct.int32)[None, :]
    total = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    for step in range(x.shape[0]):
        column = place + step * SIZE + inside
        tile = ct.load(x, (step, 0, 0), (1, SIZE, SIZE)).reshape((SIZE, SIZE))
        total = total + ct.where((column <= row) & (column >= first), tile, -1.0)
    ct.store(out, (0, 0), total)


@ct.kernel
def lowered(x, out, first, last, place):
    """out = sum over the tiles of x (steps, 64, 64), lowered by 1 where the column is 30 and more less than ``last`` plus the row, or
    less than ``first``."""
    row = last + ct.arange(SIZE, dtype=ct.int32)[:, None]
    inside = ct.arange(SIZE, dtype=ct.int32)[None, :]
    total = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    for step in range(x.shape[0]):
        column = place + step * SIZE + inside
        tile = ct.load(x, (step, 0, 0), (1, SIZE, SIZE)).reshape((SIZE, SIZE))
        masked = (column < first) | (column < row - WINDOW + 1)
        total = total + (tile - ct.where(masked, 1.0, 0.0))
    ct.store(out, (0, 0), total)


ARRAYS = Array("float32", 3, shape_divisible_by=(1, SIZE, SIZE)), Array("float32", 2, shape_divisible_by=SIZE)
CASES = [Case(one._pyfunc.__name__, one, (*ARRAYS, *[Scalar("int32")] * 3)) for one in (masked, lowered)]
