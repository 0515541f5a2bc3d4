"""A loop of several dots with one stage: the operands of one dot are copied while another is computed."""

from __future__ import annotations

from xdsl.ir import Operation

from ....ir.casting import parent_block
from ....ir.dialects.nv_tileas.ops import BarrierOp
from ....ir.dialects.op_definition import TableOp
from ..op_insertion import constant_i1, insertion_before, loop_continues_at
from .async_stage_copies import AsyncStageCopies, emit_wait
from .cp_async_loads import CpAsyncLoad


class SingleStageLoop(AsyncStageCopies):
    """One buffer for each operand: the operands of a dot are copied while another dot is computed."""

    def __init__(self, loop: TableOp, loads: list[CpAsyncLoad]):
        super().__init__(loop, loads, 1)
        self.dots = [op for op in self.block.ops if any(load.dot is op for load in loads)]
        self.groups = [[load for load in loads if load.dot is dot] for dot in self.dots]

    def run(self) -> None:
        self.allocate()
        self.stage, self.always = self.before.constant(0), self.before(constant_i1(True))
        if self.runs_again:
            self.before(BarrierOp.make([], []))
        lower = self.loop.lower
        self.copy_all(self.groups[0], lower, self.stage, self.before(loop_continues_at(self.loop, lower)), self.before)
        self._insert_copies()
        self.replace_loads(self.stage)
        parent_block(self.loop).insert_op_after(emit_wait(0), self.loop)

    def _insert_copies(self) -> None:
        """Before the first dot and after every dot but the last, insert the copies for the dot after the next."""
        index = self.block.args[0]
        insertion_points = [self.block.first_op, *self.dots[1:]]
        for place, group in zip(insertion_points[:-1], self.groups[1:]):
            self._insert_barrier(place)
            self.copy_all(group, index, self.stage, self.always, insertion_before(place))
        insert = insertion_before(insertion_points[-1])
        self._insert_barrier(insertion_points[-1])
        following = insert.binary("add", index, self.loop.step)
        self.copy_all(self.groups[0], following, self.stage, insert(loop_continues_at(self.loop, following)), insert)

    def _insert_barrier(self, place: Operation) -> None:
        """Wait until all copies have arrived, and all threads have finished the previous dot."""
        insert = insertion_before(place)
        insert(emit_wait(0))
        insert(BarrierOp.make([], []))
