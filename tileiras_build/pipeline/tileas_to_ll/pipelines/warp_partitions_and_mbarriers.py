"""Agents, and the rings of stages between them (PTX ISA 9.0, section 9.7.13.15, mbarrier).

A pipeline of n stages is n full mbarriers, then n empty ones. A full one completes its phase when the agent that fetches
has arrived and all bytes it announced have, when the warps that copy scales have, or when the products of a sum are done; an empty one when every computing warp
has arrived, or when the products that read the stage are done. Stages that the CTAs of a cluster fill together (``ctas``)
are empty when the warps of all of them have arrived, at the mbarrier of each CTA: none writes into another's shared memory
too early. A token is twice the stage plus the phase, which changes each time around.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.traits import IsTerminator, Pure

from ....ir.casting import defining_op, int_array_attr, int_attr, parent_block, parent_op, unwrap
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.cute_nvgpu import ops as cute_nvgpu
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.gpu_ext import AddressSpace, AddressSpaceAttr
from ....ir.dialects.nv_tileas.ops import BarrierOp
from ....ir.dialects.nv_tileas.types import MBARRIER_BYTES
from ....ir.dialects.nvgpu import ops_barrier as nvgpu
from ....ir.dialects.nvgpu.attrs import MBarrierGroupType
from ....ir.dialects.nvgpu.ops_tensor_map import TmaPrefetchDescriptorOp
from ....ir.dialects.nvvm import barriers, tcgen05, warp_sync
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_return
from ...common.llvm_types import CLUSTER, I1, I8, I32, SHARED, TENSOR
from ..emission.function_builder import Value
from ..emission.instruction_builder import INDEX, InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.pipeline_state import TensorMemory
from ..emission.thread_ids import ThreadIds
from ..emission.value_map import ValueMap

ONE_THREAD_PARTITIONS = 2  # the first of the warps that do not compute
RELEASED_BY = {"nv_tileas.async.umma", "nv_tileas.async.umma_release"}
# What one warp does of a loop that only multiplies.
MMA_OPS = RELEASED_BY | {"nv_tileas.async.umma_commit", "nv_tileas.async.pipeline.consumer_wait"}
MBARRIER = MBarrierGroupType(AddressSpaceAttr(AddressSpace.WORKGROUP), IntAttr(1))


# ---- tokens --------------------------------------------------------------------------------------
def stage_of(values: ValueMap, op: TableOp) -> Value:
    """The stage that a token names."""
    if op.pipeline.type.stages.data == 1:
        return 0
    return values.b.shift(values.scalar(op.token), -1)


def phase_of(values: ValueMap, op: TableOp) -> Value:
    """The phase, 0 or 1, that a token carries for waits that test parity."""
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


def mbarrier(b: InstructionBuilder, address: SSAValue) -> tuple[SSAValue, SSAValue]:
    """What operations on an mbarrier take for it: a group of one, and its number there."""
    return b.bridge(address, MBARRIER), b.bridge(0, INDEX)


def emit_create(e: KernelEmitter, op: TableOp) -> None:
    e.values[op.result] = int_attr(op, "shared_offset")
    e.pipelines.created.append(op)


def _initialize(e: KernelEmitter) -> None:
    """One thread sets the arrivals that each mbarrier waits for; all agents see them after the barrier."""
    with e.b.if_then(e.threads.is_first_thread):
        for op in e.pipelines.created:
            stages, consumers = op.result.type.stages.data, int_attr(op, "consumers") * ctas_of(op.result)
            producers = int_attr(op, "producers", absent=1)
            for number, arrivals in enumerate([producers] * stages + [consumers] * stages):
                offset = int_attr(op, "shared_offset") + MBARRIER_BYTES * number
                at, first = mbarrier(e.b, e.b.offset(e.memory.shared_memory, offset, I8))
                e.b.operation(nvgpu.MBarrierInitOp, (at, e.b.bridge(arrivals, INDEX), first))
        e.b.issue(barriers.FenceMBarrierInitOp)
    if e.tmem.allocation is not None:
        _alloc_tmem(e)
    elif _uses_cluster_barriers(e):
        _sync_cluster(e.b)
    else:
        e.b.operation(gpu.BarrierOp, ())


def ctas_of(pipeline: SSAValue) -> int:
    """The CTAs that fill the stages of a pipeline together."""
    return int_attr(defining_op(pipeline), "ctas", absent=1)


def is_pair(pipeline: SSAValue) -> bool:
    """Whether the CTA of rank 0 waits for the stages of both CTAs of a pair."""
    return "pair" in defining_op(pipeline).attributes


def _uses_cluster_barriers(e: KernelEmitter) -> bool:
    return any(ctas_of(op.result) > 1 or is_pair(op.result) for op in e.pipelines.created)


def leads_pair(threads: ThreadIds) -> Value:
    with threads.b.at_function_start():
        return threads.b.compare("eq", threads.cta_rank, 0)


@contextmanager
def leading(threads: ThreadIds):
    """What the first CTA of a pair does; an agent of one thread that issues products is in that one only."""
    with nullcontext() if threads.is_single_thread else threads.b.if_then(leads_pair(threads)):
        yield


def barrier_of_pair(b: InstructionBuilder, address: Value) -> Value:
    """The mbarrier at the same place in the CTA of rank 0."""
    return _peer_address(b, address)


def _peer_address(b: InstructionBuilder, address: Value, *rank: Value) -> Value:
    """A shared address in the CTA of a rank, of the first one where none is given; computed anew each time."""
    return b.value(barriers.MapaOp, tuple(b.of(value, I32) for value in (address, *rank)), I32)


def _sync_cluster(b: InstructionBuilder) -> None:
    """All threads of the cluster, whose CTAs use each other's mbarriers and shared memory from here on.

    The mbarriers have been released to the cluster by a fence; what else has been written is the CTA's own.
    """
    b.issue(barriers.ClusterArriveRelaxedOp, aligned=True)
    b.issue(barriers.ClusterWaitOp, aligned=True)


def _sync_cluster_before_exit(e: KernelEmitter) -> None:
    """No CTA ends while another may still write into its shared memory; agents come here one by one.

    Each has arrived at the others' mbarriers before: only an arrival that releases says that this has been done by then.
    """
    if _uses_cluster_barriers(e):
        e.b.issue(barriers.ClusterArriveOp)
        e.b.issue(barriers.ClusterWaitOp)


# ---- tensor memory -------------------------------------------------------------------------------
def _tmem_address_slot(e: KernelEmitter) -> Value:
    """Where the allocation leaves its address."""
    address = e.b.add(e.memory.shared_base, int_attr(unwrap(e.tmem.allocation), "shared_offset"))
    return e.b.pointer(address, SHARED)


def _tmem_columns(tmem: TensorMemory) -> int:
    return unwrap(tmem.allocation).result.type.columns.data


def _alloc_tmem(e: KernelEmitter) -> None:
    """Another CTA may allocate as soon as this one has.

    A pair allocates together, by way of each other's shared memory: both run before either begins (PTX ISA 9.0, section 9.7.16.4).
    """
    group = {"cta_group": _ctas_of_group(e.tmem)}
    if _uses_cluster_barriers(e):
        _sync_cluster(e.b)
    with e.b.if_then(e.threads.is_first_warp):
        e.b.issue(
            cute_nvgpu.AllocateTensorMemoryOp, _tmem_address_slot(e), type=None, columns=_tmem_columns(e.tmem), **group
        )
        e.b.issue(cute_nvgpu.RelinquishOp, type=None, **group)
    e.b.issue(tcgen05.FenceBeforeOp)
    e.b.operation(gpu.BarrierOp, ())
    e.b.issue(tcgen05.FenceAfterOp)
    e.tmem.base = e.b.issue(cute_nvgpu.TensorMemoryAddressOp, _tmem_address_slot(e), type=I32)


def _ctas_of_group(tmem: TensorMemory) -> int:
    return 2 if tmem.cta_group == "cg2" else 1


def _dealloc_tmem(e: KernelEmitter) -> None:
    columns = _tmem_columns(e.tmem)
    with e.b.if_then(e.threads.is_first_warp):
        address = e.b.pointer(e.tmem.base, TENSOR)
        e.b.issue(cute_nvgpu.FreeTensorMemoryOp, address, columns=columns, cta_group=_ctas_of_group(e.tmem))


# ---- waiting -------------------------------------------------------------------------------------
def wait(b: InstructionBuilder, address: Value, parity: Value) -> None:
    """Until the phase of an mbarrier of this CTA with this parity is complete.

    It acquires at the CTA's scope whoever arrives: what it guards lies in this CTA's shared and tensor memory. An acquire
    of the cluster would drop all of L1 after every wait (CCTL.IVALL).
    """
    again, done = b.label(), b.label()
    at, first = mbarrier(b, b.pointer(address, SHARED))
    bit = b.bridge(parity, I1)
    b.branch(again)
    b.start(again)
    complete = b.value(nvgpu.MBarrierTryWaitParityOp, (at, bit, first), I1)
    b.branch_if(complete, done, again)
    b.start(done)
    # What the mbarrier guards is not read earlier.
    b.issue(barriers.MemoryClobberOp)


def emit_producer_acquire(e: KernelEmitter, op: TableOp) -> None:
    stage = stage_of(e.values, op)
    # The first time around every stage is empty: the phase before the first one counts as complete.
    wait(e.b, empty_barrier(e, op, stage), e.b.xor(phase_of(e.values, op), 1))
    bytes = op.pipeline.owner.attributes["bytes"].value.data
    if is_pair(op.pipeline):
        with e.b.if_then(leads_pair(e.threads)):
            _expect(e.b, full_barrier(e, op, stage), 2 * bytes)
    else:
        _expect(e.b, full_barrier(e, op, stage), bytes)


def emit_umma_acquire(e: KernelEmitter, op: TableOp) -> None:
    wait(e.b, empty_barrier(e, op, stage_of(e.values, op)), e.b.xor(phase_of(e.values, op), 1))


def emit_producer_tail(e: KernelEmitter, op: TableOp) -> None:
    """Each stage: before the token's stage those of its phase, from it on those of the phase before."""
    current, phase = stage_of(e.values, op), phase_of(e.values, op)
    for stage in range(op.pipeline.type.stages.data):
        before = e.b.compare("ule", current, stage)
        wait(e.b, empty_barrier(e, op, stage), e.b.xor(phase, e.b.cast("zext", before, I32)))


