"""Warp partitions, and the mbarrier pipelines between them (PTX ISA 9.0, section 9.7.13.15, mbarrier).

A pipeline of n stages has n full mbarriers, then n empty ones.
- A full mbarrier completes its phase when the TMA producer has arrived and the expected bytes have been written, when the
  warps that copy scales have arrived, or when the MMAs of an accumulator have completed.
- An empty mbarrier completes its phase when every consumer warp has arrived, or when the MMAs that read the stage have
  completed. A stage that the CTAs of a cluster fill together (``ctas``) waits for the warps of all of them, at the
  mbarrier of each CTA, before any CTA writes to another's shared memory.
A token is 2 * stage + phase; the phase flips at each wraparound of the stages.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, Pure

from ....ir.casting import as_op, defining_op, int_array_attr, int_attr, parent_block, parent_op, unwrap
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import BarrierOp, ClusterReduceOp, ProducerCommitOp, is_written_by_pair
from ....ir.dialects.nv_tileas.types import MBARRIER_BYTES
from ....ir.dialects.nvgpu import ops_barrier as nvgpu
from ....ir.dialects.nvgpu.ops_tma import TmaPrefetchDescriptorOp
from ....ir.dialects.nvvm import cluster_sync_and_fences, warp_sync
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import MmaRole, is_counted_loop, is_return, releases_on_completion, traits_of
from ....ir.layouts.tmem_layout import PAIR
from ...analysis.kernel_lifetime_storage import mbarriers_of_cluster
from ...analysis.resource_model import WARPGROUP
from ...common.llvm_type_constructors import I1, I32, SHARED
from ..emission.function_builder import Value
from ..emission.instruction_builder import INDEX, InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.thread_ids import ThreadIds
from ..emission.value_map import ValueMap
from .cluster_synchronization import CLUSTER_REDUCE_BARRIERS, arrivals_of_cluster, peer_address, sync_cluster
from .mbarrier_arrivals import (
    arrive_at,
    arrive_everywhere,
    arrive_of_elected,
    arrive_of_warp,
    arrive_of_warp_of_pair,
    initialize_mbarrier,
    mbarrier,
)

CONSUMER_WAIT = "nv_tileas.async.pipeline.consumer_wait"


# ---- tokens --------------------------------------------------------------------------------------
def stage_of(values: ValueMap, op: TableOp) -> Value:
    """The stage of a token."""
    if op.pipeline.type.stages.data == 1:
        return 0
    return values.b.shift(values.scalar(op.token), -1)


def phase_of(values: ValueMap, op: TableOp) -> Value:
    """The phase, 0 or 1, of a token, for waits that test parity."""
    return values.b.and_(values.scalar(op.token), 1)


def emit_advance(e: KernelEmitter, op: TableOp) -> None:
    b, token, stages = e.b, e.values.scalar(op.token), op.pipeline.type.stages.data
    if stages == 1:
        e.values[op.result] = b.xor(token, 1)
        return
    following = b.add(token, 2)
    wraps = b.compare("uge", following, 2 * stages)
    turned = b.xor(phase_of(e.values, op), 1)
    e.values[op.result] = b.select(wraps, turned, following, I32)


# ---- mbarriers -----------------------------------------------------------------------------------
def full_barrier(e: KernelEmitter, op: TableOp, stage: Value) -> Value:
    """The 32-bit shared address of a stage's full mbarrier."""
    return barrier_in(e, op.pipeline, stage)


def barrier_in(e: KernelEmitter, pipeline: SSAValue, stage: Value) -> Value:
    """``full_barrier`` of a pipeline."""
    return e.b.add(e.b.add(e.b.mul(stage, MBARRIER_BYTES), e.values.scalar(pipeline)), e.memory.shared_base)


def empty_barrier(e: KernelEmitter, op: TableOp, stage: Value) -> Value:
    return e.b.add(full_barrier(e, op, stage), MBARRIER_BYTES * op.pipeline.type.stages.data)


def emit_create(e: KernelEmitter, op: TableOp) -> None:
    e.values[op.result] = int_attr(op, "shared_offset")
    e.pipelines.created.append(op)


