"""A loop whose tiles are copied several iterations ahead to a ring of stages."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import parent_block, terminator, unwrap
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import BarrierOp
from ...analysis.op_queries import is_pure
from ...analysis.resource_model import MIN_STAGES
from ..op_insertion import (
    Inserter,
    build_if,
    insert_before,
    insertion_at_end,
    insertion_before,
    is_first_of_group,
    loop_continues_at,
)
from .async_stage_copies import AsyncStageCopies, emit_wait, next_stage
from .cp_async_loads import CpAsyncLoad
from .loop_continuation import LoopContinuation
from .loop_iteration import replace_loop


class MultistageLoop(AsyncStageCopies):
    """Replaces a loop by its pipelined version."""

    def run(self) -> None:
        self.allocate()
        if self.runs_again:
            self.before(BarrierOp.make([], []))
        going = self._prologue()
        read, write = (self.block.insert_arg(i32, len(self.block.args)) for _ in range(2))
        runs = LoopContinuation.of(self.loop, self.stages - 1, going, self.before)
        self._start_of_body(write, runs)
        self.replace_loads(read)
        self._end_of_body(read, write, runs)
        self._replace_loop(runs)

    def _prologue(self) -> SSAValue:
        """Copy the first stages - 1 tiles; copies past the end are disabled. Return whether the loop has so many trips.

        A loop that has ended does not continue where the index wraps around.
        """
        index = self.loop.lower
        enabled = self.before(loop_continues_at(self.loop, index))
        self._start_first(0, index, self.before.constant(0), enabled)
        for stage in range(1, self.stages - 1):
            index = self.before.binary("add", index, self.loop.step)
            enabled = self.before.binary("and", enabled, self.before(loop_continues_at(self.loop, index)))
            self._start_first(stage, index, self.before.constant(stage), enabled)
        return enabled

    def _start_first(self, stage: int, index: SSAValue, place: SSAValue, enabled: SSAValue) -> None:
        """The copies of an iteration before the first one, with those of the groups that begin with it."""
        for load in (load for load in self.loads if load.steps > 1 and stage % load.steps == 0):
            own = self.before.constant(stage // load.steps)
            self.start_copies([load], index, own, enabled, self.before)
        self.copy_all(self._copy_single_iteration, index, place, enabled, self.before)

    @property
    def _copy_single_iteration(self) -> list[CpAsyncLoad]:
        """The copies of tiles that are different in each iteration."""
        return [load for load in self.loads if load.steps == 1]

    def _start_groups(self, ahead: SSAValue, enabled: SSAValue, insert: Inserter) -> None:
        """The copies of the groups that begin with an iteration."""
        for steps in dict.fromkeys(load.steps for load in self.loads if load.steps > 1):
            block = Block()
            inside = insertion_at_end(block)
            for load in (load for load in self.loads if load.steps == steps):
                self.start_copies([load], ahead, self.tile_of(load, ahead, inside), enabled, inside)
            insert(build_if(is_first_of_group(ahead, steps, insert), block))

    def _start_of_body(self, write: SSAValue, runs: LoopContinuation) -> None:
        barrier = self._own_barrier()
        if barrier is None:
            barrier = BarrierOp.make([], [])
            insert_before(barrier, unwrap(self.block.first_op))
        insert_before(emit_wait(self.stages - 2), barrier)
        first = unwrap(barrier.next_op)
        insert = insertion_before(self._copy_insertion_point(first))
        ahead: SSAValue = self.block.args[0]
        for _ in range(self.stages - 1):
            ahead = insert.binary("add", ahead, self.loop.step)
        enabled = runs.at(ahead, insert)
        self._start_groups(ahead, enabled, insert)
        self.copy_all(self._copy_single_iteration, ahead, write, enabled, insert)

    def _own_barrier(self) -> Operation | None:
        """The first barrier of the loop, if nothing before it needs a tile; what is only computed from one is put behind it."""
        barrier = next((op for op in self.block.ops if isinstance(op, BarrierOp)), None)
        if barrier is None:
            return None
        loads: set[Operation] = {load.load for load in self.loads}
        late: list[Operation] = []
        for op in self.block.ops:
            if op is barrier:
                break
            if op in loads or any(value.owner in (*loads, *late) for inner in walk(op) for value in inner.operands):
                late.append(op)
        if not all(op in loads or is_pure(op) for op in late):
            return None
        for op in reversed(late):
            op.detach()
            self.block.insert_op_after(op, barrier)
        return barrier

    def _copy_insertion_point(self, first: Operation) -> Operation:
        """The operation after the first dot, so that address computation does not delay that dot, where the copies have
        another iteration to arrive.
        """
        dots = {unwrap(self.block.find_ancestor_op_in_block(load.dot)) for load in self.loads}
        follows = next(op.next_op for op in self.block.ops if op in dots)
        return first if self.stages == MIN_STAGES else unwrap(follows)

    def _end_of_body(self, read: SSAValue, write: SSAValue, runs: LoopContinuation) -> None:
        last = terminator(self.block)
        insert = insertion_before(last)
        stages = [next_stage(stage, self.stages, insert) for stage in (read, write)]
        last.operands = [*last.operands, *stages, *runs.next_values]

    def _replace_loop(self, runs: LoopContinuation) -> None:
        starts = [self.before.constant(0), self.before.constant(self.stages - 1), *runs.initial]
        new_op = replace_loop(self.loop, starts)
        parent_block(new_op).insert_op_after(emit_wait(0), new_op)