def _expect(b: InstructionBuilder, full: Value, bytes: int) -> None:
    at, first = mbarrier(b, b.pointer(full, SHARED))
    b.operation(nvgpu.MBarrierArriveExpectTxOp, (at, b.bridge(bytes, INDEX), first))


def emit_producer_commit(e: KernelEmitter, op: TableOp) -> None:
    """Each thread's writes are in reach of the asynchronous proxy before the warp arrives."""
    e.b.issue(barriers.FenceProxyAsyncOp, shared=True)
    arrive_of_warp(e.threads, full_barrier(e, op, stage_of(e.values, op)))


def arrive_of_warp(threads: ThreadIds, address: Value) -> None:
    """One arrival at an mbarrier, once all threads of this warp are here."""
    threads.b.issue(warp_sync.BarWarpSyncOp, -1)
    with threads.b.at_function_start():
        leads = threads.b.compare("eq", threads.lane, 0)
    at, first = mbarrier(threads.b, threads.b.pointer(address, SHARED))
    threads.b.operation(nvgpu.MBarrierArriveOp, (at, first, threads.b.of(leads, I1)))


def emit_consumer_wait(e: KernelEmitter, op: TableOp) -> None:
    by_products = _is_released_by_mma(op.pipeline)
    alone = by_products and _has_only_mma(parent_block(op))
    with ExitStack() as waiting:
        if is_pair(op.pipeline):
            waiting.enter_context(leading(e.threads))
        if alone:
            waiting.enter_context(e.threads.one_warp())
        wait(e.b, full_barrier(e, op, stage_of(e.values, op)), phase_of(e.values, op))
    if by_products and not (alone or e.threads.is_single_thread or _sync_before_mma(op)):
        e.memory.barrier()


