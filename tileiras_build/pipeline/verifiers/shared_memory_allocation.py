"""Verify that the users of shared memory do not overlap in time and address.

An operation with scratch memory writes its region, executes a barrier of its own, then reads. A thread that is done may
run ahead: until the next barrier, other threads may still be reading. So every path from such an operation is followed
to the next barrier, its own or another operation's; an operation on the path must not write to the same bytes, unless
it begins with a barrier. The region is free after an operation that ends with a barrier.

Kernel-lifetime storage overlaps nothing; stage buffers overlap each other where ``overlapping_stages.py`` finds no fault, and no other
storage. ``cp_async_buffers.py`` and ``tma_stores.py`` prove that scratch may overlap a buffer; this module proves that a barrier follows the
last read of the buffer's tiles, MMAs that accumulate in registers among them once they are waited for (``partition_interpreter.py`` follows
those in tensor memory). Scratch may overlap stages that another partition
fills only if no path leads back to a use of the buffer, or, if a third partition reads it, to a wait for its results: then the partitions
have finished with the buffer.

Not verified: that a region is as large as its operation needs; the emulator faults otherwise.

A violation raises ``InternalError`` with id ``scratch-verifier`` that names both operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...core.errors import InternalError
from ...ir.casting import as_op, cast, defining_op, int_attr, str_attr
from ...ir.dialects.nv_tileaa.types import PointerType
from ...ir.dialects.nv_tileas.types import MBARRIER_BYTES, BufferType, PipelineType
from ...ir.dialects.op_traits import is_async_mma
from ...ir.layouts.tmem_layout import PAIR
from ...target.sm_limits import WARP
from ..common.llvm_element_types import element_of
from .control_flow_paths import AGENT_SWITCH, ControlFlowPaths, control_flow_paths, kernels_of
from .overlapping_stages import overlapping_stages_faults, reached_in_flight

BARRIERS, STAGE_BUFFER, BUFFER = ("nv_tileas.barrier",), "nv_tileas.alloc_tensor", "nv_tileas.buffer"
STAGE_READ, LOAD = "nv_tileas.local_load", "nv_tileas.async.tiled_tma_load"
MMA_WAIT = "nv_tileas.async.pipeline.consumer_wait"
ALIGNMENT = 16


def verify_shared_memory_allocation(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; return the number of operations with scratch memory."""
    return sum(_check_kernel(kernel) for kernel in kernels_of(module))


def _check_kernel(kernel: Operation) -> int:
    paths = control_flow_paths(kernel)
    users = [op for op in paths.successors if "scratch_offset" in op.attributes]
    filled = {value for op in kernel.walk() if op.name == LOAD for value in _buffers(op)}
    foreign = {buffer for op in _disjoint_regions(kernel) for buffer in _buffers(op) if buffer in filled}
    for op in users:
        _check_inside(kernel, op)
        _check_stage_buffers(kernel, paths, op, filled, foreign)
        for other in _reached_before_barrier(op, paths):
            if "scratch_offset" in other.attributes and _overlap(op, other):
                _fail(kernel, f"{_text(other)} may write where {_text(op)} is still being read")
    for op in (op for op in paths.successors if op.name == STAGE_READ or is_async_mma(op) and op.results):
        in_flight, ends = reached_in_flight(op, paths)
        for other in chain(in_flight, *(_reached_before_barrier(end, paths) for end in ends)):
            if "scratch_offset" in other.attributes and _reads(op, other):
                _fail(kernel, f"{_text(other)} may write where {op.name} still reads a ring")
    storage = [op for op in paths.successors if "shared_offset" in op.attributes]
    _check_storage(kernel, users, storage)
    rings = [op for op in storage if op.name == STAGE_BUFFER and not op.operands]
    for fault in overlapping_stages_faults(rings, paths, _is_cta_barrier):
        _fail(kernel, fault)
    return len(users)


def _check_stage_buffers(
    kernel: Operation, paths: ControlFlowPaths, user: Operation, filled: set[SSAValue], foreign: set[SSAValue]
) -> None:
    """Check that no other partition uses a stage buffer that overlaps an operation's scratch from then on. ``filled``: the buffers that
    TMA fills; ``foreign``: those of them that only another partition reads, and that results of its MMAs are computed from.
    """
    for op in paths.reachable_from(user, lambda op: False):
        for buffer in foreign if op.name == MMA_WAIT else filled.intersection(_buffers(op)):
            if overlap(stage_region(defining_op(buffer)), scratch_region(user)):
                _fail(kernel, f"{op.name} uses a ring in the bytes of {user.name}, which came before")


def _disjoint_regions(kernel: Operation) -> list[Operation]:
    """The operations of partitions that are neither producer nor consumer."""
    switches = [op for op in kernel.walk() if op.name == AGENT_SWITCH]
    return [op for switch in switches for region in switch.regions[1:-1] for op in region.walk()]


