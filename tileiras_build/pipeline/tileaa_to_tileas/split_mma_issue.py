"""Issue the MMAs of a loop from a warp of its own, where threads read their results or write their operands in each iteration.

In:    kernels with a producer and a consumer partition. A thread of the consumer issues the MMAs (async.umma), behind a barrier of all
       threads; in a loop with several dots, threads read an accumulator, or in any long loop they write operands beside what TMA loads.
Out:   a third partition, one thread that issues them: the control flow around them, and the waits for stages that TMA fills. A barrier
       that an MMA follows is a pipeline: each warp arrives (async.pipeline.producer_commit), and only the issuer waits. Warps no longer
       wait for each other, or for the issue of an MMA. Where threads read such a stage too, or write an operand beside it, they wait for
       it as well, and may arrive for as many iterations as there are stages before the issuer waits.
After: mark_read_only_loads (no later pass moves or adds MMAs and barriers). Before: allocate_shared_memory (mbarriers are in shared memory).
Sound: the issuer passes a barrier once all warps have arrived, so an MMA follows what it followed before. MMAs keep their order. Barriers
       also stay where threads exchange what is no scratch: tiles of tensor memory between eight warps, stages that they write and read,
       global memory that tokens order. A warp arrives again only after the issuer has waited for the last arrival: it has waited for an
       MMA that follows it. Or else it has waited for a stage that such an MMA released, and so many arrivals ago: those are a pipeline of
       as many stages. A stage is released by the completion of its last MMA, alone, as before: a warp that waits for the stage, or
       that accesses it, arrives behind that, and the issuer waits for the arrival before it issues that MMA (``_Stages``). So nothing is
       loaded over what a thread still accesses, and no thread that waits is a phase late. Stages that threads fill alone they acquire
       themselves, and the issuer waits for their arrival. Behind all MMAs of its block they wait for what is loaded once: results may be stored over it,
       and a loop without iterations has no MMA that they have waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import takewhile

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...ir.casting import ancestor_in, as_op, defining_op, ops_behind, parent_block, type_as
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    AgentSwitchOp,
    AsyncTiledTmaLoadOp,
    BarrierOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    LocalLoadOp,
    LocalStoreOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerTailOp,
    TmemStoreOp,
)
from ...ir.dialects.nv_tileas.types import PipelineType, TmemType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    MmaRole,
    is_agent_switch,
    is_async_mma,
    is_loop,
    is_loop_exit,
    is_return,
    is_token_ordered,
    traits_of,
)
from ...ir.layouts.tmem_layout import WARPS
from ..analysis.disjoint_stages import Sharing
from ..analysis.dot_overlap import is_short
from ..analysis.enclosing_control_flow import enclosing_loops, has_no_early_exit
from ..analysis.issuer_registers import leaves_registers, partition_registers_with_issuer
from ..analysis.memory_semantics import acquires
from ..analysis.op_queries import ASYNC_COPIES, is_pure
from ..analysis.scalar_slice import TOKEN, ScalarSlice, may_depend_on
from ..analysis.shared_memory_plan import available_shared_memory, plan_shared_memory, scratch_users
from ..job import Job
from ..mma.dots import accumulates_in_tmem
from ..pass_manager import EdgePass
from .issue_behind import has_parts_of, shares_columns
from .op_insertion import insert_before
from .rotate_mma_loop import users
from .warp_specialization.consumer import Consumer
from .warp_specialization.partition_slice import PartitionSlice
from .warp_specialization.pipelines import Pipeline, PipelineState

LOAD = "nv_tileas.tmem_load"


class SplitMmaIssue(EdgePass):
    """A warp that issues the MMAs whose results threads read, or whose operands they write."""

    name = "tileas-split-mma-issue"
    knob = "mma_warp"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        return any([_split(as_op(op), func, job) for op in walk(func) if is_agent_switch(op)])


def _split(switch: TableOp, func: TableOp, job: Job) -> bool:
    """Move the MMAs of the consumer to a partition of their own; False where it has none, they stay, or nothing would be gained."""
    body = switch.regions[-1].blocks[0]
    acts = [as_op(op) for op in walk(switch.regions[-1]) if _is_issued(op)]
    inside = walk(switch.regions[-1])
    sites: list[Operation] = [op for op in inside if isinstance(op, BarrierOp) and _reaches(op, _is_issue)]
    stages = _Stages(inside, acts)
    ahead = {site: 1 if _is_waited_for(site) else stages.ahead_of(site) for site in sites}
    gains = _gains(acts) or any(count > 1 and _is_in_long_loop(site) for site, count in ahead.items())
    if len(switch.regions) != 2 or not gains or not _is_supported(switch, acts, func):
        return False
    exchanges, slice = _Exchanges(body, func), _slice_of(acts, body)
    kept = {site for site in sites if _reaches(site, exchanges)}
    if slice is None or not all(ahead.values()) or not stages.are_handed_over(sites):
        return False
    registers = partition_registers_with_issuer(acts, sites, func, job)
    types = {site: PipelineType(IntAttr(count)) for site, count in ahead.items()}
    if not _has_resources(types.values(), registers, func, job):
        return False
    func.partition_registers = registers
    handed = {site: _handoff(switch, type, func.num_warps) for site, type in types.items()}
    for dot in filter(is_async_mma, acts):
        dot.recomputed = True
    issuer = _Issuer(handed, slice).run(body)
    _Computing(handed, kept).run(body)
    _move_behind(stages.held, acts)
    _erase([op for op in acts if op not in (*stages.waits, *stages.held)], body)
    _replace(switch, issuer, func)
    return True


# ---- what a kernel has -------------------------------------------------------------------------------
def _is_issued(op: Operation) -> bool:
    """Whether the issuer has an operation: an MMA or its commit, or a wait for a stage that TMA fills."""
    return _is_issue(op) or isinstance(op, ConsumerWaitOp) and _is_loaded(as_op(op).pipeline)


def _is_loaded(pipeline: SSAValue) -> bool:
    """Whether TMA fills the stages of a pipeline."""
    return any(_loads_of(pipeline))


def _loads_of(pipeline: SSAValue) -> Iterator[TableOp]:
    """The TMA loads that fill the stages of a pipeline."""
    return (as_op(user) for user in users(pipeline) if isinstance(user, AsyncTiledTmaLoadOp))


def _gains(acts: Sequence[TableOp]) -> bool:
    """Whether an innermost loop has several MMAs, and threads read the accumulator of one in each iteration."""
    dots: dict[TableOp, list[TableOp]] = {}
    for dot in filter(is_async_mma, acts):
        for loop in enclosing_loops(dot)[-1:]:
            dots.setdefault(loop, []).append(dot)
    return any(len(found) > 1 and any(_is_read_in(dot, loop) for dot in found) for loop, found in dots.items())


def _is_in_long_loop(site: Operation) -> bool:
    """Whether an issuer saves more iterations' barriers than its mbarriers take once."""
    return any(not is_short(loop) for loop in enclosing_loops(site)[-1:])


