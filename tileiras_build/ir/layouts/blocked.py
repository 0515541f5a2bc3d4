"""Blocked layouts: registers, then lanes, then warps along the dimensions of a tile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .linear_layout import LANE_BITS, LinearLayout, dim_bases, log2_exact, memory_bits


def _take(pools: dict[int, list[int]], order: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The next bits of each dimension, ``sizes[dim]`` positions of it, 0 past the end of the tile."""
    taken = []
    for dim in order:
        for _ in range(log2_exact(sizes[dim])):
            taken.append(pools[dim].pop(0) if pools[dim] else 0)
    return taken


@lru_cache(maxsize=4096)
def blocked(
    shape: tuple[int, ...],
    size_per_thread: tuple[int, ...],
    threads_per_warp: tuple[int, ...],
    warps: tuple[int, ...],
    order: tuple[int, ...],
) -> LinearLayout:
    """The tuples are sizes per dimension; ``order`` lists dimensions fastest first.

    A tile larger than the block of threads repeats the block in further registers; along a dimension where it is
    smaller, the remaining lanes and warps replicate, and threads have fewer registers.
    """
    pools = dict(enumerate(dim_bases(shape)))
    registers = [basis for basis in _take(pools, order, size_per_thread) if basis]
    lanes = _take(pools, order, threads_per_warp)
    warp_bases = _take(pools, order, warps)
    registers += [basis for dim in order for basis in pools[dim]]
    return LinearLayout(tuple(registers), tuple(lanes), tuple(warp_bases), tuple(shape))


@lru_cache(maxsize=4096)
def coalesced(
    shape: tuple[int, ...], order: tuple[int, ...], vector: int, num_warps: int, warps_along: tuple[int, ...] = ()
) -> LinearLayout:
    """The layout of a memory access: ``vector`` elements per thread along ``order[0]`` (the fastest), then lanes,
    then warps, then registers. Warps divide the dimensions ``warps_along`` before others.

    ``vector`` is limited to the size of the fastest dimension. Lanes and warps beyond the tile replicate.
    """
    memory = memory_bits(shape, order)
    fastest = log2_exact(shape[order[0]]) if shape else 0
    in_vector = min(log2_exact(vector), fastest)
    in_warps = log2_exact(num_warps)
    registers, rest = memory[:in_vector], memory[in_vector:]
    if warps_along:
        rest[LANE_BITS:] = _first_along(warps_along, shape, rest[LANE_BITS:])
    threads = rest[: LANE_BITS + in_warps]
    threads += [0] * (LANE_BITS + in_warps - len(threads))
    registers += rest[LANE_BITS + in_warps :]
    return LinearLayout(tuple(registers), tuple(threads[:LANE_BITS]), tuple(threads[LANE_BITS:]), tuple(shape))


# Of a transposing layout by element bits: the (place in ``order``, bit) of each register bit and of each lane bit.
TRANSPOSING = {
    32: (((1, 0), (1, 1)), ((0, 0), (0, 1), (0, 2), (0, 3), (0, 4))),
    16: (((0, 0), (0, 1), (0, 2)), ((1, 0), (1, 1), (1, 2), (1, 3), (1, 4))),
    8: (((0, 0), (1, 0), (1, 1)), ((1, 2), (1, 3), (0, 1), (0, 2), (0, 3))),
}


def transposing(shape: tuple[int, ...], order: Sequence[int], element_bits: int, num_warps: int) -> LinearLayout | None:
    """The layout in which threads read a tile from shared memory along ``order[0]``, and write it along ``order[1]``.

    A warp reads 32 neighboring words, one for each lane, and writes four words of a lane at once: both without bank conflicts if
    lines are swizzled. Halves of words become words: a lane reads eight of its own line at once, and a warp writes 32 neighbors.
    Bytes are read in pairs by ldmatrix (``ldmatrix_access.py``), and four of a lane are written at once. None for other elements,
    and for tiles that are too small or have more dimensions.
    """
    dims = [dim for dim in order if shape[dim] > 1]
    if element_bits not in TRANSPOSING or len(dims) != 2:
        return None
    units, (in_register, in_lanes) = dim_bases(shape), TRANSPOSING[element_bits]
    if any(len(units[dims[place]]) <= bit for place, bit in (*in_register, *in_lanes)):
        return None
    registers, lanes = ([units[dims[place]][bit] for place, bit in part] for part in (in_register, in_lanes))
    rest = [unit for dim in dims for unit in units[dim] if unit not in (*registers, *lanes)]
    in_warps = log2_exact(num_warps)
    warps = (rest + [0] * in_warps)[:in_warps]
    return LinearLayout((*registers, *rest[in_warps:]), tuple(lanes), tuple(warps), tuple(shape))


def _first_along(dims: tuple[int, ...], shape: tuple[int, ...], bits: list[int]) -> list[int]:
    """Bits of an index, those of some dimensions first."""
    units = dim_bases(shape)
    first = {unit for dim in dims for unit in units[dim]}
    return sorted(bits, key=lambda unit: unit not in first)


def spread_vector(size: int, num_warps: int, max_vector: int) -> int:
    """The widest vector, at most ``max_vector``, for which each thread still has an element of a tile of ``size``
    elements.
    """
    return max(1, min(max_vector, size >> (LANE_BITS + log2_exact(num_warps))))
