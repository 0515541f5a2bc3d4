"""Whether the CTAs of a cluster load the same tiles, with equal trip counts."""

from __future__ import annotations

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import cast, defining_op, parent_op, terminator
from ...ir.dialects.nv_tileas.ops import CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop, is_structured_control_flow


def is_rank_dependent(load: TableOp) -> bool:
    """Whether the tile of a load, or its number of executions, may differ between the CTAs of a cluster."""
    return any(_derives_from_rank(value, set()) for value in _deciding_values(load))


def has_uniform_trip_count(load: TableOp) -> bool:
    """Whether all CTAs of a cluster execute a load equally often."""
    return not any(_derives_from_rank(value, set()) for value in _bounds(load))


def _deciding_values(load: TableOp) -> list[SSAValue]:
    """The values that determine the address of a load, and how often it is executed."""
    return [*load.coords, *_bounds(load)]


def _bounds(load: TableOp) -> list[SSAValue]:
    """The bounds of the loops around a load, and the conditions of branches around it."""
    values: list[SSAValue] = []
    around = parent_op(load)
    while is_structured_control_flow(around):
        values += [around.lower, around.upper, around.step] if is_counted_loop(around) else around.operands
        around = parent_op(around)
    return values


def _derives_from_rank(value: SSAValue, seen: set[SSAValue]) -> bool:
    """Whether a scalar may depend on the rank of the CTA."""
    if value in seen:
        return False
    seen.add(value)
    sources = _carried(value) if isinstance(value, BlockArgument) else list(defining_op(value).operands)
    return isinstance(value.owner, CtaRankOp) or any(_derives_from_rank(source, seen) for source in sources)


def _carried(argument: BlockArgument) -> list[SSAValue]:
    block = argument.block
    loop = cast(Operation, block.parent_op())
    if not is_counted_loop(loop):
        return []
    if argument.index == 0:
        return [loop.lower, loop.upper, loop.step]
    return [loop.initial[argument.index - 1], terminator(block).operands[argument.index - 1]]
