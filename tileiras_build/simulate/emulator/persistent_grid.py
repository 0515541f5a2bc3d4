"""Kernels whose CTAs run tile programs one after the other: what a launcher starts, and what it tells them.

The manifest's ``grid.persistent`` says that a kernel is one; the extents of the grid that a caller asks for are parameters
behind those that the program declares, three of 4 bytes. Any number of CTAs runs all programs; a GPU would start as many as it
holds, the emulator as many as ``CLUSTERS``, so that small grids have programs that follow each other, too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

Shape = tuple[int, int, int]
Started = Callable[[Shape], None]
PERSISTENT_CLUSTERS = 3
MAX_TILE_PROGRAMS = (1 << 31) - (1 << 16)  # numbers of programs, and the next one of each CTA, are i32


def expand_persistent(
    kernel: dict, grid, params, count: int, started: Started | None = None, separately: bool = False
) -> tuple[Shape, list[bytes], Started | None]:
    """What is launched of a kernel: its grid, its parameters, and who is told of each program.

    ``count``: the parameters that the code has. Where all are given, so is the grid. With ``started``, and where somebody tells
    them ``apart``, each program has a CTA, or a cluster.
    """
    x, y, z = (*((grid,) if isinstance(grid, int) else grid), 1, 1)[:3]
    values = [bytes(one) for one in params]
    if not kernel.get("grid", {}).get("persistent") or len(values) == count:
        return (x, y, z), values, started
    programs = math.prod((x, y, z))
    if programs > MAX_TILE_PROGRAMS:
        raise ValueError(f"a grid of {programs} tile programs is more than a persistent kernel can number")
    values += [struct.pack("<i", extent) for extent in (x, y, z)]
    clusters = programs if separately or started is not None else min(programs, PERSISTENT_CLUSTERS)
    return (clusters, 1, 1), values, None if started is None else _per_program_callback((x, y), started)


def _per_program_callback(plane: tuple[int, int], started: Started) -> Started:
    """Who is told of clusters by their numbers is told of places in the grid of tile programs."""
    x, y = plane
    return lambda place: started((place[0] % x, place[0] // x % y, place[0] // (x * y)))