def _is_read_in(dot: TableOp, loop: TableOp) -> bool:
    return any(user.name == LOAD and user.parent_op() is loop for user in users(dot.acc))


def _is_supported(switch: TableOp, acts: Sequence[TableOp], func: TableOp) -> bool:
    """Whether one CTA has all of it, no thread leaves a loop or the kernel early, and none copies operands: the verifier of copies follows
    the threads that issue MMAs.
    """
    dots = [op for op in acts if is_async_mma(op)]
    if func.num_ctas is not None or any(dot.lhs_scale is not None or dot.acc_stage is not None for dot in dots):
        return False
    inside = list(walk(switch.regions[-1]))
    copied = {as_op(op).buffer for op in inside if op.name in ASYNC_COPIES}
    if any(dot.lhs in copied or dot.rhs in copied for dot in dots):
        return False
    return not any(is_return(op) or is_loop(op) and not has_no_early_exit(op) for op in inside)


def _has_resources(handed: Iterable[PipelineType], registers: Sequence[int] | None, func: TableOp, job: Job) -> bool:
    """Whether a CTA has shared memory for the mbarriers, and threads registers beside a further warp, where partitions have ``registers``.
    Stages that share bytes are read by warps that write them.
    """
    plan, mbarriers = plan_shared_memory(func, scratch_users(func, job), job), sum(type.size_bytes for type in handed)
    if plan.sharing is not Sharing.NONE or plan.total + mbarriers > available_shared_memory(func, job):
        return False
    return leaves_registers(func, registers, job)


