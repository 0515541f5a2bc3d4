"""The kernel's allocation of tensor memory: where it begins and ends, for one CTA or for a pair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....ir.casting import cast, int_attr
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.cute_nvgpu import ops as cute_nvgpu
from ....ir.dialects.nvvm import tcgen05 as instructions
from ....ir.dialects.nvvm.cluster_sync_and_fences import HereOp
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_type_constructors import I32, SHARED, TENSOR
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.kernel_emitter import KernelEmitter
from ...tileas_to_ll.pipelines.cluster_synchronization import sync_cluster
from ...tileas_to_ll.pipelines.warp_partitions_and_mbarriers import uses_cluster_barriers


class TmemAllocation:
    """The columns that ``create_tmem`` allocates."""

    def __init__(self, op: TableOp):
        self.op = op
        self.base: Value = 0

    @property
    def is_pair(self) -> bool:
        return "pair" in self.op.attributes

    @property
    def cta_group(self) -> str:
        """The CTAs that the kernel's instructions act for, as in LLVM's names of intrinsics."""
        return "cg2" if self.is_pair else "cg1"

    def allocate(self, e: KernelEmitter) -> None:
        """Allocate tensor memory, and permit other CTAs of the SM to allocate after it.

        The CTAs of a pair allocate together through each other's shared memory, so both must be running (PTX ISA 9.0, section 9.7.16.4).
        """
        if uses_cluster_barriers(e):
            sync_cluster(e.b)
        group = {"cta_group": self._ctas}
        with e.b.if_then(e.threads.is_first_warp):
            slot = self._address_slot(e)
            e.b.issue(cute_nvgpu.AllocateTensorMemoryOp, slot, type=None, columns=self._columns, **group)
            e.b.issue(cute_nvgpu.RelinquishOp, type=None, **group)
        e.b.issue(instructions.FenceBeforeOp)
        e.b.operation(gpu.BarrierOp, ())
        e.b.issue(instructions.FenceAfterOp)
        self.base = e.b.issue(cute_nvgpu.TensorMemoryAddressOp, self._address_slot(e), type=I32)

    def begin_issuer(self, e: KernelEmitter) -> None:
        """Behind a loop, such as a wait, ptxas would not see that only one thread issues MMAs."""
        e.b.issue(instructions.FenceAfterOp)

    def end_consumers(self, e: KernelEmitter) -> None:
        """All warps have read the tensor memory that the first one frees."""
        if not self.is_pair:
            e.memory.barrier()
            self._free(e)

    def end_kernel(self, e: KernelEmitter) -> None:
        """Neither CTA of a pair reads it any longer (PTX ISA 9.0, section 9.7.16.5, table 47)."""
        if self.is_pair:
            sync_cluster(e.b, aligned=False)
            self._free(e)

    def _free(self, e: KernelEmitter) -> None:
        with e.b.if_then(e.threads.is_first_warp):
            address = e.b.pointer(self.base, TENSOR)
            e.b.issue(cute_nvgpu.FreeTensorMemoryOp, address, columns=self._columns, cta_group=self._ctas)

    def _address_slot(self, e: KernelEmitter) -> Value:
        """The word in shared memory that receives the address of the allocation."""
        return e.b.pointer(e.b.add(e.memory.shared_base, int_attr(self.op, "shared_offset")), SHARED)

    @property
    def _columns(self) -> int:
        return self.op.result.type.columns.data

    @property
    def _ctas(self) -> int:
        return 2 if self.is_pair else 1


def allocation_of(e: KernelEmitter) -> TmemAllocation:
    """The allocation of a kernel with operations on tensor memory."""
    return cast(TmemAllocation, e.tmem)


@contextmanager
def addresses_of_its_own(e: KernelEmitter) -> Iterator[None]:
    """What is emitted shares no addresses with what comes before: they would be live in between, and a thread has few registers."""
    allocation, memory = allocation_of(e), e.memory
    bases = allocation.base, memory.shared_base
    allocation.base, memory.shared_base = (e.b.issue(HereOp, e.b.of(base, I32), type=I32) for base in bases)
    yield
    allocation.base, memory.shared_base = bases
