"""Rotations of the two halves of rows, alone and in front of a dot."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ZERO = ct.PaddingMode.ZERO


def rotated(x, row, column):
    """Two halves of a tile, one without and one with the other, side by side."""
    whole = ct.load(x, (row, column), (64, 64), padding_mode=ZERO)
    first, second = ct.extract(whole, (0, 0), shape=(64, 32)), ct.extract(whole, (0, 1), shape=(64, 32))
    return ct.cat((first - second, first + second), 1)


@ct.kernel
def rows(x, out):
    for row in range(ct.num_tiles(x, axis=0, shape=(64, 64))):
        ct.store(out, (row, ct.bid(0)), rotated(x, row, ct.bid(0)))


@ct.kernel
def of_two_shapes(x, out):
    """Slices of two shapes, with equal indices."""
    for row in range(ct.num_tiles(x, axis=0, shape=(64, 64))):
        whole = ct.load(x, (row, ct.bid(0)), (64, 64), padding_mode=ZERO)
        first, second = ct.extract(whole, (0, 0), shape=(64, 32)), ct.extract(whole, (0, 1), shape=(64, 32))
        third, fourth = ct.extract(whole, (0, 0), shape=(64, 16)), ct.extract(whole, (0, 1), shape=(64, 16))
        ct.store(out, (row, ct.bid(0)), ct.cat((first - second, ct.cat((third, fourth), 1)), 1))


@ct.kernel
def one_tile(x, out):
    ct.store(out, (0, 0), rotated(x, 0, 0))


@ct.kernel
def dots(q, x, out):
    """out = q @ rotated(x).T of all tiles of x along its rows."""
    left, total = ct.load(q, (0, 0), (64, 64)), ct.zeros((64, 64), ct.float32)
    for row in range(ct.num_tiles(x, axis=0, shape=(64, 64))):
        total = ct.mma(left, ct.transpose(rotated(x, row, 0)), total)
    ct.store(out, (0, 0), total)


HALVES = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=(4, 8))
CASES = [
    Case("rows", rows, (HALVES, HALVES)),
    Case("of_two_shapes", of_two_shapes, (HALVES, HALVES)),
    Case("one_tile", one_tile, (HALVES, HALVES)),
    Case("dots", dots, (HALVES, HALVES, Array("float32", 2, stride_divisible_by=4, shape_divisible_by=(4, 4)))),
]
