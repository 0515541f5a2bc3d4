"""Give what follows a return a place in the other arm of its choice, so that a block is left at its end alone."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region

from ...ir.casting import block_of, last_op
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_choice, is_return, is_yield


def nest_returns(block: Block, yield_op: type[TableOperation]) -> None:
    """Of choices that return in one arm. ``block``: that of a kernel, or one that goes on to its end.

    A return that stands deeper in an arm which goes on, or in a loop, stays where it is.
    """
    for choice in filter(is_choice, list(block.ops)):
        arms = [region.blocks[0] for region in choice.regions]
        returning = [arm for arm in arms if is_return(last_op(arm))]
        going = [arm for arm in arms if is_yield(last_op(arm))]
        if len(returning) == len(going) == 1:
            _move_rest(choice, going[0])
            for arm in arms:
                last_op(arm).detach()
                arm.add_op(yield_op.make([[]], []))
            _replace(choice, arms)
            for arm in arms:
                nest_returns(arm, yield_op)
            return


def _move_rest(choice: Operation, arm: Block) -> None:
    """What follows a choice, but for the end of its block, to before the end of an arm, whose values it takes."""
    end = last_op(arm)
    for result, value in zip(choice.results, end.operands):
        result.replace_all_uses_with(value)
    while (op := choice.next_op) is not None and op is not block_of(choice).last_op:
        op.detach()
        arm.insert_op_before(op, end)


def _replace(choice: Operation, arms: list[Block]) -> None:
    """The choice without results."""
    regions = [Region(arm.parent.detach_block(arm)) for arm in arms if arm.parent is not None]
    made = type(choice).create(operands=choice.operands, regions=regions, attributes=dict(choice.attributes))
    block_of(choice).insert_op_before(made, choice)
    choice.detach()
    choice.erase()
