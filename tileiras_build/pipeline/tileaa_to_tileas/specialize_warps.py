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
       them to tensor memory. ``producer_warps`` on the kernel, and ``agent_registers`` where the agents divide its registers unevenly.
After: assign_layouts, select_async. Before: pipeline_loads (other loads), assign_scratch (rings need room).
Sound: all agents make the same choices, run the same loops over the same scalars, and return where the program does, so the n-th stage that one fills is the n-th that another
       reads; a token that both carry names it. A stage is filled again only after every computing warp has arrived at
       its empty mbarrier, which it does once its products of that stage are done; a buffer of sums, once the registers of
       every computing warp hold the last one; a stage of scales, once all products of its group are done. A sum of no products is the zeros that these warps write there themselves.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from ...ir.casting import given, last_op, owner, row
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, AgentSwitchOp
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_entry
from ..analysis.op_queries import is_pure, is_tile, may_divide_by_zero, may_end
from ..analysis.resource_model import (
    FETCHING_REGISTERS,
    WARPGROUP,
    copying_registers,
    divided_registers,
    divides_registers,
    has_registers_for_issuing,
)
from ..analysis.scale_factor_groups import groups_loaded
from ..analysis.tma_operands import products
from ..analysis.view_chains import TOKEN, ScalarSlice, early_returns, is_zero, only_accumulates
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass
from .rewriter import insert_before
from .tma_descriptors import hoist
from .warp_specialization.allocate_pipelines import RingAllocation
from .warp_specialization.consumer_partition import ComputingAgent
from .warp_specialization.epilogue_partition import SumReader
from .warp_specialization.fmha_partitions import ChainIssuer, ChainReader
from .warp_specialization.pipeline_buffers import Ring, residents_of, set_residents, sums_stay
from .warp_specialization.producer_partitions import FetchingAgent, IssuingAgent
from .warp_specialization.scale_load_partition import SIDES, CopyingAgent

CreateTokenOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("create_mem_token", "yield"))


class SpecializeWarps(EdgePass):
    """A fetching warp and computing warps."""

    name = "tileas-specialize-warps"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in list(module.body.block.ops):
            if is_entry(func) and (found := list(products(func))):
                _Specializer(row(func), job, found).run()


class _Specializer:
    def __init__(self, func: TableOperation, job: Job, found: list[TableOperation]):
        self.func, self.job = func, job
        self.warps = func.num_warps
        self.rings = [Ring.of(product) for product in found]
        set_residents(self.rings)
        self.fetches = [fetch for ring in self.rings for fetch in ring.fetches]
        self.fetches += [resident.fetch for resident in residents_of(self.rings)]
        self.entry = func.regions[0].blocks[0]
        self.shared: set[Operation] = set()
        groups = max(groups_loaded(ring.product.scale_steps) for ring in self.rings)
        self.copying = copying_registers(groups, self._sum_words, func, job, self.warps)
        for ring in self.rings if self.copying is None else ():
            ring.copies = []
        # In a loop over tiles the products of the next one need not wait until the last sum has been stored; scales that
        # other warps bring need no thread that computes.
        gains = any(len(ring.loops) > 1 or ring.copies for ring in self.rings)
        self.issues_apart = gains and all(map(_fills_sums, self.rings)) and self._has_registers()
        self.copies = [copy for ring in self.rings for copy in ring.copies if self.issues_apart]
        self.chained = sums_stay(self.rings)
        self.allocation = RingAllocation(func, job, self.warps, self.rings, self.issues_apart)

    def run(self) -> None:
        self._set_warps()
        loads = [fetch.load for fetch in self.fetches]
        moved = [*loads, *(copy.load for copy in self.copies)]
        for load in moved:
            hoist(load.view, self.entry)
        fetched = self._slice(loads)
        body = self._outline(self._slice(moved).lookups)
        self.allocation.run(body)
        agents = [FetchingAgent(self.rings, fetched).run(body)]
        if self.issues_apart or self.chained:
            issuing = ChainIssuer if self.chained else IssuingAgent
            agents.append(issuing(self.rings, self._slice([])).run(body))
        for side in SIDES if self.copies else ():
            scales = self._slice([ring.copies[side].load for ring in self.rings if ring.copies])
            agents.append(CopyingAgent(self.rings, scales, side).run(body))
        self._computing(self.rings).run(body)
        switch = AgentSwitchOp.make([], [], {}, [Region(agent) for agent in (*agents, body)])
        insert_before(switch, last_op(self.entry))

    @property
    def _computing(self) -> type[ComputingAgent]:
        if self.chained:
            return ChainReader
        return SumReader if self.issues_apart else ComputingAgent

    @property
    def _sum_words(self) -> int:
        """32-bit words of the largest sum."""
        return max(ring.product.result.type.encoding.data.size for ring in self.rings)

    def _has_registers(self) -> bool:
        copies = any(ring.copies for ring in self.rings)
        return copies or has_registers_for_issuing(self._sum_words, self.func, self.job, self.warps)

    def _slice(self, loads: list[TableOperation]) -> ScalarSlice:
        """What loops, choices and returns depend on, and where the tiles of some loads are."""
        slice = ScalarSlice()
        for ring in self.rings:
            for loop in ring.loops:
                slice.add_loop(loop)
            for choice in ring.choices:
                slice.add(choice.condition)
        for op in early_returns(self.func):
            slice.add_return(op)
        for coord in (coord for load in loads for coord in load.coords):
            slice.add(coord)
        return slice

    def _set_warps(self) -> None:
        divided = divides_registers(self.func, self.job, self.warps)
        agents = 1 + (self.issues_apart or self.chained) + (len(SIDES) if self.copies else 0)
        self.func.producer_warps = WARPGROUP if divided else agents
        if divided:
            apart = given(self.copying) if self.copies else FETCHING_REGISTERS
            ctas = occupancy(self.func, self.job) or 1
            self.func.agent_registers = divided_registers(self.warps, self.job.target, ctas, apart)

    def _outline(self, lookups: set[Operation]) -> Block:
        """All but the scalars that both agents may need, moved to a block of its own; ``lookups`` are such scalars' loads."""
        body, ended = Block(), False
        for op in list(self.entry.ops)[:-1]:
            if op in lookups:
                self._order_freely(op)
            if op in lookups or (self._is_common(op) and not (ended and may_divide_by_zero(op))):
                self.shared.add(op)
            else:
                ended = ended or may_end(op)
                op.detach()
                body.add_op(op)
        body.add_op(YieldOp.make([[]], []))
        return body

    def _order_freely(self, op: Operation) -> None:
        """A load that waits for nothing needs no token of what stays behind."""
        for index, token in enumerate(op.operands):
            if token.type.name == TOKEN:
                op.operands[index] = insert_before(CreateTokenOp.make([], [token.type]), op)
                self.shared.add(owner(op.operands[index]))

    def _is_common(self, op: Operation) -> bool:
        """Pure, without tiles, and computed from nothing that stays behind."""
        if not is_pure(op) or op.regions or any(is_tile(value) for value in (*op.operands, *op.results)):
            return False
        owners = (value.owner for value in op.operands)
        return all(isinstance(owner, Block) or owner in self.shared for owner in owners)


def _fills_sums(ring: Ring) -> bool:
    """Whether all of a product is fetched, and its sums come together in tensor memory, from zero, in a loop that adds
    nothing else."""
    product, loop = ring.product, ring.loops[-1]
    fetched = ring.consumers and len(ring.fetches) == 2 and (product.lhs_scale is None or ring.copies)
    return bool(fetched and only_accumulates(product) and is_zero(row(loop).initial[product.acc.index - 1]))
