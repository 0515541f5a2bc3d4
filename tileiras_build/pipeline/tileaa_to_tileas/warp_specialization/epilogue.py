"""The epilogue: warps that read the accumulators which the MMA issuer fills; in attention they compute the softmax.

The softmax warps rescale the accumulator as soon as they have the factors, and write the left operand chunk by chunk
along k. They arrive after each chunk, and its MMAs run while the next chunk is computed. The warps never synchronize
with each other: a warp overwrites scores of its own lanes only, and the next scores follow the arrival of all warps
after the last chunk.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import parent_block, terminator, unwrap
from ....ir.dialects.nv_tileas.ops import BarrierOp, TmemLoadOp, TmemScaleOp, TmemStoreOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.chained_dots import rescaled_accumulator
from ...analysis.op_queries import REDUCE, is_pure
from ..op_insertion import is_zero_trip
from .consumer import Consumer, erase_dot
from .mma_issuer import TmemConsumer, store_initial_accumulator
from .pipelines import Mainloop, Pipeline, PipelineState, StationaryOperand, accumulators_of


class Epilogue(Consumer):
    """Rewrites the program in place: dots are replaced by reads of their accumulators, each released after its read."""

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        return accumulators_of(self.mainloops, place)

    def emit(self, op: Operation, state: PipelineState) -> None:
        """The MMA issuer has the dots."""

    def _structure(self, op: TableOp, state: PipelineState) -> None:
        mainloop = next((one for one in self.mainloops if one.loops[-1] is op), None)
        if mainloop is None:
            super()._structure(op, state)
        else:
            self._read_buffer(mainloop, op, state)

    def _read_buffer(self, mainloop: Mainloop, loop: TableOp, state: PipelineState) -> None:
        """Wait until a buffer is full, read it, release it. Only the other operations of the loop that filled it remain."""
        accumulator, index, insert = mainloop.accumulator, mainloop.dot.acc.index - 1, state.insert
        state.wait(accumulator)
        stage, initial = state.stage(accumulator), loop.initial[index]
        operands = [initial, accumulator.tile, insert(is_zero_trip(loop)), stage, None]
        insert(TmemStoreOp.make(operands, [], accumulator=True))
        result = insert(TmemLoadOp.make([accumulator.tile, stage], [initial.type]))
        loop.results[index].replace_all_uses_with(result)
        state.release(accumulator)
        state.advance(accumulator)
        mainloop.dot.result.replace_all_uses_with(mainloop.dot.acc)
        erase_dot(mainloop)
        self._keep_others(loop, index, state)

    def _keep_others(self, loop: TableOp, index: int, state: PipelineState) -> None:
        """The loop without an accumulator, or nothing where it only passes values on."""
        block = loop.regions[0].blocks[0]
        _erase_unused(block)
        kept = [other for other in range(len(loop.results)) if other != index]
        values = terminator(block).operands
        if len(block.ops) == 1 and all(values[other] is block.args[1 + other] for other in kept):
            for other in kept:
                loop.results[other].replace_all_uses_with(loop.initial[other])
        else:
            self.rebuild_loop(loop, {index}, [], state)
        loop.detach()
        loop.erase()


def _erase_unused(block: Block) -> None:
    """Erase operations without effects and uses."""
    for op in reversed(list(block.ops)):
        if is_pure(op) and not op.regions and not any(list(result.uses) for result in op.results):
            op.detach()
            op.erase()


class FmhaSoftmax(TmemConsumer):
    """The softmax of chained dots: it reads the result of the first MMA, and writes the left operand of the second one."""

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        return accumulators_of(self.mainloops, place)

    def _wait_for_stationary(self, stationary: StationaryOperand, state: PipelineState) -> None:
        """Only the MMA issuer waits for a left operand in shared memory."""

    def _multiply(self, mainloop: Mainloop, state: PipelineState) -> None:
        dot, accumulator = mainloop.dot, mainloop.accumulator
        if dot.rescaled:
            self._write_lhs(mainloop, state)
        else:
            state.wait(accumulator)
            state.advance(accumulator)
            dot.result.replace_all_uses_with(state.insert(TmemLoadOp.make([accumulator.tile], [dot.result.type])))
        erase_dot(mainloop)

    def _write_lhs(self, mainloop: Mainloop, state: PipelineState) -> None:
        """Rescale the accumulator and write the left operand chunk by chunk. What neither needs is computed after that."""
        dot, accumulator, block = mainloop.dot, mainloop.accumulator, parent_block(mainloop.dot)
        chunks, index = unwrap(accumulator.lhs_written), unwrap(rescaled_accumulator(dot)).argument.index - 1
        self.carried_in_tmem.setdefault(block, []).append((index, mainloop))
        _rescale_accumulator(mainloop, state)
        for part in range(chunks.stage_count):
            operands = [dot.lhs, accumulator.lhs_tile, None, None, chunks.pipeline]
            state.insert(TmemStoreOp.make(operands, [], chunk=part))
        dot.result.replace_all_uses_with(dot.acc)
        _sink_after(block, dot)

    def read_accumulator(self, mainloop: Mainloop, initial: SSAValue, loop: TableOp, state: PipelineState) -> SSAValue:
        accumulator = mainloop.accumulator
        store_initial_accumulator(initial, accumulator, loop)
        state.wait(accumulator)
        if accumulator.parts:
            state.insert(BarrierOp.make([], []))  # the MMAs of other tiles of rows are done with shared memory, too
        result = state.insert(TmemLoadOp.make([accumulator.tile], [initial.type]))
        if mainloop.reuses_accumulator:
            state.release(accumulator)
        state.advance(accumulator)
        return result


def _rescale_accumulator(mainloop: Mainloop, state: PipelineState) -> None:
    """Rescale the accumulator in place. No MMA accumulates into it then: the scores arrived after the last one. In the first iteration
    nothing may have written it; then MMAs start from zero.
    """
    dot, running = mainloop.dot, unwrap(rescaled_accumulator(mainloop.dot))
    dot.operands[2] = running.argument
    if running.scale is None:
        return
    state.insert(TmemScaleOp.make([mainloop.accumulator.tile, running.factor], []))
    running.scale.detach()
    running.scale.erase()


def _sink_after(block: Block, place: Operation) -> None:
    """Move what a block computes before ``place`` for the operations after it, to after ``place``."""
    before = [op for op in block.ops if op.is_before_in_block(place)]
    later: list[Operation] = []
    for op in reversed(before):
        users = {use.operation for result in op.results for use in result.uses}
        if _computes(op) and all(_follows(user, place) or user in later for user in users):
            later.append(op)
    for op in later:
        op.detach()
        block.insert_op_after(op, place)


def _computes(op: Operation) -> bool:
    return op.name == REDUCE or (is_pure(op) and not op.regions)


def _follows(user: Operation, place: Operation) -> bool:
    return user.parent is place.parent and place.is_before_in_block(user)
