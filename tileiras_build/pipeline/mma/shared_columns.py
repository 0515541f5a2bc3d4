"""Columns of tensor memory that dots of a kernel share, beside those of dots with equal keys (``dot_buffer_sharing.py``).

Dots that multiply the same left operand, which no innermost loop computes, share its columns: threads write it once, before the first
loop. Where the columns would not suffice otherwise, for all CTAs that are to share an SM (``occupancy``), so do accumulators that are live in
different loops: each is read behind its loop, and a barrier stands before the next one, or each is read in every iteration, and a barrier
stands before each MMA. A left operand may overwrite the accumulator that it is computed from (``tcgen05/overlaid_operands.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from xdsl.ir import Operation, SSAValue

from ...ir.casting import ancestor_in, as_op, parent_block, parent_op
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import ALL_COLUMNS
from ..analysis.dot_buffer_sharing import is_lhs_computed_in_loop
from ..analysis.enclosing_control_flow import (
    continued_dot,
    enclosing_kernel,
    enclosing_loops,
    is_defined_in_loop,
    is_zero,
    only_accumulates,
    summed_dots,
)
from ..analysis.op_queries import DOT, operations_behind
from ..schedule.schedule_attribute import schedule_of


@dataclass
class TmemColumns:
    """The dots of equal keys, in program order, and their columns of tensor memory: of the left operand (0 where it is in shared memory),
    and of the accumulators (0 where they add to those of another dot).

    ``shared_left``, ``shared_accumulators``: the earlier dots that have the same ones. ``shares_columns``: other dots have the accumulators, too.
    """

    dots: list[TableOp]
    left: int
    accumulators: int
    shared_left: TmemColumns | None = None
    shared_accumulators: TmemColumns | None = None
    shares_columns: bool = False

    @property
    def own(self) -> tuple[int, int]:
        """The columns of the left operand and of the accumulators that no earlier dots have."""
        return 0 if self.shared_left else self.left, 0 if self.shared_accumulators else self.accumulators


def share_columns(groups: list[TmemColumns]) -> None:
    """Set what the dots of a kernel share. All groups are given, in program order."""
    if any(dot.rescaled or dot.pair for group in groups for dot in group.dots):
        return
    for index, group in enumerate(groups):
        group.shared_left = next((one for one in groups[:index] if _has_same_left(one, group)), None)
    has_scales = any(dot.lhs_scale is not None for group in groups for dot in group.dots)
    # With all left operands in shared memory, a warp of its own may issue the MMAs, before accumulators are read behind loops.
    if has_scales or not any(group.left or not all(map(only_accumulates, group.dots)) for group in groups):
        return
    if sum(sum(group.own) for group in groups) <= _columns_of_cta(groups):
        return
    continued = {continued_dot(dot) for group in groups for dot in group.dots}
    for index, group in enumerate(groups):
        earlier = [one for one in groups[:index] if continued.isdisjoint((*one.dots, *group.dots))]
        first = next((one for one in earlier if _may_take(one, group, earlier)), None)
        if first is not None:
            group.shared_accumulators, group.shares_columns, first.shares_columns = first, True, True


def _columns_of_cta(groups: list[TmemColumns]) -> int:
    """The columns that each CTA has of those that are to share an SM."""
    ctas = schedule_of(enclosing_kernel(groups[0].dots[0])).occupancy or 1
    return ALL_COLUMNS // ctas


def lhs_of(dot: TableOp) -> SSAValue:
    """The left operand of a dot, in whatever layout."""
    value = dot.lhs
    while isinstance(value.owner, ConvertLayoutOp):
        value = value.owner.operands[0]
    return value


# ---- left operands -----------------------------------------------------------------------------------
def _has_same_left(first: TmemColumns, group: TmemColumns) -> bool:
    """Whether all dots multiply one value, which is written before the first of their loops."""
    if not group.left or first.left != group.left or first.shared_left is not None:
        return False
    dots = [*first.dots, *group.dots]
    if len({lhs_of(dot) for dot in dots}) > 1 or any(map(is_lhs_computed_in_loop, dots)):
        return False
    return all(_follows(dot, loop_without_lhs(first.dots[0])) for dot in dots)


def loop_without_lhs(dot: TableOp) -> TableOp:
    """The outermost loop around a dot that does not compute its left operand."""
    return next(loop for loop in enclosing_loops(dot) if not is_defined_in_loop(dot.lhs, loop))


def _follows(dot: Operation, loop: Operation) -> bool:
    """Whether a dot is in a loop, or in what follows it in its block."""
    place = ancestor_in(dot, parent_block(loop))
    return place is not None and (place is loop or loop.is_before_in_block(place))


# ---- accumulators ------------------------------------------------------------------------------------
def _may_take(first: TmemColumns, group: TmemColumns, earlier: list[TmemColumns]) -> bool:
    """Whether accumulators may have the columns of ``first``, and of those that already share them."""
    if first.shared_accumulators is not None or not group.accumulators or first.accumulators != group.accumulators:
        return False
    sharing = [first, *(one for one in earlier if one.shared_accumulators is first)]
    dots = [dot for one in sharing for dot in one.dots]
    if not all(
        _ends_with_loop(dot) and dot.result.type.get_shape() == group.dots[0].result.type.get_shape()
        for dot in (*dots, *group.dots)
    ):
        return False
    return all(_are_disjoint(parent_op(one), parent_op(other)) for one, other in product(dots, group.dots))


def _ends_with_loop(dot: TableOp) -> bool:
    """Whether threads have read the accumulators of a dot behind its loop, or in each iteration."""
    return not only_accumulates(dot) or len(summed_dots(dot)) == 1


def _are_disjoint(one: Operation, other: Operation) -> bool:
    """Whether neither loop is the other, or in it."""
    return not one.is_ancestor(other) and not other.is_ancestor(one)


# ---- left operands over accumulators -----------------------------------------------------------------
def accumulator_under(dot: TableOp) -> TableOp | None:
    """The dot whose accumulator the left operand of a dot overwrites: of those that it is computed from, the last one."""
    block = parent_block(dot)
    behind = operations_behind([dot.lhs], block)
    return next((as_op(op) for op in reversed(list(block.ops)) if op in behind and _is_fresh(op)), None)


def _is_fresh(op: Operation) -> bool:
    """Whether an operation is a dot that overwrites an accumulator, which threads read and no other dot adds to."""
    if op.name != DOT or as_op(op).tmem_columns is None:
        return False
    return is_zero(as_op(op).acc) and len(summed_dots(as_op(op))) == 1
