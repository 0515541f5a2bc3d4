"""A layout between two that have too little in common for a tile to go from one to the other in small parts.

A tile is cut into parts along index bits that only registers move, in both layouts (``conversion.py``). Where there are
too few, as in the transpose of a large tile, it goes in two steps: registers of the layout between move some such bits of
the source's and some of the target's, so that each step has bits to cut along.
"""

from __future__ import annotations

from .conversion_plan import register_units
from .linear_layout import LANE_BITS, LinearLayout


def intermediate_layout(source: LinearLayout, target: LinearLayout) -> LinearLayout | None:
    """The layout between; None where threads hold one element each, several CTAs the tile, or no register a bit alone."""
    threads = LANE_BITS + len(source.warps)
    count = source.index_bits - threads
    mine, theirs = register_units(source), register_units(target)
    if count < 2 or source.blocks or target.blocks or not mine or not theirs:
        return None
    chosen = mine[: count // 2]
    chosen += [unit for unit in theirs if unit not in chosen][: count - len(chosen)]
    units = [1 << bit for bit in range(source.index_bits)]
    chosen += [unit for unit in units if unit not in chosen][: count - len(chosen)]
    others = [unit for unit in units if unit not in chosen]
    return LinearLayout(tuple(sorted(chosen)), tuple(others[:LANE_BITS]), tuple(others[LANE_BITS:]), source.shape)
