"""The producer partition: the warp that loads the tiles of dots by TMA."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from ....ir.dialects.nv_tileas.ops import (
    AdvanceOp,
    AsyncTiledTmaLoadOp,
    ProducerAcquireOp,
)
from ....ir.dialects.op_definition import TableOp, location_of
from ..op_insertion import Inserter
from .mma_pipelines import (
    PipelineResource,
    StageBuffers,
    StationaryOperand,
    TmaOperandLoad,
    Tokens,
    stages_of,
    stationary_operands_of,
)
from .partition_slice import PartitionSlice


class ProducerPartition(PartitionSlice):
    """Loads the tiles of all pipelines."""

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        return stages_of(self.mma_pipelines, loop)

    def stages_to_drain(self) -> list[PipelineResource]:
        emptied = [ring for ring in self.mma_pipelines if ring.consumers]
        carried = [ring.stationary for ring in emptied if ring.stationary is not None and ring.stationary.loops]
        found: list[PipelineResource] = [
            *(ring.stages for ring in emptied),
            *(stationary.stages for stationary in carried),
        ]
        return list(dict.fromkeys(found))

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        for stationary in stationary_operands_of(self.mma_pipelines):
            if op is stationary.operand_load.load:
                self._load_stationary(stationary, insert, tokens)
        ring = next((ring for ring in self.mma_pipelines if op in ring.loads), None)
        if ring is None:
            return
        first, *_, last = [load.load for load in (ring.tma_loads[0], *ring.tma_loads)]
        if op is first:
            insert(ProducerAcquireOp.make([ring.pipeline, tokens[ring.stages]], []))
        self._load(ring.loads[op], ring.stages, insert, tokens)
        if op is last:
            tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, tokens[ring.stages]], [i32]))

    def _load(self, operand_load: TmaOperandLoad, stages: StageBuffers, insert: Inserter, tokens: Tokens) -> None:
        load = operand_load.load
        coords = [self.value(coord) for coord in load.coords]
        operands = [load.view, operand_load.descriptor, coords, operand_load.buffer, stages.pipeline, tokens[stages]]
        insert(AsyncTiledTmaLoadOp.make(operands, [], location_of(load), index_checks=load.index_checks))

    def _load_stationary(self, stationary: StationaryOperand, insert: Inserter, tokens: Tokens) -> None:
        """Load a stationary left operand once the last dot of its predecessor is complete."""
        stages = stationary.stages
        insert(ProducerAcquireOp.make([stages.pipeline, tokens[stages]], []))
        self._load(stationary.operand_load, stages, insert, tokens)
        tokens[stages] = insert(AdvanceOp.make([stages.pipeline, tokens[stages]], [i32]))
