"""Move the code after an early return to the other arm of its branch, so that a block exits only at its end."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region

from ...ir.casting import parent_block, terminator
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_if, is_return, is_yield


def nest_early_returns(block: Block, yield_op: type[TableOp]) -> None:
    """Nest the code after branches that return in one arm; ``block`` is the body of a kernel, or continues to its end.

    A return nested more deeply, in an arm that continues, or in a loop, is unchanged.
    """
    for if_op in filter(is_if, list(block.ops)):
        arms = [region.blocks[0] for region in if_op.regions]
        returning = [arm for arm in arms if is_return(terminator(arm))]
        going = [arm for arm in arms if is_yield(terminator(arm))]
        if len(returning) == len(going) == 1:
            _move_remainder(if_op, going[0])
            for arm in arms:
                terminator(arm).detach()
                arm.add_op(yield_op.make([[]], []))
            _replace(if_op, arms)
            for arm in arms:
                nest_early_returns(arm, yield_op)
            return


def _move_remainder(if_op: Operation, arm: Block) -> None:
    """Move the operations after a branch, except the terminator, to the end of an arm, and use that arm's values."""
    end = terminator(arm)
    for result, value in zip(if_op.results, end.operands):
        result.replace_all_uses_with(value)
    while (op := if_op.next_op) is not None and op is not parent_block(if_op).last_op:
        op.detach()
        arm.insert_op_before(op, end)


def _replace(if_op: Operation, arms: list[Block]) -> None:
    """Replace a branch by one without results."""
    regions = [Region(arm.parent.detach_block(arm)) for arm in arms if arm.parent is not None]
    made = type(if_op).create(operands=if_op.operands, regions=regions, attributes=dict(if_op.attributes))
    parent_block(if_op).insert_op_before(made, if_op)
    if_op.detach()
    if_op.erase()