# ---- barriers ----------------------------------------------------------------------------------------
def _is_issue(op: Operation) -> bool:
    return accumulates_in_tmem(op) or MmaRole.COMMIT in traits_of(op).mma


class _Exchanges:
    """The operations by which threads exchange what barriers order, besides operands of MMAs: what they write to shared memory and read
    there, tiles of eight warps with columns in common, and global memory that tokens order.
    """

    def __init__(self, body: Block, func: TableOp):
        ops = [inner for op in body.ops for inner in walk(op)]
        written = {as_op(op).buffer for op in ops if isinstance(op, LocalStoreOp) or op.name in ASYNC_COPIES}
        self.buffers = written & {as_op(op).buffer for op in ops if isinstance(op, LocalLoadOp)}
        self.tiles = _tiles_with_columns_in_common(ops) if func.num_warps > WARPS else set()

    def __call__(self, op: Operation) -> bool:
        if is_token_ordered(op):
            tokens = (value for value in op.operands if value.type.name == TOKEN)
            return acquires(op) or any(may_depend_on(token, is_token_ordered) for token in tokens)
        return any(value in self.buffers or value in self.tiles for value in op.operands)


def _tiles_with_columns_in_common(ops: Iterable[Operation]) -> set[SSAValue]:
    """The tiles of tensor memory that threads access, and that have a column in common with another one of these."""
    tiles = {value for op in ops if not is_async_mma(op) for value in op.operands if isinstance(value.type, TmemType)}
    return {tile for tile in tiles if any(other is not tile and _may_exchange(tile, other) for other in tiles)}


def _may_exchange(tile: SSAValue, other: SSAValue) -> bool:
    """Whether a warp may write columns of a tile that another one has of the other tile."""
    return shares_columns(tile, other) and not (has_parts_of(tile, other) or has_parts_of(other, tile))


def _reaches(barrier: Operation, is_reached: Callable[[Operation], bool]) -> bool:
    """Whether an operation of a kind may follow a barrier, with no other barrier between them."""
    place: Operation | None = barrier
    while place is not None:
        if (found := _first_of(ops_behind(place), is_reached)) is not None:
            return found
        around = place.parent_op()
        if around is not None and is_loop(around) and _first_of(parent_block(place).ops, is_reached):
            return True
        place = None if around is None or is_agent_switch(around) else around
    return False


def _first_of(ops: Iterable[Operation], is_reached: Callable[[Operation], bool]) -> bool | None:
    return next((found for op in ops if (found := _first(op, is_reached)) is not None), None)


def _first(op: Operation, is_reached: Callable[[Operation], bool]) -> bool | None:
    """Whether one is reached on a path through an operation (True), or a barrier is passed on all of them (False); None otherwise."""
    if isinstance(op, BarrierOp):
        return False
    if not op.regions:
        return True if is_reached(op) else None
    arms = [_first_of(region.blocks[0].ops, is_reached) for region in op.regions]
    if any(arms):
        return True
    return False if all(arm is False for arm in arms) and not is_loop(op) else None


def _handoff(switch: TableOp, type: PipelineType, warps: int) -> Pipeline:
    """What all warps arrive at in place of a barrier, and the issuer waits for."""
    arrivals = {"consumers": 1, "bytes": 0, "producers": warps}
    attributes = {name: IntegerAttr(count, i32) for name, count in arrivals.items()}
    return Pipeline(insert_before(CreatePipelineOp.make([], [type], attributes), switch))