def _is_released_by_mma(pipeline: SSAValue) -> bool:
    """Whether the stages are read by products of one thread alone, whose end empties them.

    A warp that looks at a stage which it does not empty may come too late, when the phase that it waits for has been followed by
    another, and then sleep for good (PTX ISA 9.0, section 9.7.13.15.16). So either the warp that multiplies waits alone, or all have
    waited before it multiplies.
    """
    users = [use.operation for use in pipeline.uses]
    by_threads = any(op.name == "nv_tileas.async.pipeline.consumer_release" for op in users)
    return not by_threads and any(op.name in RELEASED_BY and op.pipeline is pipeline for op in users)


def _has_only_mma(block: Block) -> bool:
    """Whether nothing else in a block relies on what the filled stage says: that older products are done."""
    return all(op.name in MMA_OPS or op.has_trait(Pure) or op.has_trait(IsTerminator) for op in block.ops)


def _sync_before_mma(op: TableOp) -> bool:
    """Whether all threads meet between a wait and the next product of its block."""
    following = op.next_op
    while following is not None and following.name not in RELEASED_BY:
        if following.name == BarrierOp.name:
            return True
        following = following.next_op
    return False


def emit_consumer_release(e: KernelEmitter, op: TableOp) -> None:
    b, stage = e.b, stage_of(e.values, op)
    if "previous_stage" in op.attributes:
        last = op.pipeline.type.stages.data - 1
        first = b.compare("eq", stage, 0)
        stage = b.select(first, last, b.sub(stage, 1), I32)
    ctas = ctas_of(op.pipeline)
    with e.b.at_function_start():
        leads = b.compare("ult", e.threads.lane, ctas) if ctas > 1 else b.compare("eq", e.threads.lane, 0)
    enabled = leads if op.enabled is None else b.all_lanes(leads, e.values.scalar(op.enabled))
    b.issue(warp_sync.BarWarpSyncOp, -1)
    address = empty_barrier(e, op, stage)
    if ctas > 1:
        _arrive_everywhere(e.threads, address, enabled, ctas)
        return
    b.operation(nvgpu.MBarrierArriveOp, (*mbarrier(e.b, b.pointer(address, SHARED)), b.of(enabled, I1)))


