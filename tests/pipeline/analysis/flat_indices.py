"""Elements at indices that are computed from their number in all: quotients, remainders, bits, and offsets that a loop moves."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
TILE = 256


@ct.kernel
def gated_rows(x, bias, out, COLUMNS: ConstInt):
    """Row i // COLUMNS of out: the left half of x times its right half, plus a bias for each column."""
    place = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    row, column = place // COLUMNS, place % COLUMNS
    left = ct.gather(x, row * (2 * COLUMNS) + column)
    right = ct.gather(x, row * (2 * COLUMNS) + COLUMNS + column)
    ct.scatter(out, place, left * right + ct.gather(bias, place % bias.shape[0]))


@ct.kernel
def swapped_halves(x, out):
    """Groups of 64 elements with their halves swapped, by bits of the index."""
    place = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, place, ct.gather(x, (place >> 6) * 64 + (place & 63) ^ 32))


@ct.kernel
def row_totals(x, out):
    """The sum of a row, at offsets that each iteration moves by a tile."""
    place, total = ct.arange(TILE, dtype=ct.int32), ct.zeros((TILE,), dtype=ct.float32)
    for _ in range(ct.cdiv(x.shape[1], TILE)):
        total = total + ct.gather(x, (ct.bid(0), place))
        place = place + TILE
    ct.scatter(out, ct.bid(0), ct.sum(total))


VECTOR = Array("float32", 1, shape_divisible_by=16)

CASES = [
    Case("gated_rows", gated_rows, (VECTOR, VECTOR, VECTOR, 48)),
    Case("swapped_halves", swapped_halves, (VECTOR, VECTOR)),
    Case("row_totals", row_totals, (Array("float32", 2, stride_divisible_by=16, shape_divisible_by=(1, 16)), VECTOR)),
]