def emit_of_warpgroup(e: KernelEmitter, op: TableOp) -> None:
    """The address of the pipeline of this thread's warpgroup."""
    address = e.values.scalar(op.pipelines[0])
    with e.b.at_function_start():
        for number, pipeline in enumerate(op.pipelines[1:], 1):
            is_later = e.b.compare("uge", e.threads.uniform_warp, number * WARPGROUP)
            address = e.b.select(is_later, e.values.scalar(pipeline), address, I32)
    e.values[op.result] = address


def _initialize(e: KernelEmitter) -> None:
    """One thread initializes the arrival counts of all mbarriers; a barrier makes them visible to all partitions."""
    with e.b.if_then(e.threads.is_first_thread):
        for op in e.pipelines.created:
            stages, consumers = op.result.type.stages.data, int_attr(op, "consumers") * ctas_of(op.result)
            producers = PAIR * op.writers if op.writers else op.producers
            for number, arrivals in enumerate([producers] * stages + [consumers] * stages):
                initialize_mbarrier(e, int_attr(op, "shared_offset") + MBARRIER_BYTES * number, arrivals)
        for barrier in e.pipelines.cluster_barriers:
            for number in range(mbarriers_of_cluster(e.ctas)):
                place = barrier.shared_offset + MBARRIER_BYTES * number
                initialize_mbarrier(e, place, arrivals_of_cluster(e.num_warps, e.ctas))
        e.b.issue(cluster_sync_and_fences.FenceMBarrierInitOp)
    if e.tmem is not None:
        e.tmem.allocate(e)
    elif uses_cluster_barriers(e):
        sync_cluster(e.b)
    else:
        e.b.operation(gpu.BarrierOp, ())


def ctas_of(pipeline: SSAValue) -> int:
    """The CTAs that fill the stages of a pipeline together."""
    return int_attr(defining_op(pipeline), "ctas", absent=1)


def is_pair(pipeline: SSAValue) -> bool:
    """Whether the MMAs of a pair of CTAs read, and release, the stages of both."""
    return "pair" in defining_op(pipeline).attributes


def fills_for_first(pipeline: SSAValue) -> bool:
    """Whether the first CTA of a pair waits for the stages of both."""
    return is_pair(pipeline) and "in_each" not in defining_op(pipeline).attributes


def uses_cluster_barriers(e: KernelEmitter) -> bool:
    if e.pipelines.cluster_barriers:
        return True
    return any(ctas_of(op.result) > 1 or is_pair(op.result) for op in e.pipelines.created)


@contextmanager
def leading(threads: ThreadIds):
    """A block that the first CTA of a pair executes; the MMA partition of one thread is in that CTA only."""
    with nullcontext() if threads.is_single_thread else threads.b.if_then(threads.leads_pair):
        yield


def barrier_of_pair(threads: ThreadIds, address: Value) -> Value:
    """The mbarrier at the same offset in the first CTA of the pair."""
    leader = threads.pair_leader
    return peer_address(threads.b, address) if leader == 0 else peer_address(threads.b, address, leader)


# ---- waiting -------------------------------------------------------------------------------------
def wait(b: InstructionBuilder, address: Value, parity: Value) -> None:
    """Wait until the phase of this parity of an mbarrier of this CTA is complete.

    It acquires at CTA scope regardless of the arriving threads, as the guarded data is in this CTA's shared and tensor
    memory. An acquire at cluster scope would invalidate L1 after every wait (CCTL.IVALL).
    """
    again, done = b.label(), b.label()
    at, first = mbarrier(b, b.pointer(address, SHARED))
    bit = b.bridge(parity, I1)
    b.branch(again)
    b.start(again)
    complete = b.value(nvgpu.MBarrierTryWaitParityOp, (at, bit, first), I1)
    b.branch_if(complete, done, again)
    b.start(done)
    # Keep accesses to the guarded data after the wait.
    b.issue(cluster_sync_and_fences.MemoryClobberOp)


