"""The values of a loop's body for a later iteration, and loops that carry more values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ....ir.casting import defining_op, terminator
from ....ir.dialects.op_definition import TableOp
from ...analysis.op_queries import is_outside
from ...common.rebuilt_loops import control_operands, rebuilt
from ..op_insertion import Inserter, insertion_before, loop_continues_at


class LoopIteration:
    """Values of a loop's body for an iteration whose arguments are given, and for later ones."""

    def __init__(self, block: Block, arguments: list[SSAValue], insert: Inserter, step: SSAValue):
        self.block, self.insert, self.step = block, insert, step
        self.known: dict[tuple[SSAValue, int], SSAValue] = {
            (argument, 0): value for argument, value in zip(block.args, arguments)
        }

    def index(self, distance: int) -> SSAValue:
        return self.at(self.block.args[0], distance)

    def at(self, value: SSAValue, distance: int) -> SSAValue:
        """A value for the iteration ``distance`` iterations later."""
        if is_outside(value, self.block):
            return value
        if (value, distance) not in self.known:
            self._compute(value, distance)
        return self.known[value, distance]

    def _compute(self, value: SSAValue, distance: int) -> None:
        if not isinstance(value, BlockArgument):
            op = defining_op(value)
            clone = _clone(op, [self.at(operand, distance) for operand in op.operands])
            self.insert(clone)
            self.known.update(((old, distance), new) for old, new in zip(op.results, clone.results))
        elif value.index == 0:
            self.known[value, distance] = self.insert.binary("add", self.at(value, distance - 1), self.step)
        else:
            passed = terminator(self.block).operands[value.index - 1]
            self.known[value, distance] = self.at(passed, distance - 1)


def before_first_trip(
    loop: TableOp, count: int, insert: Inserter, issue: Callable[[LoopIteration, int, SSAValue], None]
) -> SSAValue:
    """Before a loop, ``issue`` what belongs to each of its first iterations, by distance, if there is one.

    Returns whether the loop has more trips than those.
    """
    iteration = LoopIteration(loop.regions[0].blocks[0], [loop.lower, *loop.initial], insert, loop.step)
    enabled: SSAValue = insert(loop_continues_at(loop, loop.lower))
    for distance in range(count):
        issue(iteration, distance, enabled)
        continues = insert(loop_continues_at(loop, iteration.index(distance + 1)))
        enabled = insert.binary("and", enabled, continues)
    return enabled


def _clone(op: Operation, operands: list[SSAValue]) -> Operation:
    types = [result.type for result in op.results]
    return type(op).create(
        operands=operands, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes)
    )


def replace_loop(loop: TableOp, initial: Sequence[SSAValue]) -> TableOp:
    """Replace a loop by one that carries more values, for which its body has arguments and passes values already."""
    operands: list[SSAValue | list[SSAValue]] = [*control_operands(loop), [*loop.initial, *initial]]
    new_op = rebuilt(loop, operands, range(len(loop.results)), [value.type for value in initial])
    insertion_before(loop)(new_op)
    loop.detach()
    loop.erase()
    return new_op