def _arrive_everywhere(threads: ThreadIds, address: Value, enabled: Value, ctas: int) -> None:
    """A lane for each CTA of the cluster arrives at the mbarrier at this place there.

    The arrival has no scope: it says that reads are done, there is no write for the other CTA to see, and a release of
    the cluster would wait for all that this thread wrote anywhere (MEMBAR.ALL.GPU).
    """
    rank = threads.b.and_(threads.lane, ctas - 1)
    threads.b.issue(
        barriers.MBarrierArriveOp, enabled, threads.b.pointer(_peer_address(threads.b, address, rank), CLUSTER)
    )


# ---- agents --------------------------------------------------------------------------------------
def emit_agent_switch(e: KernelEmitter, op: TableOp) -> None:
    """The warps after those that compute: one thread of the first fetches, one of the next issues products, all of each
    further one copy scales.
    """
    b = e.b
    _initialize(e)
    apart, compute, done = (b.label() for _ in range(3))
    with e.b.at_function_start():
        is_apart = b.compare("uge", e.threads.uniform_warp, e.num_warps)
    b.branch_if(is_apart, apart, compute)
    b.start(apart)
    e.pipelines.partition_exit = done
    with b.scope():
        _set_registers(e.b, op, 0)
        elected = e.threads.elect()
        for number, region in enumerate(op.regions[:-1]):
            if number < ONE_THREAD_PARTITIONS:
                _emit_one_thread_partition(e, number, elected, region.blocks[0], done)
            else:
                _emit_warp_partition(e, number, region.blocks[0], done)
        b.branch(done)
    b.start(compute)
    with b.scope():
        _set_registers(e.b, op, -1)
        with _joined_returns(e, op.regions[-1]):
            e.emit_block(op.regions[-1].blocks[0])
        if e.tmem.allocation is not None and e.tmem.cta_group == "cg1":
            e.memory.barrier()  # no warp reads what the first one frees
            _dealloc_tmem(e)
        b.branch(done)
    e.pipelines.partition_exit = None
    b.start(done)
    _sync_cluster_before_exit(e)
    if e.tmem.allocation is not None and e.tmem.cta_group == "cg2":
        _dealloc_tmem(e)  # neither CTA of the pair reads any more (PTX ISA 9.0, section 9.7.16.5, table 47)


