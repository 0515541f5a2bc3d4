"""Kernels that read tiles once, from all blocks, and in ways that tell nothing."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

TILE = 256
ConstInt = ct.Constant[int]


@ct.kernel
def scaled(x, y, scale, out, TILE_N: ConstInt):
    """A row of its own, one that two blocks share, and a row of all; x may be ``out``."""
    rows = ct.load(x, (ct.bid(0), ct.bid(1)), (1, TILE_N)) + ct.load(y, (ct.bid(0), ct.bid(1) // 2), (1, TILE_N))
    ct.store(out, (ct.bid(0), ct.bid(1)), rows * ct.load(scale, (0, 0), (1, TILE_N)))


@ct.kernel
def in_place(x, y, TILE_N: ConstInt):
    """x is written where it has been read; y is read by the blocks of a row, and once for each step of a loop."""
    total = ct.load(x, (ct.bid(0), ct.bid(1)), (1, TILE_N))
    for step in range(4):
        total = total + ct.load(y, (ct.bid(0), step), (1, TILE_N))
    ct.store(x, (ct.bid(0), ct.bid(1)), total)


def _case(name: str, kernel, count: int) -> Case:
    array = Array("float32", 2, stride_divisible_by=16, shape_divisible_by=(1, TILE))
    return Case(name, kernel, (*[array] * count, TILE))


CASES = [_case("scaled", scaled, 4), _case("in_place", in_place, 2)]
