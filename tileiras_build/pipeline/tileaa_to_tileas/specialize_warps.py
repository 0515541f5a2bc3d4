"""Specialize warps: a producer warp loads tiles by TMA, consumer warps compute, and one warp may issue all MMAs.

In:    tiled_loads marked ``tma`` in counted loops, dots that read their tiles, all with layouts.
Out:   the scalars of the kernel, including scalar loads, then an agent_switch. Its first region (the producer) is the
       slice of the program that loads tiles: the same control flow, with only the computation of coordinates. Its last region
       (the consumer) is the program without those loads. Each dot has a multistage buffer in shared memory, with a full
       and an empty mbarrier per stage. Warpgroup dots read stages directly (async.dot), others by local_load.
       If all dots accumulate from zero in tensor memory, in a nested loop, a region in between issues them
       (producer_partition.py): accumulators are multibuffered, too, with two buffers if they fit, and the last region
       only reads them. Such a region also issues chained dots whose accumulators stay in tensor memory
       (fmha_partitions.py). If a warp can load block scales in vectors, two more regions load them
       (scale_load_partition.py), and the issuing region copies them to tensor memory. ``producer_warps`` on the kernel,
       and ``partition_registers`` if the partitions have different register counts.
After: assign_layouts, select_mma_and_tma. Before: software_pipeline_loads (other loads), allocate_shared_memory (stages
       need shared memory).
Sound: all partitions evaluate the same conditions, which depend on scalars alone, run the same loops, leave them and
       return at the same places, so the n-th stage that one fills is the n-th that another reads; a token in each partition identifies it.
       A stage is refilled only after every consumer warp arrived at its empty mbarrier, which it does once its dots of
       that stage are complete; an accumulator buffer is reused once all consumer warps read it to registers; a stage of
       scales, once all dots of its group are complete. If a loop has no trips, the consumer warps write zeros to its
       accumulator themselves.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from ...ir.casting import as_op, defining_op, terminator, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, AgentSwitchOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.enclosing_control_flow import early_returns, is_accumulation_loop, is_grid_wait, is_zero
from ..analysis.op_queries import is_pure, is_tile, may_divide_by_zero, may_end
from ..analysis.resource_model import (
    PRODUCER_REGISTERS,
    WARPGROUP,
    registers_allow_mma_warp,
    scale_load_registers,
    setmaxnreg_split,
    uses_setmaxnreg,
)
from ..analysis.scalar_slice import TOKEN, ScalarSlice, is_uniform_load
from ..analysis.scale_stage_counts import scale_groups_per_load
from ..analysis.tma_operands import dots_of_loaded_tiles
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.choose import is_declined
from ..schedule.schedule_attribute import set_knobs
from .op_insertion import insert_before
from .tma_descriptors import hoist
from .warp_specialization.allocate_pipelines import PipelineAllocation
from .warp_specialization.consumer_partition import ConsumerPartition
from .warp_specialization.epilogue_partition import EpiloguePartition
from .warp_specialization.fmha_partitions import FmhaMmaPartition, FmhaSoftmaxPartition
from .warp_specialization.mma_partition import MmaPartition
from .warp_specialization.mma_pipelines import (
    MmaPipeline,
    accumulators_stay_in_tmem,
    set_stationary_operands,
    stationary_operands_of,
)
from .warp_specialization.partition_slice import PartitionSlice
from .warp_specialization.producer_partition import ProducerPartition
from .warp_specialization.scale_load_partition import SIDES, ScaleLoadPartition

CreateTokenOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("create_mem_token", "yield"))
POINTER_LOAD = "nv_tileas.load"


class SpecializeWarps(EdgePass):
    """A producer warp and consumer warps."""

    name = "tileas-specialize-warps"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in list(module.body.block.ops):
            if is_function(func) and (found := list(dots_of_loaded_tiles(func))):
                _WarpSpecializer(as_op(func), job, found).run()


class _WarpSpecializer:
    def __init__(self, func: TableOp, job: Job, found: list[TableOp]):
        self.func, self.job = func, job
        self.warps = func.num_warps
        self.mma_pipelines = [MmaPipeline.of(dot) for dot in found]
        set_stationary_operands(self.mma_pipelines)
        self.operand_loads = [operand_load for ring in self.mma_pipelines for operand_load in ring.tma_loads]
        self.operand_loads += [stationary.operand_load for stationary in stationary_operands_of(self.mma_pipelines)]
        self.entry = func.regions[0].blocks[0]
        self.shared: set[Operation] = set()
        groups = max(scale_groups_per_load(ring.dot.scale_steps) for ring in self.mma_pipelines)
        self.copying = scale_load_registers(groups, self._accumulator_registers, func, job, self.warps)
        for ring in self.mma_pipelines if self.copying is None else ():
            ring.scale_loads = []
        # In a loop over output tiles, the dots of the next tile need not wait until the last accumulator is stored;
        # scales that other warps load need no consumer thread.
        gains = any(len(ring.loops) > 1 or ring.scale_loads for ring in self.mma_pipelines)
        self.has_mma_partition = (
            gains
            and all(map(_accumulates_in_tmem, self.mma_pipelines))
            and self._has_registers()
            and not is_declined(func, "mma_warp")
        )
        self.scale_loads = [copy for ring in self.mma_pipelines for copy in ring.scale_loads if self.has_mma_partition]
        self.chained = accumulators_stay_in_tmem(self.mma_pipelines)
        self.allocation = PipelineAllocation(func, job, self.warps, self.mma_pipelines, self.has_mma_partition)

    def run(self) -> None:
        self._set_warps()
        if self.has_mma_partition:
            set_knobs(self.func, mma_warp=True)
        loads = [operand_load.load for operand_load in self.operand_loads]
        moved = [*loads, *(copy.load for copy in self.scale_loads)]
        for load in moved:
            hoist(load.view, self.entry)
        slices = self._slices(loads)
        body = self._outline(self._scalar_slice(moved))
        self.allocation.run(body)
        partitions = [slice.run(body) for slice in slices]
        self._consumer_partition(self.mma_pipelines).run(body)
        switch = AgentSwitchOp.make([], [], {}, [Region(partition) for partition in (*partitions, body)])
        insert_before(switch, terminator(self.entry))

    def _slices(self, loads: list[TableOp]) -> list[PartitionSlice]:
        """The partitions that are slices of the kernel: all but the last one."""
        rings = self.mma_pipelines
        slices: list[PartitionSlice] = [ProducerPartition(rings, self._scalar_slice(loads))]
        if self.has_mma_partition or self.chained:
            slices.append((FmhaMmaPartition if self.chained else MmaPartition)(rings, self._scalar_slice([])))
        for side in SIDES if self.scale_loads else ():
            scales = self._scalar_slice([ring.scale_loads[side].load for ring in rings if ring.scale_loads])
            slices.append(ScaleLoadPartition(rings, scales, side))
        return slices

    @property
    def _consumer_partition(self) -> type[ConsumerPartition]:
        if self.chained:
            return FmhaSoftmaxPartition
        return EpiloguePartition if self.has_mma_partition else ConsumerPartition

    @property
    def _accumulator_registers(self) -> int:
        """32-bit registers of the largest accumulator."""
        return max(ring.dot.result.type.encoding.data.size for ring in self.mma_pipelines)

    def _has_registers(self) -> bool:
        copies = any(ring.scale_loads for ring in self.mma_pipelines)
        return copies or registers_allow_mma_warp(self._accumulator_registers, self.func, self.job, self.warps)

    def _scalar_slice(self, loads: list[TableOp]) -> ScalarSlice:
        """The scalars that the control flow and the coordinates of loads depend on."""
        slice = ScalarSlice()
        places = [*(ring.dot for ring in self.mma_pipelines), *early_returns(self.func), *loads]
        for op in (*places, *filter(is_grid_wait, walk(self.func))):
            slice.add_control(op)
        for coord in (coord for load in loads for coord in load.coords):
            slice.add(coord)
        return slice

    def _set_warps(self) -> None:
        splits_registers = uses_setmaxnreg(self.func, self.job, self.warps)
        partitions = 1 + (self.has_mma_partition or self.chained) + (len(SIDES) if self.scale_loads else 0)
        self.func.producer_warps = WARPGROUP if splits_registers else partitions
        if splits_registers:
            producer_registers = unwrap(self.copying) if self.scale_loads else PRODUCER_REGISTERS
            ctas = occupancy(self.func, self.job) or 1
            self.func.partition_registers = setmaxnreg_split(self.warps, self.job.target, ctas, producer_registers)

    def _outline(self, slice: ScalarSlice) -> Block:
        """Move all but the scalars that partitions may share to a block of its own."""
        body, may_have_ended, waits = Block(), False, False
        for op in list(self.entry.ops)[:-1]:
            waits = waits or any(map(is_grid_wait, walk(op)))
            loads = op in slice.needed and is_uniform_load(op) and not waits
            if loads:
                self._cut_tokens(op)
            may_move = self._has_shared_operands(op) and not (may_have_ended and _may_fault(op))
            if may_move and (loads or _is_pure_scalar(op, slice)):
                self.shared.add(op)
            else:
                may_have_ended = may_have_ended or may_end(op)
                op.detach()
                body.add_op(op)
        body.add_op(YieldOp.make([[]], []))
        return body

    def _cut_tokens(self, op: Operation) -> None:
        """Let a load, which no token orders, depend on no token of an operation that stays in the partition."""
        for index, token in enumerate(op.operands):
            if token.type.name == TOKEN:
                op.operands[index] = insert_before(CreateTokenOp.make([], [token.type]), op)
                self.shared.add(defining_op(op.operands[index]))

    def _has_shared_operands(self, op: Operation) -> bool:
        """Whether an operation depends on nothing that stays in the partition."""
        owners = (value.owner for value in op.operands)
        return all(isinstance(owner, Block) or owner in self.shared for owner in owners)


def _is_pure_scalar(op: Operation, slice: ScalarSlice) -> bool:
    """Whether an operation is pure, and has no tiles but those of one element."""
    if not is_pure(op) or op.regions:
        return False
    return op in slice.needed or not any(is_tile(value) for value in (*op.operands, *op.results))


def _may_fault(op: Operation) -> bool:
    """Whether an operation may fail if a kernel that has returned before executes it."""
    return may_divide_by_zero(op) or op.name == POINTER_LOAD


def _accumulates_in_tmem(ring: MmaPipeline) -> bool:
    """Whether all operands of a dot are loaded, and it accumulates in tensor memory, from zero, in a loop that adds
    nothing else.
    """
    dot, loop = ring.dot, ring.loops[-1]
    loaded = (
        ring.consumers
        and len(ring.operand_loads) == 2
        and not ring.stored
        and (dot.lhs_scale is None or ring.scale_loads)
    )
    return bool(loaded and is_accumulation_loop(dot) and is_zero(as_op(loop).initial[dot.acc.index - 1]))
