"""The MMA issuer: the warp that issues the MMAs whose accumulators are in tensor memory."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ....ir.dialects.nv_tileas.ops import (
    AdvanceOp,
    ConsumerWaitOp,
)
from ....ir.dialects.op_definition import TableOp
from ...analysis.scalar_slice import ScalarSlice
from ..op_insertion import Inserter, is_not_first_iteration
from .mma_pipelines import (
    MmaPipeline,
    PipelineResource,
    TmemAccumulator,
    Tokens,
    accumulators_of,
    async_mma_attributes,
    scales_of,
    stage_of,
    stages_of,
    tmem_mma_attributes,
)
from .partition_slice import PartitionSlice
from .scale_pipeline import ScaleStage


class MmaPartition(PartitionSlice):
    """Issues the MMAs of all pipelines. Each fills an accumulator in tensor memory, from zero, in the innermost loop
    around it.
    """

    def __init__(self, rings: list[MmaPipeline], slice: ScalarSlice):
        super().__init__(rings, slice)
        self.buffers: dict[TmemAccumulator, SSAValue] = {}

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        return [
            *stages_of(self.mma_pipelines, loop),
            *scales_of(self.mma_pipelines, loop),
            *accumulators_of(self.mma_pipelines, loop),
        ]

    def enter_loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        for ring, acc in self._accumulators_filled_in(loop):
            insert(ring.tmem_ops.acquire.make([acc.pipeline, tokens[acc]], []))
            self.buffers[acc] = stage_of(insert, acc.pipeline, tokens[acc])

    def exit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        for ring, acc in self._accumulators_filled_in(op):
            insert(ring.tmem_ops.commit.make([acc.pipeline, tokens[acc]], []))
            tokens[acc] = insert(AdvanceOp.make([acc.pipeline, tokens[acc]], [i32]))

    def _accumulators_filled_in(self, loop: TableOp) -> list[tuple[MmaPipeline, TmemAccumulator]]:
        return [(ring, ring.accumulator) for ring in self.mma_pipelines if ring.loops[-1] is loop]

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        ring = next((ring for ring in self.mma_pipelines if op is ring.dot), None)
        if ring is None:
            return
        token, loop = tokens[ring.stages], ring.loops[-1]
        insert(ConsumerWaitOp.make([ring.pipeline, token], []))
        stage = stage_of(insert, ring.pipeline, token)
        scale_stage = self._scale_stage(ring, tokens) if ring.scale_loads else None
        optional_operands = [None, None, self.buffers[ring.accumulator], None]
        if scale_stage is not None:
            optional_operands = [*ring.scales.tiles, self.buffers[ring.accumulator], scale_stage.acquire(insert)]
        operands = {operand_load.index: operand_load.buffer for operand_load in ring.operand_loads}
        stage_operands = [
            operands[0],
            operands[1],
            ring.accumulator.tile,
            self._accumulate_flag(loop, insert),
            stage,
            stage,
            ring.pipeline,
            token,
        ]
        insert(
            ring.tmem_ops.issue.make(
                [*stage_operands, None, *optional_operands], [], async_mma_attributes(ring), **tmem_mma_attributes(op)
            )
        )
        tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, token], [i32]))
        if scale_stage is not None:
            tokens[ring.scales] = scale_stage.release(insert, self.value)

    def _scale_stage(self, ring: MmaPipeline, tokens: Tokens) -> ScaleStage:
        index = self.value(ring.loops[-1].regions[0].blocks[0].args[0])
        return ScaleStage(ring, ring.loops[-1], index, tokens[ring.scales])

    def _accumulate_flag(self, loop: TableOp, insert: Inserter) -> SSAValue:
        """Whether an MMA accumulates, or overwrites the accumulator as the first one."""
        later = is_not_first_iteration(loop, loop.regions[0].blocks[0].args[0])
        later.operands = [self.value(operand) for operand in later.operands]
        return insert(later)
