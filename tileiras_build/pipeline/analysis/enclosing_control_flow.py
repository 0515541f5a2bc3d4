"""The loops, branches and returns around an operation."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...ir.casting import as_op, parent_block, parent_op, terminator, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    is_agent_switch,
    is_break,
    is_continue,
    is_counted_loop,
    is_function,
    is_if,
    is_loop,
    is_loop_exit,
    is_mma,
    is_return,
    is_structured_control_flow,
    preserves_zero,
    waits_for_grid,
)
from .op_queries import DOT


def is_accumulation_loop(dot: TableOp) -> bool:
    """Whether the loop only accumulates into the accumulator, and has no other dot."""
    return only_accumulates(dot) and len(_dots_of_loop(dot)) == 1


def _dots_of_loop(dot: TableOp) -> list[Operation]:
    return [op for op in walk(parent_block(dot)) if is_mma(op) and op.results]


def only_accumulates(dot: TableOp) -> bool:
    """Whether the loop uses the accumulator for this dot, or for several in turn, alone, and the result for the next iteration
    alone.
    """
    block = parent_block(dot)
    dots = summed_dots(dot)
    first, last = dots[0], dots[-1]
    argument = first.acc
    if not isinstance(argument.owner, Block) or argument.owner is not block or len(list(argument.uses)) != 1:
        return False
    uses = list(last.result.uses)
    return len(uses) == 1 and uses[0].operation is block.last_op and uses[0].index == argument.index - 1


def summed_dots(dot: TableOp) -> list[TableOp]:
    """The dots of a block that accumulate one after the other, with no other use of their results; first the one from the
    initial accumulator.
    """
    found = [dot]
    while _continues(found[0], before := found[0].acc.owner):
        found.insert(0, as_op(before))
    while len(uses := list(found[-1].result.uses)) == 1 and _continues(uses[0].operation, found[-1]):
        found.append(as_op(uses[0].operation))
    return found


def _continues(dot: Operation, before: Operation | Block) -> bool:
    """Whether a dot of the same block adds to the result of another one, which has no other use."""
    if isinstance(before, Block) or before.parent is not dot.parent or not all(map(_is_plain_dot, (dot, before))):
        return False
    result = before.results[0]
    return as_op(dot).acc is result and len(list(result.uses)) == 1


def _is_plain_dot(op: Operation | Block) -> bool:
    return isinstance(op, Operation) and op.name == DOT and as_op(op).lhs_scale is None


def continued_dot(dot: TableOp) -> TableOp | None:
    """The dot of the loop before to whose accumulator that of this dot's loop adds: nothing else uses it, and no other dot comes between."""
    if summed_dots(dot)[0] is not dot or not only_accumulates(dot) or not is_counted_loop(loop := parent_op(dot)):
        return None
    initial = _before_conversions(as_op(loop).initial[dot.acc.index - 1])
    if initial is None or not is_counted_loop(before := initial.owner) or before.parent is not loop.parent:
        return None
    last = terminator(before.regions[0].blocks[0]).operands[initial.index].owner
    if not _is_plain_dot(last) or not _is_plain_dot(dot) or not only_accumulates(as_op(last)):
        return None
    return None if any(map(_has_dot, _between(before, loop))) else as_op(last)


def _before_conversions(value: SSAValue) -> OpResult | None:
    """The value before conversions of its layout; None where something else uses it, or no operation computes it."""
    while isinstance(value, OpResult) and len(list(value.uses)) == 1:
        if not isinstance(value.owner, ConvertLayoutOp):
            return value
        value = value.owner.operands[value.index]
    return None


def _between(first: Operation, last: Operation) -> Iterator[Operation]:
    """The operations between two of a block."""
    op = first.next_op
    while op is not None and op is not last:
        yield op
        op = op.next_op


def _has_dot(op: Operation) -> bool:
    return any(one.name == DOT for one in walk(op))


def accumulates_from_zero(dot: TableOp) -> bool:
    """Whether a loop only accumulates into the accumulator, which is zero before it."""
    return is_accumulation_loop(dot) and is_zero(as_op(parent_op(dot)).initial[dot.acc.index - 1])


def enclosing_control_flow(op: Operation) -> list[TableOp] | None:
    """The loops and branches around an operation, outermost first; None if it is in a region of another kind."""
    found: list[TableOp] = []
    around = parent_op(op)
    while not _is_control_root(around):
        if not is_structured_control_flow(around):
            return None
        found.insert(0, around)
        around = parent_op(around)
    return found


def enclosing_loops(op: Operation) -> list[TableOp]:
    """The loops around an operation, outermost first."""
    return [around for around in unwrap(enclosing_control_flow(op)) if is_loop(around)]


def branches_around(op: Operation) -> list[TableOp]:
    """The branches around an operation, outermost first."""
    return [around for around in unwrap(enclosing_control_flow(op)) if is_if(around)]


def is_in_counted_loop(op: Operation) -> bool:
    """Whether an operation is executed in each iteration of a counted loop, in all of it."""
    loop = parent_op(op)
    return is_counted_loop(loop) and has_no_early_exit(loop)


def exits_of(loop: Operation, *, breaks: bool | None = None) -> list[Operation]:
    """The operations that end an iteration of a loop, or the loop; only those that end the loop (``breaks``), or that do not."""
    found = [op for op in walk(loop) if is_loop_exit(op) and loop_of(op) is loop]
    return [op for op in found if breaks is None or is_break(op) is breaks]


def loop_of(op: Operation) -> Operation:
    """The innermost loop around an operation."""
    around = parent_op(op)
    while not is_loop(around):
        around = parent_op(around)
    return around


def early_returns(func: Operation) -> list[Operation]:
    """The returns of a kernel except the one at its end."""
    return [op for op in walk(func) if is_return(op) and op is not terminator(func.regions[0].blocks[0])]


def is_grid_wait(op: Operation) -> bool:
    """Whether an operation waits for the grids that this one depends on."""
    return waits_for_grid(op) and as_op(op).action == "wait"


def _is_control_root(op: Operation) -> bool:
    """Whether an operation is a root of control flow: a kernel, or its partitions."""
    return is_function(op) or is_agent_switch(op)


def enclosing_kernel(op: Operation) -> Operation:
    """The function around an operation."""
    while not is_function(op):
        op = parent_op(op)
    return op


def has_no_early_exit(loop: Operation) -> bool:
    """Whether a loop executes all its iterations completely."""
    block = loop.regions[0].blocks[0]
    last = block.last_op
    if last is None or not is_continue(last):
        return False
    return not any(is_return(op) or (is_loop_exit(op) and op is not last and loop_of(op) is loop) for op in walk(block))


def is_defined_in_loop(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is defined in the body of a loop."""
    place = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while place is not None and (around := place.parent_op()) is not None:
        if around is loop:
            return True
        place = around.parent
    return False


def is_zero(value: SSAValue) -> bool:
    """Whether a tile is known to be all zeros."""
    while isinstance(value.owner, Operation) and preserves_zero(value.owner):
        value = value.owner.operands[0]
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return False
    constant = value.owner.properties["value"]
    if isinstance(constant, IntegerAttr | FloatAttr):
        return constant.value.data == 0
    return hasattr(constant, "as_array") and not constant.as_array().any()
