"""Moves the code behind an early return to the other arm of its branch, so that a block is left only at its end."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region

from ...ir.casting import parent_block, terminator
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_if, is_return, is_yield


def nest_early_returns(block: Block, yield_op: type[TableOp]) -> None:
    """Of choices that return in one arm. ``block``: that of a kernel, or one that goes on to its end.

    A return that stands deeper in an arm which goes on, or in a loop, stays where it is.
    """
    for choice in filter(is_if, list(block.ops)):
        arms = [region.blocks[0] for region in choice.regions]
        returning = [arm for arm in arms if is_return(terminator(arm))]
        going = [arm for arm in arms if is_yield(terminator(arm))]
        if len(returning) == len(going) == 1:
            _move_remainder(choice, going[0])
            for arm in arms:
                terminator(arm).detach()
                arm.add_op(yield_op.make([[]], []))
            _replace(choice, arms)
            for arm in arms:
                nest_early_returns(arm, yield_op)
            return


def _move_remainder(if_op: Operation, arm: Block) -> None:
    """What follows a choice, but for the end of its block, to before the end of an arm, whose values it takes."""
    end = terminator(arm)
    for result, value in zip(if_op.results, end.operands):
        result.replace_all_uses_with(value)
    while (op := if_op.next_op) is not None and op is not parent_block(if_op).last_op:
        op.detach()
        arm.insert_op_before(op, end)


def _replace(if_op: Operation, arms: list[Block]) -> None:
    """The choice without results."""
    regions = [Region(arm.parent.detach_block(arm)) for arm in arms if arm.parent is not None]
    made = type(if_op).create(operands=if_op.operands, regions=regions, attributes=dict(if_op.attributes))
    parent_block(if_op).insert_op_before(made, if_op)
    if_op.detach()
    if_op.erase()
