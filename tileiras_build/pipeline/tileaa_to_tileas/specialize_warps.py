"""Set one warp aside to fetch tiles by TMA, ahead of the warps that compute, and one to issue products of loops over tiles.

In:    tiled_loads marked ``tma`` in counted loops, products that read their tiles, all with layouts.
Out:   the scalars of the kernel, with the loads of those that are looked up in memory, then an agent_switch: its first
       region is the slice of the program that fetches (the same loops, each with only what the tiles' places depend on),
       its last the program without those loads. Between
       them a ring of stages in shared memory for each product, with a full and an empty mbarrier per stage. Products of
       warpgroups read their stages directly (async.dot), others by local_load. Where all products sum up from zero in
       tensor memory, in a loop inside another one, a region between the two issues them (producer_partitions.py): the sums
       are a ring, too, of two buffers where there is room, and the last region only reads them. Such a region issues the
       chained products whose sums stay in tensor memory, too (fmha_partitions.py). Where products have
       scales that a warp can load in vectors, two regions behind it do so (scale_load_partition.py), and the one that issues copies
       them to tensor memory. ``producer_warps`` on the kernel, and ``partition_registers`` where the agents divide its registers unevenly.
After: assign_layouts, select_async. Before: pipeline_loads (other loads), assign_scratch (rings need room).
Sound: all agents make the same choices, run the same loops over the same scalars, and return where the program does, so the n-th stage that one fills is the n-th that another
       reads; a token that both carry names it. A stage is filled again only after every computing warp has arrived at
       its empty mbarrier, which it does once its products of that stage are done; a buffer of sums, once the registers of
       every computing warp hold the last one; a stage of scales, once all products of its group are done. A sum of no products is the zeros that these warps write there themselves.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from ...ir.casting import as_op, defining_op, terminator, unwrap
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, AgentSwitchOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.op_queries import is_pure, is_tile, may_divide_by_zero, may_end
from ..analysis.resource_model import (
    PRODUCER_REGISTERS,
    WARPGROUP,
    registers_allow_mma_warp,
    scale_load_registers,
    setmaxnreg_split,
    uses_setmaxnreg,
)
from ..analysis.scale_factor_groups import scale_groups_per_load
from ..analysis.tma_operands import tma_dots
from ..analysis.view_chains import TOKEN, ScalarSlice, early_returns, is_accumulation_loop, is_zero
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass
from .rewriter import insert_before
from .tma_descriptors import hoist
from .warp_specialization.allocate_pipelines import PipelineAllocation
from .warp_specialization.consumer_partition import ConsumerPartition
from .warp_specialization.epilogue_partition import EpiloguePartition
from .warp_specialization.fmha_partitions import FmhaMmaPartition, FmhaSoftmaxPartition
from .warp_specialization.pipeline_buffers import (
    MmaPipeline,
    accumulators_stay_in_tmem,
    set_stationary_operands,
    stationary_operands_of,
)
from .warp_specialization.producer_partitions import MmaPartition, ProducerPartition
from .warp_specialization.scale_load_partition import SIDES, ScaleLoadPartition

CreateTokenOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("create_mem_token", "yield"))


class SpecializeWarps(EdgePass):
    """A fetching warp and computing warps."""

    name = "tileas-specialize-warps"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in list(module.body.block.ops):
            if is_function(func) and (found := list(tma_dots(func))):
                _WarpSpecializer(as_op(func), job, found).run()


class _WarpSpecializer:
    def __init__(self, func: TableOp, job: Job, found: list[TableOp]):
        self.func, self.job = func, job
        self.warps = func.num_warps
        self.mma_pipelines = [MmaPipeline.of(product) for product in found]
        set_stationary_operands(self.mma_pipelines)
        self.operand_loads = [fetch for ring in self.mma_pipelines for fetch in ring.operand_loads]
        self.operand_loads += [stationary.operand_load for stationary in stationary_operands_of(self.mma_pipelines)]
        self.entry = func.regions[0].blocks[0]
        self.shared: set[Operation] = set()
        groups = max(scale_groups_per_load(ring.dot.scale_steps) for ring in self.mma_pipelines)
        self.copying = scale_load_registers(groups, self._accumulator_registers, func, job, self.warps)
        for ring in self.mma_pipelines if self.copying is None else ():
            ring.scale_loads = []
        # In a loop over tiles the products of the next one need not wait until the last sum has been stored; scales that
        # other warps bring need no thread that computes.
        gains = any(len(ring.loops) > 1 or ring.scale_loads for ring in self.mma_pipelines)
        self.issues_apart = gains and all(map(_accumulates_in_tmem, self.mma_pipelines)) and self._has_registers()
        self.scale_loads = [copy for ring in self.mma_pipelines for copy in ring.scale_loads if self.issues_apart]
        self.chained = accumulators_stay_in_tmem(self.mma_pipelines)
        self.allocation = PipelineAllocation(func, job, self.warps, self.mma_pipelines, self.issues_apart)

    def run(self) -> None:
        self._set_warps()
        loads = [fetch.load for fetch in self.operand_loads]
        moved = [*loads, *(copy.load for copy in self.scale_loads)]
        for load in moved:
            hoist(load.view, self.entry)
        fetched = self._scalar_slice(loads)
        body = self._outline(self._scalar_slice(moved).lookups)
        self.allocation.run(body)
        agents = [ProducerPartition(self.mma_pipelines, fetched).run(body)]
        if self.issues_apart or self.chained:
            issuing = FmhaMmaPartition if self.chained else MmaPartition
            agents.append(issuing(self.mma_pipelines, self._scalar_slice([])).run(body))
        for side in SIDES if self.scale_loads else ():
            scales = self._scalar_slice(
                [ring.scale_loads[side].load for ring in self.mma_pipelines if ring.scale_loads]
            )
            agents.append(ScaleLoadPartition(self.mma_pipelines, scales, side).run(body))
        self._consumer_partition(self.mma_pipelines).run(body)
        switch = AgentSwitchOp.make([], [], {}, [Region(agent) for agent in (*agents, body)])
        insert_before(switch, terminator(self.entry))

    @property
    def _consumer_partition(self) -> type[ConsumerPartition]:
        if self.chained:
            return FmhaSoftmaxPartition
        return EpiloguePartition if self.issues_apart else ConsumerPartition

    @property
    def _accumulator_registers(self) -> int:
        """32-bit words of the largest sum."""
        return max(ring.dot.result.type.encoding.data.size for ring in self.mma_pipelines)

    def _has_registers(self) -> bool:
        copies = any(ring.scale_loads for ring in self.mma_pipelines)
        return copies or registers_allow_mma_warp(self._accumulator_registers, self.func, self.job, self.warps)

    def _scalar_slice(self, loads: list[TableOp]) -> ScalarSlice:
        """What loops, choices and returns depend on, and where the tiles of some loads are."""
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
        agents = 1 + (self.issues_apart or self.chained) + (len(SIDES) if self.scale_loads else 0)
        self.func.producer_warps = WARPGROUP if divided else agents
        if divided:
            apart = unwrap(self.copying) if self.scale_loads else PRODUCER_REGISTERS
            ctas = occupancy(self.func, self.job) or 1
            self.func.partition_registers = setmaxnreg_split(self.warps, self.job.target, ctas, apart)

    def _outline(self, lookups: set[Operation]) -> Block:
        """All but the scalars that both agents may need, moved to a block of its own; ``lookups`` are such scalars' loads."""
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
        """A load that waits for nothing needs no token of what stays behind."""
        for index, token in enumerate(op.operands):
            if token.type.name == TOKEN:
                op.operands[index] = insert_before(CreateTokenOp.make([], [token.type]), op)
                self.shared.add(defining_op(op.operands[index]))

    def _is_shared_by_partitions(self, op: Operation) -> bool:
        """Pure, without tiles, and computed from nothing that stays behind."""
        if not is_pure(op) or op.regions or any(is_tile(value) for value in (*op.operands, *op.results)):
            return False
        owners = (value.owner for value in op.operands)
        return all(isinstance(owner, Block) or owner in self.shared for owner in owners)


def _accumulates_in_tmem(ring: MmaPipeline) -> bool:
    """Whether all of a product is fetched, and its sums come together in tensor memory, from zero, in a loop that adds
    nothing else."""
    product, loop = ring.dot, ring.loops[-1]
    fetched = ring.consumers and len(ring.operand_loads) == 2 and (product.lhs_scale is None or ring.scale_loads)
    return bool(fetched and is_accumulation_loop(product) and is_zero(as_op(loop).initial[product.acc.index - 1]))
