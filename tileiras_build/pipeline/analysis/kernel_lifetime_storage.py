"""What operations need in shared memory as long as the kernel runs: mbarriers, addresses, what threads park, storage."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from ...ir.casting import given, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import CreatePipelineOp, CreateTmemOp, ParkOp
from ...ir.dialects.op_definition import TableOperation
from ..common.llvm_element_types import element_of
from .scratch_memory_sizes import ALIGNMENT, parked_bytes
from .view_chains import kernel_of

ADDRESS_BYTES = 16  # of an address that one thread leaves for all
TENSOR_ADDRESS_BYTES = 16  # where an allocation of tensor memory leaves its address


def _pipeline_storage(op: TableOperation) -> tuple[int, int]:
    return op.result.type.size_bytes, ALIGNMENT


def _park_storage(op: TableOperation) -> tuple[int, int]:
    """Of all threads; none where another tile's is taken."""
    warps = given(row(kernel_of(op)).num_warps)
    return (0 if op.instead is not None else parked_bytes(op.words, warps)), ALIGNMENT


def _tensor_memory_storage(op: TableOperation) -> tuple[int, int]:
    return TENSOR_ADDRESS_BYTES, ALIGNMENT


def _alloca_storage(op: TableOperation) -> tuple[int, int]:
    """Itself, or its address on the heap."""
    if op.global_:
        return ADDRESS_BYTES, ADDRESS_BYTES
    size = element_of(op.result.type.pointee).global_bytes(op.num_elem)
    return size, max(op.alignment, 16)


# Size and alignment, bytes, of what an operation needs in shared memory as long as the kernel runs.
STORAGE = {
    ParkOp.name: _park_storage,
    CreatePipelineOp.name: _pipeline_storage,
    CreateTmemOp.name: _tensor_memory_storage,
    "nv_tileas.alloca": _alloca_storage,
}


def storage_of(func: Operation) -> Iterator[tuple[TableOperation, int, int]]:
    """The operations of a kernel that need such storage, with its size and alignment, in the order in which it lies."""
    for op in walk(func):
        if (storage := STORAGE.get(op.name)) is not None:
            size, alignment = storage(row(op))
            if size:
                yield row(op), size, alignment


def storage_bytes(func: Operation) -> int:
    """Bytes of all of it, wherever it begins."""
    return sum(size + alignment - 1 for _, size, alignment in storage_of(func))
