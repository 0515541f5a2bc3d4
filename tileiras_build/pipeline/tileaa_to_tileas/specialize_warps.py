"""Specialize warps: a producer warp loads tiles by TMA, consumer warps compute, and one warp may issue all MMAs.

In:    tiled_loads marked ``tma`` in counted loops, dots that read their tiles, all with layouts.
Out:   the scalars of the kernel, with the loads of those that are looked up in memory, then an agent_switch: its first
       region is the slice of the program that loads (the same loops, each with only what the tiles' places depend on),
       its last the program without those loads. Between
       them a ring of stages in shared memory for each dot, with a full and an empty mbarrier per stage. Dots of
       warpgroups read their stages directly (async.dot), others by local_load. Where all dots sum up from zero in
       tensor memory, in a loop inside another one, a region between the two issues them (producer_partition.py): the accumulators
       are a ring, too, of two buffers where they fit, and the last region only reads them. Such a region issues the
       chained dots whose accumulators stay in tensor memory, too (fmha_partitions.py). Where dots have
       scales that a warp can load in vectors, two regions after it do so (scale_load_partition.py), and the one that issues copies
       them to tensor memory. ``producer_warps`` on the kernel, and ``partition_registers`` where the partitions divide its registers unevenly.
After: assign_layouts, select_mma_and_tma. Before: software_pipeline_loads (other loads), allocate_shared_memory (rings need shared memory).
Sound: all partitions make the same choices, run the same loops over the same scalars, and return where the program does, so the n-th stage that one fills is the n-th that another
       reads; a token that both carry names it. A stage is filled again only after every computing warp has arrived at
       its empty mbarrier, which it does once its dots of that stage are done; a buffer of accumulators, once the registers of
       every computing warp hold the last one; a stage of scales, once all dots of its group are done. An accumulator of no dots is the zeros that these warps write there themselves.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from ...ir.casting import as_op, defining_op, terminator, unwrap
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, AgentSwitchOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.enclosing_control_flow import early_returns, is_accumulation_loop, is_zero
from ..analysis.op_queries import is_pure, is_tile, may_divide_by_zero, may_end
from ..analysis.resource_model import (
    PRODUCER_REGISTERS,
    WARPGROUP,
    registers_allow_mma_warp,
    scale_load_registers,
    setmaxnreg_split,
    uses_setmaxnreg,
)
from ..analysis.scalar_slice import TOKEN, ScalarSlice
from ..analysis.scale_stage_counts import scale_groups_per_load
from ..analysis.tma_operands import dots_of_loaded_tiles
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass
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
from .warp_specialization.producer_partition import ProducerPartition
from .warp_specialization.scale_load_partition import SIDES, ScaleLoadPartition

CreateTokenOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("create_mem_token", "yield"))


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
        self.operand_loads = [operand_load for ring in self.mma_pipelines for operand_load in ring.operand_loads]
        self.operand_loads += [stationary.operand_load for stationary in stationary_operands_of(self.mma_pipelines)]
        self.entry = func.regions[0].blocks[0]
        self.shared: set[Operation] = set()
        groups = max(scale_groups_per_load(ring.dot.scale_steps) for ring in self.mma_pipelines)
        self.copying = scale_load_registers(groups, self._accumulator_registers, func, job, self.warps)
        for ring in self.mma_pipelines if self.copying is None else ():
            ring.scale_loads = []
        # In a loop over tiles the dots of the next one need not wait until the last accumulator has been stored; scales that
        # other warps load need no thread that computes.
        gains = any(len(ring.loops) > 1 or ring.scale_loads for ring in self.mma_pipelines)
        self.issues_apart = gains and all(map(_accumulates_in_tmem, self.mma_pipelines)) and self._has_registers()
        self.scale_loads = [copy for ring in self.mma_pipelines for copy in ring.scale_loads if self.issues_apart]
        self.chained = accumulators_stay_in_tmem(self.mma_pipelines)
        self.allocation = PipelineAllocation(func, job, self.warps, self.mma_pipelines, self.issues_apart)

    def run(self) -> None:
        self._set_warps()
        loads = [operand_load.load for operand_load in self.operand_loads]
        moved = [*loads, *(copy.load for copy in self.scale_loads)]
        for load in moved:
            hoist(load.view, self.entry)
        loaded = self._scalar_slice(loads)
        body = self._outline(self._scalar_slice(moved).lookups)
        self.allocation.run(body)
        partitions = [ProducerPartition(self.mma_pipelines, loaded).run(body)]
        if self.issues_apart or self.chained:
            issuing = FmhaMmaPartition if self.chained else MmaPartition
            partitions.append(issuing(self.mma_pipelines, self._scalar_slice([])).run(body))
        for side in SIDES if self.scale_loads else ():
            scales = self._scalar_slice(
                [ring.scale_loads[side].load for ring in self.mma_pipelines if ring.scale_loads]
            )
            partitions.append(ScaleLoadPartition(self.mma_pipelines, scales, side).run(body))
        self._consumer_partition(self.mma_pipelines).run(body)
        switch = AgentSwitchOp.make([], [], {}, [Region(partition) for partition in (*partitions, body)])
        insert_before(switch, terminator(self.entry))

    @property
    def _consumer_partition(self) -> type[ConsumerPartition]:
        if self.chained:
            return FmhaSoftmaxPartition
        return EpiloguePartition if self.issues_apart else ConsumerPartition

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
        for ring in self.mma_pipelines:
            for loop in ring.loops:
                slice.add_loop(loop)
            for choice in ring.enclosing_ifs:
                slice.add(choice.condition)
        for op in early_returns(self.func):
            slice.add_return(op)
        for coord in (coord for load in loads for coord in load.coords):
            slice.add(coord)
        return slice

    def _set_warps(self) -> None:
        divided = uses_setmaxnreg(self.func, self.job, self.warps)
        partitions = 1 + (self.issues_apart or self.chained) + (len(SIDES) if self.scale_loads else 0)
        self.func.producer_warps = WARPGROUP if divided else partitions
        if divided:
            apart = unwrap(self.copying) if self.scale_loads else PRODUCER_REGISTERS
            ctas = occupancy(self.func, self.job) or 1
            self.func.partition_registers = setmaxnreg_split(self.warps, self.job.target, ctas, apart)

    def _outline(self, lookups: set[Operation]) -> Block:
        """Move all but the scalars that both partitions may need to a block of its own; ``lookups`` are the loads of
        such scalars.
        """
        body, ended = Block(), False
        for op in list(self.entry.ops)[:-1]:
            if op in lookups:
                self._is_movable_to_entry(op)
            if op in lookups or (self._is_shared_by_partitions(op) and not (ended and may_divide_by_zero(op))):
                self.shared.add(op)
            else:
                ended = ended or may_end(op)
                op.detach()
                body.add_op(op)
        body.add_op(YieldOp.make([[]], []))
        return body

    def _is_movable_to_entry(self, op: Operation) -> None:
        """Whether a load depends on no token of an operation that stays in the partition."""
        for index, token in enumerate(op.operands):
            if token.type.name == TOKEN:
                op.operands[index] = insert_before(CreateTokenOp.make([], [token.type]), op)
                self.shared.add(defining_op(op.operands[index]))

    def _is_shared_by_partitions(self, op: Operation) -> bool:
        """Whether an operation is pure, has no tiles, and depends on nothing that stays in the partition."""
        if not is_pure(op) or op.regions or any(is_tile(value) for value in (*op.operands, *op.results)):
            return False
        owners = (value.owner for value in op.operands)
        return all(isinstance(owner, Block) or owner in self.shared for owner in owners)


def _accumulates_in_tmem(ring: MmaPipeline) -> bool:
    """Whether all operands of a dot are loaded, and it accumulates in tensor memory, from zero, in a loop that adds
    nothing else.
    """
    dot, loop = ring.dot, ring.loops[-1]
    loaded = ring.consumers and len(ring.operand_loads) == 2 and (dot.lhs_scale is None or ring.scale_loads)
    return bool(loaded and is_accumulation_loop(dot) and is_zero(as_op(loop).initial[dot.acc.index - 1]))