@contextmanager
def _joined_returns(e: KernelEmitter, region: Region):
    """Returns of the agent that computes go on behind its code, where tensor memory is freed."""
    if not any(map(is_return, walk(region))):
        yield
        return
    around, e.pipelines.partition_exit = e.pipelines.partition_exit, e.b.label()
    with e.b.scope():
        yield
        e.b.branch(e.pipelines.partition_exit)
    e.b.start(e.pipelines.partition_exit)
    e.pipelines.partition_exit = around


def _emit_one_thread_partition(e: KernelEmitter, number: int, elected: Value, block: Block, done: Block) -> None:
    """The agent of one thread of warp ``number`` of those that do not compute: the first one fetches."""
    b, leads = e.b, [elected]
    if e.producer_warps > 1:
        leads.append(b.compare("eq", e.threads.uniform_warp, e.num_warps + number))
    if number and e.tmem.cta_group == "cg2":
        leads.append(leads_pair(e.threads))  # the other CTA's products are its own
    lead, on = b.label(), b.label()
    b.branch_if(b.all_lanes(*leads), lead, on)
    b.start(lead)
    with b.scope():
        if not number:
            for map in e.pipelines.tensor_maps:
                b.operation(TmaPrefetchDescriptorOp, (map,))
        else:
            # Where a loop, such as a wait, comes first, ptxas no longer sees that only one thread issues products.
            b.issue(tcgen05.FenceAfterOp)
        e.threads.is_single_thread = True
        e.emit_block(block)
        e.threads.is_single_thread = False
        b.branch(done)
    b.start(on)


def _emit_warp_partition(e: KernelEmitter, number: int, block: Block, done: Block) -> None:
    """The agent of all threads of warp ``number`` of those that do not compute."""
    b = e.b
    own, on = b.label(), b.label()
    b.branch_if(b.compare("eq", e.threads.uniform_warp, e.num_warps + number), own, on)
    b.start(own)
    with b.scope():
        e.emit_block(block)
        b.branch(done)
    b.start(on)


def _set_registers(b: InstructionBuilder, op: TableOp, partition: int) -> None:
    """What the fetching warps give up, the computing ones take (PTX ISA 9.0, setmaxnreg)."""
    agents = parent_op(op)
    if "partition_registers" in agents.attributes:
        action, count = ("dec", "inc")[partition], int_array_attr(agents, "partition_registers")[partition]
        b.issue(barriers.SetMaxRegisterOp, action=action, count=count)


HANDLERS: dict[str, Handler] = {
    "nv_tileas.async.pipeline.create": emit_create,
    "nv_tileas.async.pipeline.advance": emit_advance,
    "nv_tileas.async.pipeline.producer_acquire": emit_producer_acquire,
    "nv_tileas.async.pipeline.producer_commit": emit_producer_commit,
    "nv_tileas.async.pipeline.producer_tail": emit_producer_tail,
    "nv_tileas.async.pipeline.consumer_wait": emit_consumer_wait,
    "nv_tileas.async.pipeline.consumer_release": emit_consumer_release,
    "nv_tileas.async.umma_acquire": emit_umma_acquire,
    "nv_tileas.agent_switch": emit_agent_switch,
}
