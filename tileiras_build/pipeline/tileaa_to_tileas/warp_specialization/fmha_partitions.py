"""Partitions of chained dots (attention): one thread issues both MMAs, the other warps compute the softmax.

The softmax warps rescale the accumulator as soon as they have the factors, and write the left operand chunk by chunk
along k. They arrive after each chunk, and its MMAs run while the next chunk is computed. The warps never synchronize
with each other: a warp overwrites scores of its own lanes only, and the next scores follow the arrival of all warps
after the last chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, parent_block, unwrap
from ....ir.dialects.nv_tileas.ops import (
    AdvanceOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    TmemLoadOp,
    TmemScaleOp,
    TmemStoreOp,
)
from ....ir.dialects.op_definition import TableOp
from ...analysis.chained_dots import rescaled_accumulator
from ...analysis.enclosing_control_flow import is_zero
from ...analysis.op_queries import is_pure
from ..op_insertion import Inserter, constant_i1, insert_before, is_not_first_iteration
from .consumer_operands import erase_tma_operand_load
from .consumer_partition import ConsumerPartition
from .consumer_tmem_mma import TmemAccumulators, store_initial_accumulator, wait_for_accumulator
from .mma_pipelines import (
    MmaPipeline,
    PipelineResource,
    StationaryOperand,
    Tokens,
    accumulators_of,
    async_mma_attributes,
    lhs_tiles_of,
    stage_of,
    stages_of,
    stationary_operands_of,
    tmem_mma_attributes,
)
from .partition_slice import PartitionSlice

REDUCE = "nv_tileas.reduce"


class FmhaMmaPartition(PartitionSlice):
    """Issues the MMAs of all chained dots."""

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        again = [ring.accumulator for ring in self.mma_pipelines if ring.dot.rescaled and ring.is_reused]
        accumulators = [acc for acc in accumulators_of(self.mma_pipelines, loop) if acc in again]
        return [*stages_of(self.mma_pipelines, loop), *lhs_tiles_of(self.mma_pipelines, loop), *accumulators]

    def exit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """After a loop of dots its accumulator is complete, and after its last reader the left operand is released."""
        for ring in self.mma_pipelines:
            if ring.loops[-1] is op and ring.dot.rescaled:
                self._commit_accumulator(ring, insert, tokens)
        for stationary in stationary_operands_of(self.mma_pipelines):
            if stationary.loops and self._readers(stationary)[-1] is op:
                token = tokens[stationary.stages]
                insert(self.mma_pipelines[0].tmem_ops.release.make([stationary.stages.pipeline, token], []))
                tokens[stationary.stages] = insert(AdvanceOp.make([stationary.stages.pipeline, token], [i32]))

    def _commit_accumulator(self, ring: MmaPipeline, insert: Inserter, tokens: Tokens) -> None:
        """Commit after the last read of the accumulator: there may be no MMA in between to wait for."""
        acc = ring.accumulator
        if ring.is_reused:
            insert(ring.tmem_ops.acquire.make([acc.pipeline, tokens[acc]], []))
            tokens[acc] = insert(AdvanceOp.make([acc.pipeline, tokens[acc]], [i32]))
        insert(ring.tmem_ops.commit.make([acc.pipeline], []))

    def _readers(self, stationary: StationaryOperand) -> list[Operation]:
        depth = len(stationary.enclosing_ops)
        return [ring.enclosing_ops[depth] for ring in self.mma_pipelines if ring.stationary is stationary]

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        for stationary in stationary_operands_of(self.mma_pipelines):
            if op is stationary.operand_load.load:
                self._wait_for_stationary(stationary, insert, tokens)
        ring = next((ring for ring in self.mma_pipelines if op is ring.dot), None)
        if ring is not None:
            self._issue(ring, insert, tokens)

    def _wait_for_stationary(self, stationary: StationaryOperand, insert: Inserter, tokens: Tokens) -> None:
        stages = stationary.stages
        insert(ConsumerWaitOp.make([stages.pipeline, tokens[stages]], []))
        if not stationary.loops:
            tokens[stages] = insert(AdvanceOp.make([stages.pipeline, tokens[stages]], [i32]))

    def _issue(self, mma_pipeline: MmaPipeline, insert: Inserter, tokens: Tokens) -> None:
        token = tokens[mma_pipeline.stages]
        insert(ConsumerWaitOp.make([mma_pipeline.pipeline, token], []))
        stage = stage_of(insert, mma_pipeline.pipeline, token)
        if mma_pipeline.dot.rescaled:
            self._issue_k_chunks(mma_pipeline, stage, insert, tokens)
        else:
            left = unwrap(unwrap(mma_pipeline.stationary).operand_load.buffer)
            read = [left, insert(constant_i1(False)), insert.constant(0), stage]
            self._multiply(
                mma_pipeline, read, [mma_pipeline.pipeline, token, mma_pipeline.accumulator.pipeline], insert
            )
        tokens[mma_pipeline.stages] = insert(AdvanceOp.make([mma_pipeline.pipeline, token], [i32]))

    def _issue_k_chunks(self, mma_pipeline: MmaPipeline, stage: SSAValue, insert: Inserter, tokens: Tokens) -> None:
        """Issue the MMAs of each chunk of the left operand once it is written. The last ones release the stage."""
        left, token = unwrap(mma_pipeline.accumulator.lhs_written), tokens[mma_pipeline.stages]
        adds = self._accumulate_flag(mma_pipeline, insert)
        for part in range(left.k_chunks):
            insert(ConsumerWaitOp.make([left.pipeline, tokens[left]], []))
            tokens[left] = insert(AdvanceOp.make([left.pipeline, tokens[left]], [i32]))
            completion = [mma_pipeline.pipeline, token] if part + 1 == left.k_chunks else [None, None]
            read = [
                unwrap(mma_pipeline.accumulator.lhs_tile),
                adds if part == 0 else insert(constant_i1(True)),
                None,
                stage,
            ]
            self._multiply(mma_pipeline, read, [*completion, None], insert, chunk=(part, left.k_chunks))

    def _multiply(
        self,
        mma_pipeline: MmaPipeline,
        read: Sequence[SSAValue | None],
        completion: Sequence[SSAValue | None],
        insert: Inserter,
        chunk: tuple[int, int] | None = None,
    ) -> None:
        left, adds, *stages = read
        [right] = [operand_load.buffer for operand_load in mma_pipeline.operand_loads]
        operands = [left, right, mma_pipeline.accumulator.tile, adds, *stages, *completion, None, None, None, None]
        attributes = tmem_mma_attributes(mma_pipeline.dot) | ({} if chunk is None else {"chunk": chunk})
        insert(mma_pipeline.tmem_ops.issue.make(operands, [], async_mma_attributes(mma_pipeline), **attributes))

    def _accumulate_flag(self, ring: MmaPipeline, insert: Inserter) -> SSAValue:
        """Whether an MMA accumulates, or overwrites an accumulator that starts from zero."""
        loop = as_op(ring.loops[-1])
        if not is_zero(loop.initial[unwrap(rescaled_accumulator(ring.dot)).argument.index - 1]):
            return insert(constant_i1(True))
        later = is_not_first_iteration(loop, loop.regions[0].blocks[0].args[0])
        later.operands = [self.value(operand) for operand in later.operands]
        return insert(later)


class FmhaSoftmaxPartition(ConsumerPartition):
    """The softmax: it reads the result of the first MMA, and writes the left operand of the second one."""

    def __init__(self, rings: list[MmaPipeline]):
        super().__init__(rings)
        self.accumulators: FmhaAccumulators = FmhaAccumulators()

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        return accumulators_of(self.mma_pipelines, loop)

    def _wait_for_stationary(self, stationary: StationaryOperand, tokens: Tokens) -> None:
        """Only the thread that issues MMAs waits for a left operand in shared memory."""

    def _emit_dot(self, mma_pipeline: MmaPipeline, tokens: Tokens) -> None:
        dot = mma_pipeline.dot
        if dot.rescaled:
            self.accumulators.write_lhs(mma_pipeline)
        else:
            wait_for_accumulator(mma_pipeline.accumulator, dot, tokens)
            loaded = TmemLoadOp.make([mma_pipeline.accumulator.tile], [dot.result.type])
            dot.result.replace_all_uses_with(insert_before(loaded, dot))
        dot.detach()
        dot.erase()
        for operand_load in mma_pipeline.operand_loads:
            erase_tma_operand_load(operand_load)


class FmhaAccumulators(TmemAccumulators):
    """Accumulators that another partition completes."""

    def write_lhs(self, mma_pipeline: MmaPipeline) -> None:
        """Rescale the accumulator and write the left operand chunk by chunk. What neither needs is computed after that."""
        dot, left = mma_pipeline.dot, unwrap(mma_pipeline.accumulator.lhs_written)
        block, index = parent_block(dot), unwrap(rescaled_accumulator(dot)).argument.index - 1
        self.carried_in_tmem.setdefault(block, []).append((index, mma_pipeline))
        _rescale_accumulator(mma_pipeline)
        for part in range(left.k_chunks):
            operands = [dot.lhs, mma_pipeline.accumulator.lhs_tile, None, None, left.pipeline]
            insert_before(TmemStoreOp.make(operands, [], chunk=part), dot)
        dot.result.replace_all_uses_with(dot.acc)
        _sink_after(block, dot)

    def read_accumulators(self, old: TableOp, loop: TableOp, tokens: Tokens) -> None:
        for index, ring in self.carried_in_tmem.get(loop.regions[0].blocks[0], ()):
            acc, token = ring.accumulator, tokens[ring.accumulator]
            store_initial_accumulator(old.initial[index], acc, loop)
            wait_for_accumulator(acc, old, tokens)
            loaded = TmemLoadOp.make([acc.tile], [old.results[index].type])
            old.results[index].replace_all_uses_with(insert_before(loaded, old))
            if ring.is_reused:
                insert_before(ConsumerReleaseOp.make([acc.pipeline, token, None], []), old)


def _rescale_accumulator(mma_pipeline: MmaPipeline) -> None:
    """Rescale the accumulator in place. No MMA accumulates into it then: the scores arrived after the last one."""
    dot, running = mma_pipeline.dot, unwrap(rescaled_accumulator(mma_pipeline.dot))
    loop = as_op(parent_block(dot).parent_op())
    dot.operands[2] = running.argument
    if running.scale is None:
        return
    is_later_iteration = None
    if is_zero(loop.initial[running.argument.index - 1]):
        is_later_iteration = insert_before(is_not_first_iteration(loop, parent_block(dot).args[0]), dot)
    insert_before(TmemScaleOp.make([mma_pipeline.accumulator.tile, running.factor, is_later_iteration], []), dot)
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