def _buffers(op: Operation) -> list[SSAValue]:
    return [value for value in op.operands if value.type.name == BUFFER]


def _reached_before_barrier(op: Operation, paths: ControlFlowPaths) -> Iterator[Operation]:
    """The operations that may run after another one before all threads synchronize."""
    return (other for other in paths.reachable_from(op, _is_cta_barrier) if "sync_before" not in other.attributes)


def _check_storage(kernel: Operation, users: list[Operation], storage: list[Operation]) -> None:
    placed = [(op, _storage_region(op, kernel)) for op in storage]
    scratch = [scratch_region(op) for op in users]
    for number, (op, region) in enumerate(placed):
        is_ring = op.name == STAGE_BUFFER
        others = [other for before, other in placed[:number] if not (is_ring and before.name == STAGE_BUFFER)]
        others += [] if is_ring else scratch
        if is_ring and op.operands:
            _check_over(kernel, op, region)
        if region.stop > _total(kernel) or any(overlap(region, other) for other in others):
            _fail(kernel, f"storage [{region.start}, {region.stop}) is not its own")


def _storage_region(op: Operation, kernel: Operation) -> range:
    start = int_attr(op, "shared_offset")
    return range(start, start + _storage_bytes(op, kernel))


def _check_over(kernel: Operation, op: Operation, region: range) -> None:
    """Check that a buffer over another one has its stages in the bytes of the other's, which ``mbarrier_pipelines.py`` proves free."""
    under = defining_op(op.operands[0])
    pipelines = [_pipelines_of_loads(value) for value in (op.results[0], under.results[0])]
    stages = {cast(BufferType, ring.results[0].type).stages for ring in (op, under)}
    if region != stage_region(under) or len(stages) > 1:
        _fail(kernel, f"the stages of [{region.start}, {region.stop}) are not those of the buffer that it lies over")
    if len(set().union(*pipelines)) != 1:
        _fail(kernel, f"[{region.start}, {region.stop}) has tiles of several pipelines")


def _pipelines_of_loads(buffer: SSAValue) -> set[SSAValue]:
    return {as_op(use.operation).pipeline for use in buffer.uses if use.operation.name == LOAD}


SPILLED_REGISTER_BYTES = 4  # of each thread
TENSOR_ADDRESS_BYTES = 4  # tcgen05.alloc writes one address to shared memory


def _storage_bytes(op: Operation, kernel: Operation) -> int:
    if op.name == "nv_tileas.spill":
        return int_attr(op, "regs") * SPILLED_REGISTER_BYTES * WARP * int_attr(kernel, "num_warps")
    if op.name == "nv_tileas.create_tmem":
        return TENSOR_ADDRESS_BYTES
    if op.name in BARRIERS:
        return MBARRIER_BYTES * (1 if int_attr(kernel, "num_ctas") == PAIR else 2)
    held = op.results[0].type
    if isinstance(held, BufferType | PipelineType):
        return held.size_bytes
    return int_attr(op, "num_elem") * element_of(cast(PointerType, held).pointee).bits // 8


def _total(kernel: Operation) -> int:
    return int_attr(kernel, "shared_bytes", 0)


def _is_cta_barrier(op: Operation) -> bool:
    """Whether all threads synchronize at or in the operation."""
    return op.name in BARRIERS or "scratch_offset" in op.attributes


def scratch_region(op: Operation) -> range:
    start = int_attr(op, "scratch_offset")
    return range(start, start + int_attr(op, "scratch_bytes"))


def _reads(op: Operation, other: Operation) -> bool:
    """Whether an operation reads a stage buffer that overlaps another operation's scratch."""
    return any(overlap(stage_region(defining_op(buffer)), scratch_region(other)) for buffer in _buffers(op))


def stage_region(ring: Operation) -> range:
    if "shared_offset" not in ring.attributes:
        return range(0)
    start = int_attr(ring, "shared_offset")
    return range(start, start + cast(BufferType, ring.results[0].type).size_bytes)


def _overlap(a: Operation, b: Operation) -> bool:
    return overlap(scratch_region(a), scratch_region(b))


def overlap(first: range, second: range) -> bool:
    """Whether two ranges of bytes have a byte in common."""
    return first.start < second.stop and second.start < first.stop


def _check_inside(kernel: Operation, op: Operation) -> None:
    region, total = scratch_region(op), _total(kernel)
    if region.start % ALIGNMENT or region.stop > total:
        _fail(kernel, f"{_text(op)} is not placed, aligned to {ALIGNMENT}, in the kernel's {total} bytes")


def _text(op: Operation) -> str:
    region = scratch_region(op)
    return f"{op.name} [{region.start}, {region.stop})"


def _fail(kernel: Operation, message: str) -> None:
    name = str_attr(kernel, "sym_name")
    raise InternalError(
        "scratch-verifier", f"kernel {name}: {message}", remedy="report this as a bug of allocate_shared_memory"
    )