class _Stages:
    """The stages that MMAs read and threads access: TMA fills them, or threads alone."""

    def __init__(self, inside: Sequence[Operation], acts: Sequence[TableOp]):
        waited = {as_op(op).pipeline for op in acts if isinstance(op, ConsumerWaitOp)}
        released = {op.pipeline for op in acts if is_async_mma(op) and op.pipeline is not None}
        self.pipelines = {pipeline: pipeline for pipeline in waited | released}
        self.pipelines |= {load.buffer: pipeline for pipeline in waited for load in _loads_of(pipeline)}
        own = set(acts)
        others = (op for op in inside if op not in own and not is_pure(op))
        self.accesses = {op: pipeline for op in others for pipeline in self._accessed(op)}
        waits = [op for op in acts if isinstance(op, ConsumerWaitOp)]
        self.waits = [op for op in waits if op.pipeline in self.accesses.values()]
        # What is loaded once, and no MMA releases.
        once = (op for op in waits if op.pipeline not in released and not enclosing_loops(op))
        self.held = [op for op in once if op not in self.waits]

    def _accessed(self, op: Operation) -> set[SSAValue]:
        return {self.pipelines[value] for value in op.operands if value in self.pipelines}

    def are_handed_over(self, sites: Collection[Operation]) -> bool:
        """Whether warps arrive between what they do with a stage and the MMA that releases it."""
        waits = {wait: wait.pipeline for wait in self.waits}
        return all(
            _is_drain(op) or _is_access(op) and _arrives(op, pipeline, sites)
            for op, pipeline in (self.accesses | waits).items()
        )

    def ahead_of(self, site: Operation) -> int:
        """How often warps may arrive before the issuer waits: for each stage that they wait for before a barrier, once, if an MMA of the block
        releases it behind that; 0 where there is none.
        """
        waited = {as_op(op).pipeline for op in _before(site) if op in self.waits or _fills_stage(op)}
        dots = (as_op(op) for op in ops_behind(site) if is_async_mma(op))
        rings = [type_as(dot.pipeline, PipelineType) for dot in dots if dot.pipeline in waited]
        return max((ring.stages.data for ring in rings), default=0)


def _fills_stage(op: Operation) -> bool:
    """Whether threads wait for a stage that they then fill."""
    return isinstance(op, ProducerAcquireOp) and bool(op.by_readers)


def _is_drain(op: Operation) -> bool:
    """Whether threads wait at their end for the release of what they have filled."""
    return isinstance(op, ProducerTailOp)


def _is_access(op: Operation) -> bool:
    """Whether threads wait for a stage, or read or write it, and do not release it."""
    return isinstance(op, (LocalLoadOp, LocalStoreOp, TmemStoreOp, ConsumerWaitOp)) or _fills_stage(op)


def _arrives(op: Operation, pipeline: SSAValue, sites: Collection[Operation]) -> bool:
    """Whether a barrier of the operation's block follows it, before any MMA that releases a stage of the pipeline."""
    for following in ops_behind(op):
        if following in sites:
            return True
        if any(is_async_mma(inner) and as_op(inner).pipeline is pipeline for inner in walk(following)):
            return False
    return False


def _is_waited_for(site: Operation) -> bool:
    """Whether a warp has waited for an MMA behind a barrier before it comes there again: one of the block is issued and then waited for
    in front of the barrier, or else the first one behind it whose completion threads wait for, with no such wait before it. Each is
    waited for before the next one on its accumulator is issued.
    """
    if any(_waits_in_order(_before(site))):
        return True
    passed: list[Operation] = []
    for op in ops_behind(site):
        if _is_issue(op) and as_op(op).ready is not None:
            ready = as_op(op).ready
            return not any(isinstance(one, ConsumerWaitOp) and as_op(one).pipeline is ready for one in passed)
        passed += walk(op)
    return False


