"""Barriers of the compute threads of a CTA, or of all CTAs of a cluster (PTX ISA 9.0, sections 9.7.13.4 and 9.7.13.15).

A barrier of the cluster is the hardware's where all threads compute. Beside producer warps, which have no part in it, it is an
mbarrier in each CTA: the threads of this CTA arrive, and one of each other CTA, and wait for the phase of their arrival. Of more than
two CTAs it is two such mbarriers, one after the other: a CTA that passes the first may arrive there again before the arrival of a third
one does, but passes the second after it.
"""

from __future__ import annotations

from ....ir.dialects.nv_tileas.types import MBARRIER_BYTES
from ....ir.dialects.nvvm import cluster_sync_and_fences
from ....ir.dialects.nvvm.ops_mbarrier import MBarrierArriveSharedOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.kernel_lifetime_storage import mbarriers_of_cluster
from ...common.llvm_type_constructors import I1, I64, SHARED
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from .cluster_synchronization import sync_cluster
from .mbarrier_arrivals import arrive_at


def emit_barrier(e: KernelEmitter, op: TableOp) -> None:
    if not op.cluster:
        e.memory.barrier()
    elif op.shared_offset is None:
        sync_cluster(e.b, releases=True)
    else:
        for number in range(mbarriers_of_cluster(e.ctas)):
            place = op.shared_offset + MBARRIER_BYTES * number
            _sync_compute_warps(e, e.b.add(e.memory.shared_base, place))


def _sync_compute_warps(e: KernelEmitter, address: Value) -> None:
    """Let each thread arrive in its own CTA, then the first warp in the others, and wait for the phase of the thread's arrival.

    One thread arrives in another CTA for all of its own, once all of these have arrived there: an arrival for each warp could come again
    before the first one of another warp. When it comes again, it has waited for that of the other CTA, hence for all threads there.
    """
    b, again, done = e.b, e.b.label(), e.b.label()
    with b.at_function_start():
        is_other = b.compare("ne", e.threads.lane, e.threads.cta_rank)
        arrives = b.binary("and", b.compare("ult", e.threads.thread, e.ctas), is_other, I1)
    here = b.pointer(address, SHARED)
    state = b.value(MBarrierArriveSharedOp, (here,), I64)
    e.memory.barrier()
    arrive_at(e.threads, address, arrives, b.and_(e.threads.lane, e.ctas - 1), releases=True)
    b.branch(again)
    b.start(again)
    b.branch_if(b.issue(cluster_sync_and_fences.MBarrierTryWaitClusterOp, here, state, type=I1), done, again)
    b.start(done)


HANDLERS: dict[str, Handler] = {"nv_tileas.barrier": emit_barrier}
