"""Assign shared-memory offsets to the scratch of operations, and insert the barriers between its users.

In:    nv_tileas operations with layouts.
Out:   scratch_bytes and scratch_offset on operations that exchange data between threads, sync_before where another
       operation's data may still be read; shared_bytes on the kernel; convert_layouts that are adjacent are one.
After: assign_layouts, insert_barriers. Before: LLVM IR is written.
Sound: a walk over the program keeps the regions that may still be read since the last barrier: a loop's body is
       walked with what its own end leaves, too; an operation that writes to one of them gets a barrier first. Each
       operation has its own barrier between its writes and its reads. Scratch shares bytes with a ring only outside
       the statements of one block that fill and drain the ring, at whose end every thread has waited for its
       copies.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...core.errors import Unsupported
from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.buffer_liveness import LiveRange
from ..analysis.kernel_lifetime_storage import lifetime_storage_of
from ..analysis.scratch_memory_sizes import ALIGNMENT, SIZES, STAGE_ALIGNMENT, STORE_BY_TMA, buffer_bytes
from ..job import Job
from ..pass_manager import EdgePass
from .batch_layout_conversions import fuse_conversions
from .shared_memory_hazards import HazardAnalysis


class AllocateSharedMemory(EdgePass):
    """Shared-memory sizes, offsets and the barriers between users."""

    name = "tileas-allocate-shared-memory"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if is_function(func):
                _assign(func, job)


def _assign(func: Operation, job: Job) -> None:
    if not job.fallback:
        fuse_conversions(func, _ScratchLimit(func, job.target.max_shared_memory), job)
    users: list[TableOp] = []
    for op in walk(func):
        if op.name in SIZES and (size := SIZES[op.name](as_op(op), job)):
            users.append(as_op(op))
            users[-1].scratch_bytes = size
    total = _allocate(func, users, job.target.max_shared_memory)
    _check_size(total, job)
    if total:
        as_op(func).shared_bytes = total
    HazardAnalysis(func).run()


class _ScratchLimit:
    """Bytes of scratch that one operation may use. The stages of rings were chosen to fit beside the largest one."""

    def __init__(self, func: Operation, limit: int):
        rings = [as_op(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor"]
        lives = [LiveRange.of(ring) for ring in rings]
        # Found at once: a life may begin at an operation that is about to be merged.
        self.beside = {op for op in walk(func) if any(life.covers(op) for life in lives)}
        self.apart = limit - _allocate_lifetime_storage(func, 0)
        self.beside_rings = self.apart - sum(map(buffer_bytes, rings))

    def __call__(self, op: Operation) -> int:
        return self.beside_rings if op in self.beside else self.apart


def _allocate(func: Operation, users: list[TableOp], most: int) -> int:
    """Assign all offsets, and return the size. The order from offset 0: scratch used beside rings, rings, storage. Other scratch
    overlaps the first two."""
    storage = _allocate_lifetime_storage(func, 0)
    rings = [as_op(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor"]
    lives = [LiveRange.of(ring) for ring in rings]
    beside = [op for op in users if any(life.covers(op) for life in lives)]
    apart = [op for op in users if op not in beside]
    total = _allocate_stage_buffers(rings, _allocate_scratch(beside, most - storage - sum(map(buffer_bytes, rings))))
    # Tiles for TMA were chosen for what rings leave: two at a time may not take more.
    available = total if rings and any(op.name == STORE_BY_TMA for op in apart) else most - storage
    return _allocate_lifetime_storage(func, max(total, _allocate_scratch(apart, available)))


def _allocate_scratch(users: list[TableOp], limit: int) -> int:
    """Consecutive operations alternate between two regions, so that one need not wait for the readers of the other. There is one
    region if two do not fit.

    ``available`` is the number of bytes left for scratch. What TMA reads is aligned to its swizzle pattern.
    """
    unit = STAGE_ALIGNMENT if any(op.name == STORE_BY_TMA for op in users) else ALIGNMENT
    sizes = [-(-op.scratch_bytes // unit) * unit for op in users]
    first, second = max(sizes[0::2], default=0), max(sizes[1::2], default=0)
    alternate = first + second <= limit
    for number, op in enumerate(users):
        op.scratch_offset = first if alternate and number % 2 else 0
    return first + second if alternate else max(first, second)


def _check_size(total: int, job: Job) -> None:
    if total > job.target.max_shared_memory:
        raise Unsupported(
            "shared-memory",
            f"the kernel needs {total} bytes of shared memory, {job.target.name} has {job.target.max_shared_memory}",
            remedy="use smaller tiles",
        )


def _allocate_stage_buffers(rings: list[TableOp], total: int) -> int:
    """Rings are placed after the scratch that is used while they hold tiles."""
    for ring in rings:
        start = -(-total // STAGE_ALIGNMENT) * STAGE_ALIGNMENT
        ring.shared_offset = start
        total = start + ring.result.type.size_bytes
    return total


def _allocate_lifetime_storage(func: Operation, total: int) -> int:
    """Storage that is live as long as the kernel is placed last."""
    for op, size, alignment in lifetime_storage_of(func):
        op.shared_offset = -(-total // alignment) * alignment
        total = op.shared_offset + size
    return total
