"""Loops of a few and of many iterations that accumulate small and large tiles."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def accumulate(x, out, TRIPS: ConstInt, PARTS: ConstInt, ROWS: ConstInt, N: ConstInt):
    """Add the first tiles of rows, for several parts of them one after the other."""
    for part in ct.static_iter(range(PARTS)):
        total = ct.full((ROWS, N), 0, ct.int32)
        for step in range(TRIPS):
            total = total + ct.load(x, (step, part), (ROWS, N))
        ct.store(out, (0, part), total)


def _array(rows: int) -> Array:
    return Array("int32", 2, stride_divisible_by=4, shape_divisible_by=(rows, 16))


CASES = [
    Case(name, accumulate, (_array(rows), _array(rows), trips, 3, rows, 16))
    for name, trips, rows in (("short", 4, 1), ("many_trips", 40, 1), ("large_tiles", 4, 16))
]
