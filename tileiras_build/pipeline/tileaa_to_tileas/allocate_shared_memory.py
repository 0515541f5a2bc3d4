"""Assign shared-memory offsets to the scratch of operations, and insert the barriers between its users.

In:    nv_tileas operations with layouts.
Out:   scratch_bytes and scratch_offset on operations that exchange data between threads; sync_before on those that must
       first wait for readers of the same bytes; shared_bytes on the kernel; adjacent convert_layouts are fused.
After: assign_layouts, insert_token_barriers. Before: LLVM IR is written.
Sound: a walk over the program tracks the regions that may have been read since the last barrier. The body of a loop is
       also walked with the state at its end. An operation that writes one of these regions gets a barrier before it,
       and has its own barrier between its writes and its reads. Scratch overlaps a stage buffer only outside the
       statements of one block that fill and drain the buffer; at their end every thread has waited for its copies.
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
    """Bytes of scratch that one operation may use.

    The number of stages was chosen such that the largest scratch fits.
    """

    def __init__(self, func: Operation, limit: int):
        rings = [as_op(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor"]
        live_ranges = [LiveRange.of(ring) for ring in rings]
        # Located first: the live range may begin at an operation that the next lines fuse.
        self.while_buffers_live = {op for op in walk(func) if any(live_range.covers(op) for live_range in live_ranges)}
        self.otherwise = limit - _allocate_lifetime_storage(func, 0)
        self.limit_with_buffers = self.otherwise - sum(map(buffer_bytes, rings))

    def __call__(self, op: Operation) -> int:
        return self.limit_with_buffers if op in self.while_buffers_live else self.otherwise


def _allocate(func: Operation, users: list[TableOp], most: int) -> int:
    """Assign all offsets, and return the size.

    Offset 0 is scratch that is used while stage buffers are live, then the stage buffers, then kernel-lifetime storage.
    Other scratch overlaps the first two.
    """
    storage = _allocate_lifetime_storage(func, 0)
    rings = [as_op(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor"]
    live_ranges = [LiveRange.of(ring) for ring in rings]
    while_buffers_live = [op for op in users if any(live_range.covers(op) for live_range in live_ranges)]
    otherwise = [op for op in users if op not in while_buffers_live]
    total = _allocate_stage_buffers(
        rings, _allocate_scratch(while_buffers_live, most - storage - sum(map(buffer_bytes, rings)))
    )
    # The tiles of TMA stores were sized for the bytes that stage buffers leave: two of them must fit.
    available = total if rings and any(op.name == STORE_BY_TMA for op in otherwise) else most - storage
    return _allocate_lifetime_storage(func, max(total, _allocate_scratch(otherwise, available)))


def _allocate_scratch(users: list[TableOp], limit: int) -> int:
    """Consecutive operations alternate between two regions, so that the second need not wait for readers of the first.

    There is one region if two do not fit. ``available``: the bytes left for scratch. TMA sources are aligned to their
    swizzle pattern.
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
    """Place stage buffers after the scratch that is used while they hold tiles."""
    for ring in rings:
        start = -(-total // STAGE_ALIGNMENT) * STAGE_ALIGNMENT
        ring.shared_offset = start
        total = start + ring.result.type.size_bytes
    return total


def _allocate_lifetime_storage(func: Operation, total: int) -> int:
    """Place storage that is live for the whole kernel last."""
    for op, size, alignment in lifetime_storage_of(func):
        op.shared_offset = -(-total // alignment) * alignment
        total = op.shared_offset + size
    return total
