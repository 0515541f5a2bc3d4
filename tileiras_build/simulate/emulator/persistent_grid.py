"""Launches of persistent kernels, whose CTAs loop over tile blocks.

The manifest marks them by ``grid.persistent``. The extents of the requested grid are three additional 4-byte parameters after
the declared ones. Any number of CTAs executes all tile blocks. On a GPU, one wave of CTAs is launched; the emulator launches
``PERSISTENT_CLUSTERS`` clusters, so that CTAs of small grids loop, too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

Shape = tuple[int, int, int]
Started = Callable[[Shape], None]
PERSISTENT_CLUSTERS = 3
MAX_TILE_PROGRAMS = (1 << 31) - (1 << 16)  # indices of tile blocks, including each CTA's next index, are i32


def expand_persistent(
    kernel: dict, grid, params, count: int, started: Started | None = None, separately: bool = False
) -> tuple[Shape, list[bytes], Started | None]:
    """The grid, the parameters and the callback of a launch, expanded for a persistent kernel.

    ``count``: the number of parameters of the code. If all are passed, ``grid`` is the launched grid. With ``started`` or
    ``separately``, each tile block has its own CTA or cluster.
    """
    x, y, z = (*((grid,) if isinstance(grid, int) else grid), 1, 1)[:3]
    values = [bytes(one) for one in params]
    if not kernel.get("grid", {}).get("persistent") or len(values) == count:
        return (x, y, z), values, started
    programs = math.prod((x, y, z))
    if programs > MAX_TILE_PROGRAMS:
        raise ValueError(
            f"a grid of {programs} tile blocks exceeds the limit of persistent kernels, {MAX_TILE_PROGRAMS}"
        )
    values += [struct.pack("<i", extent) for extent in (x, y, z)]
    clusters = programs if separately or started is not None else min(programs, PERSISTENT_CLUSTERS)
    return (clusters, 1, 1), values, None if started is None else _per_program_callback((x, y), started)


def _per_program_callback(plane: tuple[int, int], started: Started) -> Started:
    """A callback that converts cluster indices to coordinates in the grid of tile blocks."""
    x, y = plane
    return lambda place: started((place[0] % x, place[0] // x % y, place[0] // (x * y)))
