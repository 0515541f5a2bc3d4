"""Specialize warps: a producer warp loads tiles by TMA, consumer warps compute, and one warp may issue all MMAs.

In:    tiled_loads marked ``tma`` in counted loops, dots that read their tiles, all with layouts.
Out:   the scalars of the kernel, including scalar loads, then an agent_switch with a region for each role
       (``warp_specialization/``). The producer loads tiles; its region is a slice of the program: the same control flow, with
       only the computation of coordinates. The last region, the consumer, is the program without those loads. Each dot has
       a multistage buffer in shared memory, with a full and an empty mbarrier per stage. Warpgroup dots read stages
       directly (async.dot), others by local_load. If all dots accumulate from zero in tensor memory, in a nested loop, an
       MMA issuer issues them: accumulators are multibuffered, too, with two buffers if they fit, and the last region, the
       epilogue, only reads them. An issuer also issues chained dots whose accumulators stay in tensor memory. If a warp can
       load block scales in vectors, two scale loaders do so, and the issuer copies them to tensor memory. ``producer_warps``
       on the kernel, and ``partition_registers`` if the roles have different register counts, else ``ctas_of_stages``, the CTAs
       per SM that stages leave shared memory for.
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
from ..analysis.op_queries import POINTER_LOAD, is_pure, is_tile, may_divide_by_zero, may_end
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
from ..schedule.schedule_attribute import is_declined, set_knobs
from .op_insertion import insert_before
from .tma_descriptors import hoist_map
from .warp_specialization.allocate_pipelines import PipelineAllocation
from .warp_specialization.consumer import Consumer
from .warp_specialization.epilogue import Epilogue, FmhaSoftmax
from .warp_specialization.mma_issuer import FmhaMmaIssuer, MmaIssuer, TmemConsumer
from .warp_specialization.mma_waits import waits_at_once
from .warp_specialization.partition_slice import PartitionSlice
from .warp_specialization.pipelines import (
    Mainloop,
    accumulators_stay_in_tmem,
    query_tiles_of,
    stationary_operands_of,
)
from .warp_specialization.producer import SIDES, Producer, ScaleLoader, scale_loads
from .warp_specialization.shared_stages import share_stages

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
        self.mainloops = [Mainloop.of(dot) for dot in found]
        share_stages(self.mainloops)
        firsts = [mainloop for mainloop in self.mainloops if mainloop.is_first_reader]
        self.operand_loads = [operand_load for mainloop in firsts for operand_load in mainloop.tma_loads]
        self.operand_loads += [stationary.operand_load for stationary in stationary_operands_of(self.mainloops)]
        self.entry = func.regions[0].blocks[0]
        self.shared: set[Operation] = set()
        self.chained = accumulators_stay_in_tmem(self.mainloops)
        groups = max(scale_groups_per_load(mainloop.dot.scale_steps) for mainloop in self.mainloops)
        self.scale_registers = scale_load_registers(groups, self._accumulator_registers, func, job, self.warps)
        for mainloop in self.mainloops if self.scale_registers is not None else ():
            mainloop.scale_loads = scale_loads(mainloop.dot)
        self.has_mma_issuer = self._gains_by_mma_issuer() and not is_declined(func, "mma_warp")
        for mainloop in () if self.has_mma_issuer else self.mainloops:
            mainloop.scale_loads = []
        self.scale_loads = [load for mainloop in self.mainloops for load in mainloop.scale_loads]
        for dot in (one.dot for one in self.mainloops if one.dot.lhs_scale is not None and not one.scale_loads):
            dot.pair = False  # threads write scales to the tensor memory of their CTA, and no MMA of the other one waits for that
        self.issuer, self.consumer = self._choose_roles()
        self.issuers = 0 if self.issuer is None else query_tiles_of(self.mainloops)
        self.allocation = PipelineAllocation(func, job, self.warps, self.mainloops, self.has_mma_issuer)

    def run(self) -> None:
        self._set_warps()
        if self.has_mma_issuer:
            set_knobs(self.func, mma_warp=True)
        loads = [operand_load.load for operand_load in self.operand_loads]
        moved = [*loads, *(copy.load for copy in self.scale_loads)]
        for load in moved:
            hoist_map(load.view, self.entry)
        slices = self._slices(loads)
        body = self._outline(self._scalar_slice(moved))
        self.allocation.run(body)
        self._share_registers()
        for mainloop in self.mainloops:
            mainloop.waits_at_once = waits_at_once(mainloop, self.warps, self.job.target)
        partitions = [slice.run(body) for slice in slices]
        self.consumer(self.mainloops).run(body)
        regions = [Region(partition) for partition in (*partitions, body)]
        several = {"issuers": self.issuers} if self.issuers > 1 else {}
        switch = AgentSwitchOp.make([], [], {}, regions, **several)
        insert_before(switch, terminator(self.entry))

    def _slices(self, loads: list[TableOp]) -> list[PartitionSlice]:
        """The roles that are slices of the kernel: all but the consumer."""
        loading = [mainloop for mainloop in self.mainloops if mainloop.loads or mainloop.stationary]
        slices: list[PartitionSlice] = [Producer(loading, self._scalar_slice(loads))] if loads else []
        if self.issuers > 1:
            slices += [FmhaMmaIssuer(self.mainloops, self._scalar_slice([]), rows) for rows in range(self.issuers)]
        elif self.issuer is not None:
            slices.append(self.issuer(self.mainloops, self._scalar_slice([])))
        for side in SIDES if self.scale_loads else ():
            own = [mainloop.scale_loads[side].load for mainloop in self.mainloops if mainloop.scale_loads]
            slices.append(ScaleLoader(self.mainloops, self._scalar_slice(own), side))
        return slices

    @property
    def _accumulator_registers(self) -> int:
        """32-bit registers of the largest accumulator."""
        return max(mainloop.dot.result.type.encoding.data.size for mainloop in self.mainloops)

    def _choose_roles(self) -> tuple[type[MmaIssuer] | None, type[Consumer]]:
        """Who issues MMAs in tensor memory, and who has the rest of the program."""
        if self.chained:
            return FmhaMmaIssuer, FmhaSoftmax
        if self.has_mma_issuer:
            return MmaIssuer, Epilogue
        return None, TmemConsumer if any(mainloop.consumers for mainloop in self.mainloops) else Consumer

    def _gains_by_mma_issuer(self) -> bool:
        """Whether a warp of its own may issue all dots, and they or what surrounds them gains by it.

        In a loop over output tiles, the dots of the next tile need not wait until the last accumulator is stored;
        scales that other warps load need no consumer thread.
        """
        scaled = any(mainloop.scale_loads for mainloop in self.mainloops)
        if not (scaled or any(len(mainloop.loops) > 1 for mainloop in self.mainloops)):
            return False
        if not all(map(_accumulates_in_tmem, self.mainloops)):
            return False
        return scaled or registers_allow_mma_warp(self._accumulator_registers, self.func, self.job, self.warps)

    def _scalar_slice(self, loads: list[TableOp]) -> ScalarSlice:
        """The scalars that the control flow and the coordinates of loads depend on."""
        slice = ScalarSlice()
        dots = (mainloop.dot for mainloop in self.mainloops if mainloop.loads or mainloop.stationary)
        places = [*dots, *early_returns(self.func), *loads]
        for op in (*places, *filter(is_grid_wait, walk(self.func))):
            slice.add_control(op)
        for value in (value for load in loads for value in (*load.coords, load.view)):
            slice.add(value)
        return slice

    def _set_warps(self) -> None:
        splits_registers = bool(self.operand_loads) and uses_setmaxnreg(self.func, self.job, self.warps)
        partitions = bool(self.operand_loads) + self.issuers + (len(SIDES) if self.scale_loads else 0)
        self.func.producer_warps = WARPGROUP if splits_registers else partitions
        if splits_registers:
            producer_registers = unwrap(self.scale_registers) if self.scale_loads else PRODUCER_REGISTERS
            ctas = occupancy(self.func, self.job) or 1
            self.func.partition_registers = setmaxnreg_split(self.warps, self.job.target, ctas, producer_registers)

    def _share_registers(self) -> None:
        """Leave registers for all CTAs whose stages share an SM: one alone has too few stages to hide the latency of loads."""
        if self.func.partition_registers is None and occupancy(self.func, self.job) is None:
            self.func.ctas_of_stages = self.allocation.ctas

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


def _accumulates_in_tmem(mainloop: Mainloop) -> bool:
    """Whether all operands of a dot are loaded, and it accumulates in tensor memory, from zero, in a loop that adds
    nothing else.
    """
    dot, loop = mainloop.dot, mainloop.loops[-1]
    loaded = (
        mainloop.consumers
        and len(mainloop.operand_loads) == 2
        and not (mainloop.stored or mainloop.sources)
        and (dot.lhs_scale is None or mainloop.scale_loads)
    )
    return bool(loaded and is_accumulation_loop(dot) and is_zero(as_op(loop).initial[dot.acc.index - 1]))
