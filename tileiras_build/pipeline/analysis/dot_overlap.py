"""Whether MMAs of a loop overlap what threads compute for its last one anyway, so that it gains nothing by running an iteration behind."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...ir.casting import ancestor_in, defining_table_op, parent_block
from ...ir.dialects.nv_tileas.types import TmemType
from ...ir.dialects.op_definition import TableOp
from ..mma.dots import accumulates_in_tmem, k_of
from .enclosing_control_flow import is_zero
from .loop_trips import most_trips

# A rotated loop has the first stage of its first iteration, which no MMA overlaps, before it. In the clocks of cubins, gradients of keys
# and values take 5 to 30 % less without it for up to three iterations, and 1 to 9 % more from five on.
SHORT_LOOP_TRIPS = 4
# Columns of computed tiles: with 32, what threads compute for an iteration takes less than its MMAs.
COVERING_COLUMNS = 64


def overlaps_anyway(loop: TableOp, dots: Sequence[TableOp], left: SSAValue) -> bool:
    """Whether threads wait neither for the last of ``dots`` nor for an earlier one that adds to what the loop keeps, while they compute
    ``left``, the left operand of the last one.

    In tensor memory, the MMA of the next iteration that they wait for is issued ahead as well. An iteration behind is better, in a loop that
    is not short, where a left operand overwrites the accumulator of that MMA, ``left`` comes from other threads through shared memory, or
    threads compute less than MMAs take.
    """
    if any(not accumulates_in_tmem(dot) and dot.acc in loop.regions[0].blocks[0].args for dot in dots[:-1]):
        return True
    if not _is_kept(dots[-1]) or not any(_is_kept(dot) for dot in dots[:-1] if dot.acc is not dots[-1].acc):
        return False
    is_narrow = k_of(dots[-1]) < COVERING_COLUMNS
    return is_short(loop) or not (is_narrow or _is_converted(left) or _is_overwritten(dots))


def _is_kept(dot: TableOp) -> bool:
    """Whether a dot adds to tensor memory that the loop neither overwrites nor reads."""
    if not accumulates_in_tmem(dot) or is_zero(dot.accumulate):
        return False
    block = parent_block(dot)
    inside = (ancestor_in(use.operation, block) for use in dot.acc.uses)
    return all(op is None or (accumulates_in_tmem(op) and not is_zero(op.accumulate)) for op in inside)


def is_short(loop: Operation) -> bool:
    """Whether a loop has so few iterations that what it runs once counts more than what each of them gains."""
    most = most_trips(loop)
    return most is not None and most <= SHORT_LOOP_TRIPS


def _is_converted(left: SSAValue) -> bool:
    """Whether a tile has another layout than what it is computed from."""
    while isinstance(op := left.owner, Operation) and len(op.operands) == 1:
        if op.name == "nv_tileas.convert_layout":
            return True
        left = op.operands[0]
    return False


def _is_overwritten(dots: Sequence[TableOp]) -> bool:
    """Whether a left operand has columns of the first accumulator."""
    first = defining_table_op(dots[0].acc).column
    lefts = [dot.lhs for dot in dots if isinstance(dot.lhs.type, TmemType)]
    return any(defining_table_op(left).column == first for left in lefts)
