"""Layouts of tiles that each warp copies for itself: its elements in vectors, and apart from those of other warps."""

from __future__ import annotations

from collections.abc import Sequence

from .linear_layout import LANE_BITS, LinearLayout, log2_exact, memory_bits


def coalesced_in_warps(layout: LinearLayout, order: Sequence[int], vector: int) -> LinearLayout | None:
    """The elements that each warp has in a layout, with up to ``vector`` neighbors in memory for each lane; None where a bit of a register or
    lane moves along several bits of the index.
    """
    ours = {basis for basis in (*layout.registers, *layout.lanes) if basis}
    units = memory_bits(layout.shape, order)
    if not ours.issubset(units):
        return None
    run = next((bit for bit, unit in enumerate(units) if unit not in ours), len(units))
    low = min(run, log2_exact(vector))
    bits = [unit for unit in units if unit in ours]
    lanes = bits[low : low + LANE_BITS]
    bases = {"register": bits[:low] + bits[low + LANE_BITS :], "lane": lanes, "warp": layout.warps}
    return LinearLayout.from_bases(bases, layout.shape)


def separate_warps(layout: LinearLayout) -> LinearLayout:
    """A layout with one more dimension, the first, along which warps with the same elements have a tile each; the same one where each
    element has one warp.
    """
    free, found = layout.free_bits("warp"), list[int]()
    if not free:
        return layout
    copies = 1
    for bit, basis in enumerate(layout.warps):
        is_free = free >> bit & 1
        found.append(basis ^ (copies * layout.size if is_free else 0))
        copies <<= is_free
    return LinearLayout(layout.registers, layout.lanes, tuple(found), (copies, *layout.shape))
