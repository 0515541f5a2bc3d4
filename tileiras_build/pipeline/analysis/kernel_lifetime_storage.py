"""Shared memory that is live for the whole kernel: mbarriers, addresses, spilled tiles, allocas."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from ...ir.casting import as_op, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import BarrierOp, CreatePipelineOp, CreateTmemOp, SpillOp
from ...ir.dialects.nv_tileas.types import MBARRIER_BYTES
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import PAIR
from ..common.llvm_element_types import element_of
from .enclosing_control_flow import enclosing_kernel
from .scratch_memory_sizes import ALIGNMENT, spill_bytes

ADDRESS_BYTES = 16  # of an address that one thread broadcasts
TENSOR_ADDRESS_BYTES = 16  # for the address of a tensor memory allocation


def _pipeline_storage(op: TableOp) -> tuple[int, int]:
    """Those of one stage at which several warps arrive lie side by side: a kernel may have many, and stages take what else there is."""
    size, stages = op.result.type.size_bytes, op.result.type.stages.data
    return size, size if stages == 1 and op.producers > 1 and not op.bytes else ALIGNMENT


def mbarriers_of_cluster(ctas: int) -> int:
    """The mbarriers of a barrier of a cluster, of compute warps alone."""
    return 1 if ctas == PAIR else 2


def _barrier_storage(op: TableOp) -> tuple[int, int]:
    """None for a barrier of the hardware, which is of all threads."""
    kernel = as_op(enclosing_kernel(op))
    has_mbarriers = op.cluster and kernel.producer_warps > 0
    return MBARRIER_BYTES * mbarriers_of_cluster(kernel.num_ctas) if has_mbarriers else 0, MBARRIER_BYTES


def _spill_storage(op: TableOp) -> tuple[int, int]:
    """Bytes of all threads; none where it overwrites another tile's slot."""
    warps = unwrap(as_op(enclosing_kernel(op)).num_warps)
    return (0 if op.overwrites is not None else spill_bytes(op.regs, warps)), ALIGNMENT


def _tensor_memory_storage(op: TableOp) -> tuple[int, int]:
    return TENSOR_ADDRESS_BYTES, ALIGNMENT


def _alloca_storage(op: TableOp) -> tuple[int, int]:
    """The allocation itself, or its address on the heap."""
    if op.global_:
        return ADDRESS_BYTES, ADDRESS_BYTES
    size = element_of(op.result.type.pointee).global_bytes(op.num_elem)
    return size, max(op.alignment, 16)


# Size and alignment, in bytes, of the shared memory that an operation needs for the whole kernel.
STORAGE = {
    SpillOp.name: _spill_storage,
    CreatePipelineOp.name: _pipeline_storage,
    BarrierOp.name: _barrier_storage,
    CreateTmemOp.name: _tensor_memory_storage,
    "nv_tileas.alloca": _alloca_storage,
}


def lifetime_storage_of(func: Operation) -> Iterator[tuple[TableOp, int, int]]:
    """The operations of a kernel with such storage, with size and alignment, in order of their offsets."""
    for op in walk(func):
        if (storage := STORAGE.get(op.name)) is not None:
            size, alignment = storage(as_op(op))
            if size:
                yield as_op(op), size, alignment


def lifetime_storage_bytes(func: Operation) -> int:
    """Total bytes of the storage, at any start offset."""
    return sum(size + alignment - 1 for _, size, alignment in lifetime_storage_of(func))