def emit_producer_acquire(e: KernelEmitter, op: TableOp) -> None:
    stage = stage_of(e.values, op)
    # At first all stages are empty: the phase before the first counts as complete.
    wait(e.b, empty_barrier(e, op, stage), e.b.xor(phase_of(e.values, op), 1))
    if op.by_readers or is_written_by_pair(op.pipeline):
        return
    bytes = op.bytes or op.pipeline.owner.bytes
    if fills_for_first(op.pipeline):
        with e.b.if_then(e.threads.leads_pair):
            _expect(e.b, full_barrier(e, op, stage), 2 * bytes)
    else:
        _expect(e.b, full_barrier(e, op, stage), bytes)


def emit_producer_tail(e: KernelEmitter, op: TableOp) -> None:
    """Wait for all stages: those before the token's stage are in its phase, the others in the phase before."""
    current, phase = stage_of(e.values, op), phase_of(e.values, op)
    with leading(e.threads) if _is_released_to_pair(op.pipeline) else nullcontext():
        for stage in range(op.pipeline.type.stages.data):
            before = e.b.compare("ule", current, stage)
            wait(e.b, empty_barrier(e, op, stage), e.b.xor(phase, e.b.cast("zext", before, I32)))


def _expect(b: InstructionBuilder, full: Value, bytes: int) -> None:
    at, first = mbarrier(b, b.pointer(full, SHARED))
    b.operation(nvgpu.MBarrierArriveExpectTxOp, (at, b.bridge(bytes, INDEX), first))


def emit_producer_commit(e: KernelEmitter, op: TableOp) -> None:
    """Make each thread's writes visible to the asynchronous proxy, then arrive once for the warp."""
    if op.ordered:
        return arrive_of_elected(e.threads, full_barrier(e, op, stage_of(e.values, op)))
    e.b.issue(cluster_sync_and_fences.FenceProxyAsyncOp, shared=True)
    full = full_barrier(e, op, stage_of(e.values, op))
    if is_written_by_pair(op.pipeline):
        arrive_of_warp_of_pair(e.threads, full)
    else:
        arrive_of_warp(e.threads, full)


def emit_consumer_wait(e: KernelEmitter, op: TableOp) -> None:
    released_by_mma = _is_released_by_mma(op.pipeline)
    mma_only = op.by_issuer or released_by_mma and _has_only_mma(parent_block(op))
    with ExitStack() as waiting:
        if fills_for_first(op.pipeline):
            waiting.enter_context(leading(e.threads))
        if mma_only:
            waiting.enter_context(e.threads.one_warp())
        wait(e.b, full_barrier(e, op, stage_of(e.values, op)), phase_of(e.values, op))
    if released_by_mma and not (mma_only or e.threads.is_single_thread or _sync_before_mma(op)):
        e.memory.barrier()


def _is_released_by_mma(pipeline: SSAValue) -> bool:
    """Whether only MMAs that one thread issues read the stages, so that their completion releases them.

    A warp that waits for a stage without releasing it may test the mbarrier after the next phase has completed, and then
    hang (PTX ISA 9.0, section 9.7.13.15.16). So either only the MMA warp waits, or all warps wait before it issues.
    """
    users = [use.operation for use in pipeline.uses]
    by_threads = any(op.name == "nv_tileas.async.pipeline.consumer_release" for op in users)
    return not by_threads and any(releases_on_completion(op) and op.pipeline is pipeline for op in users)


def _has_only_mma(block: Block) -> bool:
    """Whether a block has only MMAs: nothing else relies on the full stage as proof that earlier MMAs have completed."""
    return all(_is_of_mma(op) or op.has_trait(Pure) or op.has_trait(IsTerminator) for op in block.ops)


def _is_of_mma(op: Operation) -> bool:
    """Whether the one warp that issues MMAs may do it without the others."""
    return bool(traits_of(op).mma & (MmaRole.RELEASE | MmaRole.COMMIT)) or op.name == CONSUMER_WAIT


def _sync_before_mma(op: TableOp) -> bool:
    """Whether a barrier of all threads, or what another partition has in its place, is between a wait and the next MMA of its block."""
    following = op.next_op
    while following is not None and not releases_on_completion(following):
        if isinstance(following, BarrierOp):
            return True
        if isinstance(following, ProducerCommitOp) and (following.ordered or is_written_by_pair(following.pipeline)):
            return True
        following = following.next_op
    return False


