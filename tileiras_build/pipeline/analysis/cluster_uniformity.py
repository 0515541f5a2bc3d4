"""Whether the CTAs of a cluster load the same tiles, with equal trip counts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, defining_op, parent_op, unwrap
from ...ir.dialects.nv_tileas.ops import CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_if, is_structured_control_flow
from ..common.rebuilt_loops import control_operands
from .enclosing_control_flow import exits_of
from .sharding_propagation import loop_carried_group


def is_rank_dependent(load: TableOp) -> bool:
    """Whether the tile of a load, or its number of executions, may differ between the CTAs of a cluster."""
    return any(_derives_from_rank(value, set()) for value in _deciding_values(load))


def is_same_in_cluster(tile: SSAValue) -> bool:
    """Whether all CTAs of a cluster compute the same tile."""
    return not _derives_from_rank(tile, set())


def has_uniform_trip_count(load: TableOp) -> bool:
    """Whether all CTAs of a cluster execute a load equally often."""
    return not any(_derives_from_rank(value, set()) for value in _bounds(load))


def _deciding_values(load: TableOp) -> list[SSAValue]:
    """The values that determine the address of a load, and how often it is executed."""
    return [*load.coords, load.view, *_bounds(load)]


def _bounds(load: TableOp) -> list[SSAValue]:
    """The bounds of the loops around a load, and the conditions of branches around it."""
    values: list[SSAValue] = []
    around = parent_op(load)
    while is_structured_control_flow(around):
        values += _control_values(around)
        around = parent_op(around)
    return values


def _control_values(op: TableOp) -> list[SSAValue]:
    """The condition of a branch; the bounds of a loop, and the conditions of branches that leave it or an iteration."""
    if is_if(op):
        return control_operands(op)
    return control_operands(op) + [condition for exit in exits_of(op) for condition in _conditions_inside(exit, op)]


def _conditions_inside(op: Operation, loop: Operation) -> Iterator[SSAValue]:
    around = parent_op(op)
    while around is not loop:
        yield from around.operands if is_if(around) else ()
        around = parent_op(around)


def _derives_from_rank(value: SSAValue, seen: set[SSAValue]) -> bool:
    """Whether a scalar may depend on the rank of the CTA."""
    if value in seen:
        return False
    seen.add(value)
    return isinstance(value.owner, CtaRankOp) or any(_derives_from_rank(source, seen) for source in _sources(value))


def _sources(value: SSAValue) -> list[SSAValue]:
    """The values that a value is computed from, or one of if control flow decides."""
    is_argument = isinstance(value, BlockArgument)
    op = unwrap(value.owner.parent_op()) if is_argument else defining_op(value)
    if not is_structured_control_flow(op):
        return [] if is_argument else list(op.operands)
    return [*chain(*(group for group in loop_carried_group(as_op(op)) if value in group)), *_control_values(as_op(op))]
