"""Buffers that the partitions of a kernel share: rings of stages in shared memory, accumulators in tensor memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import FloatTF32Type, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import type_as, unwrap
from ....ir.dialects import arith
from ....ir.dialects.cute import layout_of
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_loop
from ....ir.layouts import SharedLayout
from ....ir.layouts.tmem_layout import WARPS
from ...analysis.axis_info import AxisAnalysis
from ...analysis.chained_dots import stationary_lhs_load
from ...analysis.dot_operand_chains import dot_operand_load, smem_layout_after_views
from ...analysis.enclosing_control_flow import enclosing_control_flow
from ...analysis.scale_stage_counts import warp_loaded_scale_groups
from ...analysis.stored_operands import is_invariant, own_sources, stored_placement
from ...analysis.tma_operands import is_tma_operand
from ...analysis.tma_tensor_maps import TensorBox, tensor_box
from ...mma.dots import k_of
from ...mma.family import Storage, TmemMmaOps, family_of, tmem_mma_ops
from ...mma.tmem_tiles import tmem_tiles
from ..op_insertion import Inserter
from .scale_load_candidates import ScaleLoad, scale_loads

# Attributes that mark a dot, and that its instruction does not have.
MMA_SELECTION_ATTRIBUTES = ("tmem_columns", "warps", "rescaled", "stationary", "stored")
tf32 = FloatTF32Type()


@dataclass(eq=False)
class TmaOperandLoad:
    """One operand of a dot: its load, the operations between, and the placement of its tiles."""

    index: int
    load: TableOp
    chain: list[Operation]
    box: TensorBox
    buffer: SSAValue | None = None
    descriptor: SSAValue | None = None

    @property
    def element(self) -> Attribute:
        """The element type in shared memory."""
        return tf32 if self.box.rounds else self.load.value.type.element_type


@dataclass(eq=False)
class StoredOperand:
    """One operand that threads write to shared memory: in each iteration to the stage that they read tiles of, or once before
    the loop if it does not depend on it.
    """

    index: int
    placement: SharedLayout
    is_invariant: bool
    buffer: SSAValue | None = None

    @property
    def bytes(self) -> int:
        return self.placement.size_bytes


@dataclass(eq=False)
class LhsInTmem:
    """A left operand that warps write to tensor memory in ``parts`` chunks along k, each a stage of the pipeline."""

    pipeline: SSAValue
    k_chunks: int


@dataclass(eq=False)
class TmemAccumulator:
    """The accumulators of one dot in tensor memory; ``pipeline`` is full when they are complete.

    ``carried_in_tmem``: they stay there for all of the innermost loop. ``is_waited_each_iteration``: the left operand
    of the next dot overwrites that of the previous one. ``stationary_lhs_tile``: the left operand that stays in tensor
    memory. If a partition of its own issues the dots, the accumulators are multibuffered and the consumers release
    them, or ``lhs_written`` is the pipeline through which the consumers pass the left operand.
    """

    carried_in_tmem: bool
    is_waited_each_iteration: bool
    pipeline: SSAValue
    tile: SSAValue
    lhs_tile: SSAValue | None
    scales: list[SSAValue] = field(default_factory=list)
    stationary_lhs_tile: SSAValue | None = None
    lhs_written: LhsInTmem | None = None


@dataclass(eq=False)
class StageBuffers:
    """Stages of a pipeline; ``buffers`` and TMA descriptors of each loaded operand."""

    pipeline: SSAValue
    buffers: list[SSAValue]
    descriptors: list[SSAValue]


@dataclass(eq=False)
class ScaleStageBuffers:
    """Stages of block scales, each for a group of iterations: a buffer and tensor memory columns for each operand."""

    pipeline: SSAValue
    buffers: list[SSAValue]
    tiles: list[SSAValue]


@dataclass(eq=False)
class StationaryOperand:
    """A left operand that TMA loads before the loops of its dots: a buffer of one stage.

    ``enclosing_ops``: the loops around its load, in each iteration of which it is loaded again, and the branches.
    """

    operand_load: TmaOperandLoad
    enclosing_ops: list[TableOp]
    buffers: StageBuffers | None = None

    @property
    def stages(self) -> StageBuffers:
        return unwrap(self.buffers)

    @property
    def loops(self) -> list[TableOp]:
        return [around for around in self.enclosing_ops if is_loop(around)]


@dataclass(eq=False)
class MmaPipeline:
    """The stages of one dot, and its accumulators if they are in tensor memory.

    ``sources``: tiles that threads read from stages, to compute operands; ``stored``: operands that threads write.

    Equal dots of other loops use the same stages and accumulators (``is_reused``). ``enclosing_ops``: the loops and branches
    around its dot; the innermost one is a counted loop.
    """

    dot: TableOp
    operand_loads: list[TmaOperandLoad]
    sources: list[TmaOperandLoad]
    stored: list[StoredOperand]
    enclosing_ops: list[TableOp]
    buffers: StageBuffers | None = None
    loads: dict[Operation, TmaOperandLoad] = field(default_factory=dict)
    tmem_accumulator: TmemAccumulator | None = None
    is_reused: bool = False
    stationary: StationaryOperand | None = None
    scale_loads: list[ScaleLoad] = field(default_factory=list)
    scale_buffers: ScaleStageBuffers | None = None

    @classmethod
    def of(cls, dot: TableOp) -> MmaPipeline:
        """The pipeline of a dot whose operands TMA loads."""
        analysis = AxisAnalysis()
        operand_loads = []
        for index in (0, 1):
            found = dot_operand_load(dot, index)
            if found is not None and is_tma_operand(dot, index):
                box = unwrap(tensor_box(*found, analysis))
                operand_loads.append(TmaOperandLoad(index, *found, box))
        around, copies = unwrap(enclosing_control_flow(dot)), scale_loads(dot)
        sources = [TmaOperandLoad(-1, load, [], unwrap(tensor_box(load, [], analysis))) for load in own_sources(dot)]
        loads: dict[Operation, TmaOperandLoad] = {load.load: load for load in (*operand_loads, *sources)}
        stored = [_stored_operand(dot, index) for index in dot.stored or ()]
        return cls(dot, operand_loads, sources, stored, around, loads=loads, scale_loads=copies)

    @property
    def loops(self) -> list[TableOp]:
        """The loops around its dot."""
        return [around for around in self.enclosing_ops if is_loop(around)]

    @property
    def consumers(self) -> int | None:
        """The arrivals that release a stage: one commit for tensor memory; None for one arrival of each warp."""
        return 1 if family_of(self.dot).accumulator is Storage.TENSOR else None

    @property
    def tmem_ops(self) -> TmemMmaOps:
        """The operations that issue its dot, whose accumulators are in tensor memory."""
        return tmem_mma_ops(self.dot)

    @property
    def stage_bytes(self) -> int:
        stored = sum(operand.bytes for operand in self.stored if not operand.is_invariant)
        return stored + sum(load.box.tile_bytes for load in self.tma_loads)

    @property
    def tma_loads(self) -> list[TmaOperandLoad]:
        """The loads of a stage, in program order."""
        block = self.dot.parent
        order = {op: place for place, op in enumerate(unwrap(block).ops)}
        return sorted((*self.operand_loads, *self.sources), key=lambda one: order[one.load])

    @property
    def resident_bytes(self) -> int:
        """Shared memory for operands that are written before the loop."""
        return sum(operand.bytes for operand in self.stored if operand.is_invariant)

    @property
    def stages(self) -> StageBuffers:
        return unwrap(self.buffers)

    @property
    def accumulator(self) -> TmemAccumulator:
        return unwrap(self.tmem_accumulator)

    @property
    def scale_groups(self) -> int:
        """Stages of block scales: as many as hide the latency of loads, and as the dot has columns for."""
        acc_columns = tmem_tiles(self.dot, WARPS)[1].total_tmem_columns
        columns = (self.dot.tmem_columns - acc_columns) // sum(copy.columns.tmem_columns for copy in self.scale_loads)
        return max(1, min(warp_loaded_scale_groups(self.dot.scale_steps), columns))

    @property
    def scales(self) -> ScaleStageBuffers:
        return unwrap(self.scale_buffers)

    @property
    def pipeline(self) -> SSAValue:
        return self.stages.pipeline

    @property
    def ops_around_accumulator(self) -> list[TableOp]:
        """The loops and branches around the wait for the accumulator."""
        waits_after_loop = self.accumulator.carried_in_tmem and not self.accumulator.is_waited_each_iteration
        return self.enclosing_ops[:-1] if waits_after_loop else self.enclosing_ops

    def replace(self, old: Operation, new: TableOp) -> None:
        """Replace a loop or branch around the dot by ``new``."""
        self.enclosing_ops = [new if around is old else around for around in self.enclosing_ops]


# The token of a partition in the stages of each buffer, of scales, and of each accumulator.
PipelineResource = StageBuffers | TmemAccumulator | ScaleStageBuffers | LhsInTmem
Tokens = dict[PipelineResource, SSAValue]


def _stored_operand(dot: TableOp, index: int) -> StoredOperand:
    layout = layout_of(dot.operands[index])
    family = family_of(dot)
    placement = stored_placement(dot, index, family.mn_major(family.row_of(dot)), layout)
    return StoredOperand(index, placement, is_invariant(dot, index))


def stationary_operands_of(mma_pipelines: list[MmaPipeline]) -> list[StationaryOperand]:
    """The left operands that stay in shared memory. Several dots may read one."""
    return list(dict.fromkeys(ring.stationary for ring in mma_pipelines if ring.stationary is not None))


def set_stationary_operands(mma_pipelines: list[MmaPipeline]) -> None:
    """Set the stationary operand of pipelines whose dot has a ``stationary`` left operand."""
    new_op: dict[Operation, StationaryOperand] = {}
    analysis = AxisAnalysis()
    for ring in (ring for ring in mma_pipelines if ring.dot.stationary):
        load, chain = unwrap(stationary_lhs_load(ring.dot))
        if load not in new_op:
            operand_load = TmaOperandLoad(0, load, chain, unwrap(tensor_box(load, chain, analysis)))
            new_op[load] = StationaryOperand(operand_load, unwrap(enclosing_control_flow(load)))
        ring.stationary = new_op[load]


def stages_of(mma_pipelines: list[MmaPipeline], place: Operation | None = None) -> list[PipelineResource]:
    """The stages of dots, or those that are filled inside ``place``, a loop or a branch."""
    users: list[MmaPipeline | StationaryOperand] = [*stationary_operands_of(mma_pipelines), *mma_pipelines]
    return list(dict.fromkeys(user.stages for user in users if place is None or place in user.enclosing_ops))


def accumulators_stay_in_tmem(mma_pipelines: list[MmaPipeline]) -> bool:
    """Whether accumulators are rescaled in tensor memory. All dots of the kernel are then chained."""
    return any(ring.dot.rescaled for ring in mma_pipelines)


def accumulators_of(mma_pipelines: list[MmaPipeline], place: Operation | None = None) -> list[PipelineResource]:
    """The accumulators in tensor memory, or those that are waited for inside ``place``."""
    summed = [ring for ring in mma_pipelines if ring.tmem_accumulator is not None]
    return list(
        dict.fromkeys(ring.accumulator for ring in summed if place is None or place in ring.ops_around_accumulator)
    )


def lhs_tiles_of(mma_pipelines: list[MmaPipeline], place: Operation | None = None) -> list[PipelineResource]:
    """The left operands that warps write chunk by chunk, or those that are written inside ``place``."""
    written = [(ring, ring.accumulator.lhs_written) for ring in mma_pipelines if ring.tmem_accumulator is not None]
    return list(
        dict.fromkeys(left for ring, left in written if left and (place is None or place in ring.enclosing_ops))
    )


def scales_of(mma_pipelines: list[MmaPipeline], place: Operation | None = None) -> list[PipelineResource]:
    """The block scales that partitions of their own load, or those that are loaded inside ``place``."""
    return list(
        dict.fromkeys(
            ring.scales for ring in mma_pipelines if ring.scale_loads and (place is None or place in ring.enclosing_ops)
        )
    )


def async_mma_attributes(mma_pipeline: MmaPipeline) -> dict[str, Attribute]:
    """How the instructions of a dot address shared memory, and their other attributes."""
    dot = mma_pipeline.dot
    kept = {key: value for key, value in dot.attributes.items() if key not in MMA_SELECTION_ATTRIBUTES}
    for operand_load in [
        *mma_pipeline.operand_loads,
        *([mma_pipeline.stationary.operand_load] if mma_pipeline.stationary else []),
    ]:
        placement = unwrap(smem_layout_after_views(operand_load.chain, operand_load.box.placement))
        kept[("lhs", "rhs")[operand_load.index] + "_placement"] = SharedLayoutAttr(placement)
    for stored in mma_pipeline.stored:
        kept[("lhs", "rhs")[stored.index] + "_placement"] = SharedLayoutAttr(stored.placement)
    return kept


def tmem_mma_attributes(dot: TableOp) -> dict[str, Any]:
    """The attributes of a tensor-memory MMA: its shape."""
    m, n = dot.result.type.get_shape()
    return {"shape": (m, n, k_of(dot))}


def stage_of(insert: Inserter, pipeline: SSAValue, token: SSAValue) -> SSAValue:
    """The stage of a pipeline that a token names."""
    if type_as(pipeline, PipelineType).stages.data == 1:
        return insert.constant(0)
    return insert(arith.ShRUIOp.make([token, insert.constant(1)], [i32]))