def emit_consumer_release(e: KernelEmitter, op: TableOp) -> None:
    b, stage = e.b, stage_of(e.values, op)
    if "previous_stage" in op.attributes:
        last = op.pipeline.type.stages.data - 1
        first = b.compare("eq", stage, 0)
        stage = b.select(first, last, b.sub(stage, 1), I32)
    ctas = 1 if _is_acquired_by_issuer(op.pipeline) else ctas_of(op.pipeline)
    with e.b.at_function_start():
        is_leader = b.compare("ult", e.threads.lane, ctas) if ctas > 1 else b.compare("eq", e.threads.lane, 0)
    enabled = is_leader if op.enabled is None else b.all_lanes(is_leader, e.values.scalar(op.enabled))
    b.issue(warp_sync.BarWarpSyncOp, -1)
    address = empty_barrier(e, op, stage)
    if ctas > 1:
        arrive_everywhere(e.threads, address, enabled, ctas)
        return
    if _is_released_to_pair(op.pipeline):
        arrive_at(e.threads, address, enabled, e.threads.pair_leader)  # it issues the MMAs of the pair
        return
    b.operation(nvgpu.MBarrierArriveOp, (*mbarrier(e.b, b.pointer(address, SHARED)), b.of(enabled, I1)))


def _is_released_to_pair(pipeline: SSAValue) -> bool:
    """Whether the warps of both CTAs of a pair release accumulators to the one that issues MMAs."""
    return ctas_of(pipeline) > 1 and _is_acquired_by_issuer(pipeline)


def _is_acquired_by_issuer(pipeline: SSAValue) -> bool:
    return any(MmaRole.ACQUIRE in traits_of(use.operation).mma for use in pipeline.uses)


# ---- warp partitions -----------------------------------------------------------------------------
def emit_agent_switch(e: KernelEmitter, op: TableOp) -> None:
    """Branch to the partitions: the compute warps are first. One thread of the first producer warp issues TMA loads,
    one of each of the next ones issues MMAs, and all threads of further warps copy scales.
    """
    b = e.b
    barriers = (inner for inner in walk(op.regions[-1]) if isinstance(inner, BarrierOp))
    e.pipelines.cluster_barriers = [barrier for barrier in barriers if as_op(barrier).shared_offset is not None]
    _initialize(e)
    compute, done = b.label(), b.label()
    if len(op.regions) > 1:
        _emit_producers(e, op, compute, done)
    else:
        b.branch(compute)
    b.start(compute)
    with b.scope():
        _set_registers(e.b, op, -1)
        _shuffle_loop_bounds(e, op)
        with _joined_returns(e, op.regions[-1]):
            e.emit_block(op.regions[-1].blocks[0])
        if e.tmem is not None:
            e.tmem.end_consumers(e)
        b.branch(done)
    e.pipelines.partition_exit = None
    b.start(done)
    if e.tmem is not None:
        e.tmem.end_kernel(e)


def _emit_producers(e: KernelEmitter, op: TableOp, compute: Block, done: Block) -> None:
    """Branch to the partitions of the producer warps, or to ``compute``."""
    b, producer_block = e.b, e.b.label()
    with b.at_function_start():
        is_producer = b.compare("uge", e.threads.uniform_warp, e.num_warps)
    b.branch_if(is_producer, producer_block, compute)
    b.start(producer_block)
    barriers = CLUSTER_REDUCE_BARRIERS * sum(isinstance(inner, ClusterReduceOp) for inner in walk(op.regions[-1]))
    end, done = done, b.label() if barriers else done
    e.pipelines.partition_exit = done
    with b.scope():
        _set_registers(b, op, 0)
        elected = e.threads.elect()
        for number, region in enumerate(op.regions[:-1]):
            if number <= op.issuers:
                _emit_one_thread_partition(e, number, elected, region.blocks[0], done)
            else:
                _emit_warp_partition(e, number, region.blocks[0], done)
        b.branch(done)
    if barriers:
        b.start(done)
        for _ in range(barriers):  # of all threads of the cluster
            sync_cluster(b, aligned=False)
        b.branch(end)


