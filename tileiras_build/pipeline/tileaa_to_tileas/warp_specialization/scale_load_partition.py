"""Partitions of one warp each that load block scales to shared memory in the order of tensor memory."""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ....ir.casting import defining_op
from ....ir.dialects.nv_tileas.ops import AdvanceOp, ProducerCommitOp, StoreScalesOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.scalar_slice import ScalarSlice
from ...analysis.scale_stage_counts import scale_groups_per_load
from ..op_insertion import Inserter, is_first_of_group, loop_continues_at
from ..software_pipelining.cp_async_loads import is_outside
from ..speculation_guards import speculated
from .mma_pipelines import MmaPipeline, PipelineResource, Tokens, scales_of, stage_of
from .partition_slice import PartitionSlice
from .scale_pipeline import advance_if, emit_if

SIDES = (0, 1)  # the operands of a dot: each has a warp for its scales


class ScaleLoadPartition(PartitionSlice):
    """Loads the block scales of one operand of each dot, one or two groups at a time."""

    def __init__(self, rings: list[MmaPipeline], slice: ScalarSlice, side: int):
        super().__init__(rings, slice)
        self.side = side

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        return scales_of(self.mma_pipelines, loop)

    def stages_to_drain(self) -> list[PipelineResource]:
        """The scales of both operands are released together."""
        return self.states() if self.side == SIDES[0] else []

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        scaled = (ring for ring in self.mma_pipelines if ring.scale_loads)
        if (ring := next((ring for ring in scaled if op is ring.scale_loads[self.side].load), None)) is None:
            return
        scales, steps, token = ring.scales, ring.dot.scale_steps, tokens[ring.scales]
        index = self.value(ring.loops[-1].regions[0].blocks[0].args[0])
        begins = is_first_of_group(index, steps * scale_groups_per_load(steps), insert)
        emit_if(begins, insert, lambda inside: self._copy_groups(ring, index, token, inside))
        moves = is_first_of_group(index, steps, insert) if steps > 1 else None
        tokens[scales] = advance_if(scales, token, moves, insert)

    def _copy_groups(self, mma_pipeline: MmaPipeline, index: SSAValue, token: SSAValue, insert: Inserter) -> None:
        """Issue all loads before waiting for a stage. Those past the loop's end are out of bounds, or not used."""
        starts, steps = [index], mma_pipeline.dot.scale_steps
        while len(starts) < scale_groups_per_load(steps):
            starts.append(insert.binary("add", starts[-1], steps))
        tiles = [self._load(mma_pipeline, start, insert) for start in starts]
        self._store_scales(mma_pipeline, tiles[0], token, insert)
        for start, tile in zip(starts[1:], tiles[1:]):
            token = insert(AdvanceOp.make([mma_pipeline.scales.pipeline, token], [i32]))
            runs = loop_continues_at(mma_pipeline.loops[-1], start)
            runs.operands = [start, self.value(mma_pipeline.loops[-1].upper)]
            emit_if(insert(runs), insert, partial(self._store_scales, mma_pipeline, tile, token))

    def _load(self, mma_pipeline: MmaPipeline, index: SSAValue, insert: Inserter) -> SSAValue:
        copy, block = mma_pipeline.scale_loads[self.side], mma_pipeline.loops[-1].regions[0].blocks[0]
        known: dict[SSAValue, SSAValue] = {block.args[0]: index}

        def at(value: SSAValue) -> SSAValue:
            """``value`` computed for this index."""
            if value not in known and is_outside(value, block):
                return self.value(value)
            if value not in known:
                known[value] = speculated(
                    defining_op(value), [at(operand) for operand in defining_op(value).operands], insert
                )
            return known[value]

        return copy.loaded([at(coord) for coord in copy.load.coords], insert)

    def _store_scales(self, mma_pipeline: MmaPipeline, tile: SSAValue, token: SSAValue, insert: Inserter) -> None:
        scales = mma_pipeline.scales
        insert(mma_pipeline.tmem_ops.acquire.make([scales.pipeline, token], []))
        stage = stage_of(insert, scales.pipeline, token)
        insert(StoreScalesOp.make([tile, scales.buffers[self.side], stage], []))
        insert(ProducerCommitOp.make([scales.pipeline, token], []))