def _waits_in_order(ops: Iterable[Operation]) -> Iterator[bool]:
    """For each wait for an MMA, whether one of the operations before it has issued that."""
    issued: set[SSAValue] = set()
    for op in ops:
        if isinstance(op, ConsumerWaitOp):
            yield op.pipeline in issued
        elif _is_issue(op) and as_op(op).ready is not None:
            issued.add(as_op(op).ready)


def _before(place: Operation) -> Iterator[Operation]:
    return takewhile(lambda op: op is not place, parent_block(place).ops)


# ---- the partitions ----------------------------------------------------------------------------------
class _BodySlice(ScalarSlice):
    """The scalars of the consumer; those from before the partitions are there for all."""

    def __init__(self, body: Block):
        super().__init__()
        self.body = body

    def add(self, value: SSAValue) -> bool:
        owner = value.block.parent_op() if isinstance(value, BlockArgument) else defining_op(value)
        if owner is None or ancestor_in(owner, self.body) is None:
            return True
        return super().add(value)


def _slice_of(acts: Sequence[TableOp], body: Block) -> ScalarSlice | None:
    """What the issuer computes; None where it would depend on tiles."""
    slice = _BodySlice(body)
    if not all([slice.add_control(op) and all(map(slice.add, op.operands)) for op in acts]):
        return None
    slice.needed.update(acts)
    return slice


class _Issuer(PartitionSlice):
    """The partition that issues the MMAs."""

    def __init__(self, handed: dict[Operation, Pipeline], slice: ScalarSlice):
        super().__init__([], slice)
        self.handed = handed

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        return _used_inside(self.handed, place)

    def emit(self, op: TableOp, state: PipelineState) -> None:
        if (handoff := self.handed.get(op)) is not None:
            state.wait(handoff)
            state.advance(handoff)


class _Computing(Consumer):
    """The warps that compute: they arrive in place of barriers, or behind those that order more than MMAs."""

    def __init__(self, handed: dict[Operation, Pipeline], kept: Collection[Operation]):
        super().__init__([])
        self.handed, self.kept = handed, kept

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        return _used_inside(self.handed, place)

    def emit(self, op: Operation, state: PipelineState) -> None:
        if (handoff := self.handed.get(op)) is None:
            return
        if op in self.kept:
            insert_before(BarrierOp.make([], []), op)
        state.insert(ProducerCommitOp.make([handoff.pipeline, state.tokens[handoff]], [], ordered=True))
        state.advance(handoff)
        op.detach()
        op.erase()


def _used_inside(handed: dict[Operation, Pipeline], place: Operation | None) -> list[Pipeline]:
    inside = None if place is None else set(walk(place))
    return [handoff for site, handoff in handed.items() if inside is None or site in inside]


def _erase(acts: Collection[Operation], body: Block) -> None:
    """Erase what the issuer has, and the scalars that only it read."""
    for op in acts:
        op.detach()
        op.erase()
    for op in reversed([inner for top in body.ops for inner in walk(top)]):
        if is_pure(op) and not op.regions and not is_loop_exit(op) and not any(users(result) for result in op.results):
            op.detach()
            op.erase()


def _move_behind(waits: Iterable[Operation], acts: Iterable[Operation]) -> None:
    """Move waits behind all MMAs of their blocks."""
    dots = list(filter(is_async_mma, acts))
    for wait in waits:
        block = parent_block(wait)
        issuing = {ancestor_in(dot, block) for dot in dots}
        last = next((op for op in reversed(list(block.ops)) if op in issuing), None)
        if last is not None and wait.is_before_in_block(last):
            wait.detach()
            block.insert_op_after(wait, last)


def _replace(switch: TableOp, issuer: Block, func: TableOp) -> None:
    """A switch with the issuer between the other partitions."""
    producer, consumer = (region.detach_block(region.blocks[0]) for region in switch.regions)
    insert_before(AgentSwitchOp.make([], [], {}, [Region(producer), Region(issuer), Region(consumer)]), switch)
    switch.detach()
    switch.erase()
    if func.partition_registers is None:
        func.producer_warps += 1