@contextmanager
def _joined_returns(e: KernelEmitter, region: Region):
    """Returns of the compute partition branch to the end of its code, where tensor memory is freed."""
    if not any(map(is_return, walk(region))):
        yield
        return
    outer, e.pipelines.partition_exit = e.pipelines.partition_exit, e.b.label()
    with e.b.scope():
        yield
        e.b.branch(e.pipelines.partition_exit)
    e.b.start(e.pipelines.partition_exit)
    e.pipelines.partition_exit = outer


def _emit_one_thread_partition(e: KernelEmitter, number: int, elected: Value, block: Block, done: Block) -> None:
    """The partition of one thread of producer warp ``number``; warp 0 loads by TMA."""
    b, is_leader = e.b, [elected]
    if e.producer_warps > 1:
        is_leader.append(b.compare("eq", e.threads.uniform_warp, e.num_warps + number))
    if number and unwrap(e.tmem).is_pair:
        is_leader.append(e.threads.leads_pair)  # it issues the MMAs of the pair
    lead, on = b.label(), b.label()
    b.branch_if(b.all_lanes(*is_leader), lead, on)
    b.start(lead)
    with b.scope():
        if not number:
            for map in e.pipelines.tensor_maps:
                b.operation(TmaPrefetchDescriptorOp, (map,))
        else:
            unwrap(e.tmem).begin_issuer(e)
        e.threads.is_single_thread = True
        e.emit_block(block)
        e.threads.is_single_thread = False
        b.branch(done)
    b.start(on)


def _emit_warp_partition(e: KernelEmitter, number: int, block: Block, done: Block) -> None:
    """The partition of all threads of producer warp ``number``."""
    b = e.b
    own, on = b.label(), b.label()
    b.branch_if(b.compare("eq", e.threads.uniform_warp, e.num_warps + number), own, on)
    b.start(own)
    with b.scope():
        e.emit_block(block)
        b.branch(done)
    b.start(on)


def _set_registers(b: InstructionBuilder, op: TableOp, partition: int) -> None:
    """Move registers from the producer warps to the compute warps (PTX ISA 9.0, setmaxnreg)."""
    kernel = parent_op(op)
    if "partition_registers" in kernel.attributes:
        action, count = ("dec", "inc")[partition], int_array_attr(kernel, "partition_registers")[partition]
        b.issue(cluster_sync_and_fences.SetMaxRegisterOp, action=action, count=count)


def _shuffle_loop_bounds(e: KernelEmitter, op: TableOp) -> None:
    """Give the compute warps copies of their loops' bounds, where producer warps have few registers.

    ptxas keeps a value in one register in all partitions, and spills it in all where no low one is free: the compute warps have
    columns of tensor memory there. It removes moves, but no shuffle, of whose result it also knows that it is uniform.
    """
    if e.tmem is None or "partition_registers" not in parent_op(op).attributes:
        return
    loops = [inner for inner in walk(op.regions[-1]) if is_counted_loop(inner)]
    bounds = dict.fromkeys(bound for loop in loops for bound in (as_op(loop).lower, as_op(loop).upper))
    for bound in bounds:
        held = e.values.get(bound)  # None: computed by the compute warps
        if isinstance(held, SSAValue) and held.type == I32:
            e.values[bound] = e.b.shuffle(gpu.ShuffleMode.IDX, held, 0)


HANDLERS: dict[str, Handler] = {
    "nv_tileas.async.pipeline.create": emit_create,
    "nv_tileas.async.pipeline.of_warpgroup": emit_of_warpgroup,
    "nv_tileas.async.pipeline.advance": emit_advance,
    "nv_tileas.async.pipeline.producer_acquire": emit_producer_acquire,
    "nv_tileas.async.pipeline.producer_commit": emit_producer_commit,
    "nv_tileas.async.pipeline.producer_tail": emit_producer_tail,
    "nv_tileas.async.pipeline.consumer_wait": emit_consumer_wait,
    "nv_tileas.async.pipeline.consumer_release": emit_consumer_release,
    "nv_tileas.agent_switch": emit_agent_switch,
}
