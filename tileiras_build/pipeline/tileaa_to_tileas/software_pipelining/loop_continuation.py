"""Conditions that a counted loop still has an iteration ``distance`` iterations ahead.

The index of a later iteration may wrap around at the end of its type, so comparing it alone is wrong. A loop with step
1 ends before it could wrap: its last iterations follow from the bound, computed outside of the loop. For other steps,
each iteration computes whether the loop reaches that iteration, and the next iteration continues from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import SSAValue

from ....ir.casting import cast, is_int_constant
from ....ir.dialects import arith
from ....ir.dialects.op_definition import TableOp
from ..op_insertion import Inserter, is_below_bound, loop_continues_at


class LoopContinuation:
    """``initial``: the loop's additional carried value at entry; ``following``: the same for the next iteration."""

    initial: Sequence[SSAValue] = ()
    next_values: Sequence[SSAValue] = ()

    def __init__(self, loop: TableOp):
        self.loop = loop

    @staticmethod
    def of(loop: TableOp, distance: int, continues: SSAValue, before: Inserter) -> LoopContinuation:
        """The continuation ``distance`` iterations ahead; ``continues``: whether the loop has so many trips.

        ``before`` inserts before the loop.
        """
        if distance == 1:
            return LoopContinuation(loop)
        return (_UnitStepContinuation if is_int_constant(loop.step, 1) else _AnyStepContinuation)(
            loop, distance, continues, before
        )

    def at(self, ahead: SSAValue, insert: Inserter) -> SSAValue:
        """Whether the loop has an iteration with the index ``ahead`` of the body's. The next index needs no value of
        its own.
        """
        return insert(loop_continues_at(self.loop, ahead))


class _UnitStepContinuation(LoopContinuation):
    def __init__(self, loop: TableOp, distance: int, going: SSAValue, before: Inserter):
        super().__init__(loop)
        type = cast(IntegerType, loop.upper.type)
        least = 0 if loop.unsigned else -(1 << type.bitwidth - 1)
        larger = arith.MaxUIOp if loop.unsigned else arith.MaxSIOp
        enough = before(larger.make([loop.upper, before.constant(least + distance, type)], [type]))
        self.end = before.binary("sub", enough, distance)

    def at(self, ahead: SSAValue, insert: Inserter) -> SSAValue:
        """The body's index is below the bound minus the distance."""
        return insert(is_below_bound(self.loop, self.loop.regions[0].blocks[0].args[0], self.end))


class _AnyStepContinuation(LoopContinuation):
    def __init__(self, loop: TableOp, distance: int, going: SSAValue, before: Inserter):
        super().__init__(loop)
        block = loop.regions[0].blocks[0]
        self.initial = [going]
        self.going = block.insert_arg(i1, len(block.args))

    def at(self, ahead: SSAValue, insert: Inserter) -> SSAValue:
        """The loop reached the previous iteration, and continues."""
        self.next_values = [insert.binary("and", self.going, insert(loop_continues_at(self.loop, ahead)))]
        return self.next_values[0]
