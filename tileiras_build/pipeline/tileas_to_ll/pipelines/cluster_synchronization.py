"""The barrier of a cluster (PTX ISA 9.0, section 9.7.13.4), and addresses in the shared memory of its other CTAs."""

from __future__ import annotations

from ....ir.dialects.nvvm import cluster_sync_and_fences
from ...common.llvm_type_constructors import I32
from ..emission.function_builder import Value
from ..emission.instruction_builder import WARP, InstructionBuilder

CLUSTER_REDUCE_BARRIERS = 2  # of all threads of the cluster, in a ``cluster_reduce``


def arrivals_of_cluster(warps: int, ctas: int) -> int:
    """The arrivals at the mbarrier of a barrier of the cluster: of each thread of the CTA, and of a thread of each other one."""
    return warps * WARP + ctas - 1


def peer_address(b: InstructionBuilder, address: Value, *rank: Value) -> Value:
    """A shared address mapped to the CTA of ``rank``, rank 0 by default; emitted at each use."""
    return b.value(cluster_sync_and_fences.MapaOp, tuple(b.of(value, I32) for value in (address, *rank)), I32)


def sync_cluster(b: InstructionBuilder, aligned: bool = True, releases: bool = False) -> None:
    """Synchronize the cluster, relaxed: a fence has released the mbarriers to it, and other writes are read by this CTA only.

    A release would wait for all writes of a thread (MEMBAR.ALL.GPU) and invalidate L1 (CCTL.IVALL). ``releases``: other CTAs
    read what this thread has written to their shared memory.
    """
    arrive = cluster_sync_and_fences.ClusterArriveOp if releases else cluster_sync_and_fences.ClusterArriveRelaxedOp
    b.issue(arrive, aligned=aligned)
    b.issue(cluster_sync_and_fences.ClusterWaitOp, aligned=aligned)
