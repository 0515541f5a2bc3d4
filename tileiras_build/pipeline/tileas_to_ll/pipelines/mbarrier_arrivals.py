"""Arrivals at mbarriers: of a thread, of a warp, at those of other CTAs (PTX ISA 9.0, section 9.7.13.15, mbarrier)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import SSAValue

from ....ir.dialects.gpu_ext import AddressSpace, AddressSpaceAttr
from ....ir.dialects.nvgpu import ops_barrier as nvgpu
from ....ir.dialects.nvgpu.types import MBarrierGroupType
from ....ir.dialects.nvvm import cluster_sync_and_fences, warp_sync
from ...common.llvm_type_constructors import CLUSTER, I1, I8, SHARED
from ..emission.function_builder import Value
from ..emission.instruction_builder import INDEX, InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from ..emission.thread_ids import ThreadIds
from .cluster_synchronization import peer_address

MBARRIER = MBarrierGroupType(AddressSpaceAttr(AddressSpace.WORKGROUP), IntAttr(1))


def mbarrier(b: InstructionBuilder, address: SSAValue) -> tuple[SSAValue, SSAValue]:
    """An mbarrier as operands of nvgpu: a group of one, and its index there."""
    return b.bridge(address, MBARRIER), b.bridge(0, INDEX)


def initialize_mbarrier(e: KernelEmitter, offset: int, arrivals: int) -> None:
    """Initialize the mbarrier at an offset in shared memory, whose phases have so many arrivals."""
    at, first = mbarrier(e.b, e.b.offset(e.memory.shared_memory, offset, I8))
    e.b.operation(nvgpu.MBarrierInitOp, (at, e.b.bridge(arrivals, INDEX), first))


def arrive_of_warp(threads: ThreadIds, address: Value) -> None:
    """Arrive once at an mbarrier after all threads of this warp have reached this point."""
    threads.b.issue(warp_sync.BarWarpSyncOp, -1)
    with threads.b.at_function_start():
        is_leader = threads.b.compare("eq", threads.lane, 0)
    at, first = mbarrier(threads.b, threads.b.pointer(address, SHARED))
    threads.b.operation(nvgpu.MBarrierArriveOp, (at, first, threads.b.of(is_leader, I1)))


def arrive_of_elected(threads: ThreadIds, address: Value) -> None:
    """``arrive_of_warp`` by an elected lane, so that no predicate is live in between: threads have seven, which a softmax needs."""
    threads.b.issue(warp_sync.BarWarpSyncOp, -1)
    at, first = mbarrier(threads.b, threads.b.pointer(address, SHARED))
    threads.b.operation(nvgpu.MBarrierArriveOp, (at, first, threads.b.of(threads.elect(), I1)))


def arrive_of_warp_of_pair(threads: ThreadIds, address: Value) -> None:
    """Arrive once for this warp in the first CTA of the pair. What was written stays in the shared memory of this CTA, where its own
    tensor cores read it: no cache is between.
    """
    threads.b.issue(warp_sync.BarWarpSyncOp, -1)
    with threads.b.at_function_start():
        is_leader = threads.b.compare("eq", threads.lane, 0)
    arrive_at(threads, address, is_leader, threads.pair_leader)


def arrive_everywhere(threads: ThreadIds, address: Value, enabled: Value, ctas: int) -> None:
    """One lane per CTA of the cluster arrives at that CTA's mbarrier at the same offset."""
    arrive_at(threads, address, enabled, threads.b.and_(threads.lane, ctas - 1))


def arrive_at(threads: ThreadIds, address: Value, enabled: Value, rank: Value, *, releases: bool = False) -> None:
    """Arrive at the mbarrier of the CTA of this rank.

    What signals reads alone needs no release semantics, which at cluster scope wait for all writes of this thread
    (MEMBAR.ALL.GPU).
    """
    threads.b.issue(
        cluster_sync_and_fences.MBarrierArriveOp,
        enabled,
        threads.b.pointer(peer_address(threads.b, address, rank), CLUSTER),
        releases=releases,
    )
