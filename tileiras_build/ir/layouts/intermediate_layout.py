"""An intermediate layout for a conversion that cannot be split into passes.

A conversion is split along index bits that only registers move, in both layouts (``conversion_plan.py``). If there are
too few, as in the transpose of a large tile, the tile is converted in two steps: registers of the intermediate layout
move some register bits of the source and some of the target, so that each step can be split.
"""

from __future__ import annotations

from .conversion_plan import register_units
from .linear_layout import LANE_BITS, LinearLayout


def intermediate_layout(source: LinearLayout, target: LinearLayout) -> LinearLayout | None:
    """The intermediate layout; None if threads have one element each, several CTAs hold the tile, or no register bit
    moves a single index bit.
    """
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
