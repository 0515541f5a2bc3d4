"""Assign shared-memory offsets to the scratch of operations, and insert the barriers between its users.

In:    nv_tileas operations with layouts.
Out:   scratch_bytes and scratch_offset on operations that exchange data between threads; sync_before on those that must
       first wait for readers of the same bytes; shared_bytes on the kernel; adjacent convert_layouts are fused. Loads in
       front of a consumer's loop stand before the conversions there, whose barriers they would wait for.
After: assign_layouts, insert_token_barriers. Before: LLVM IR is written.
Sound: a walk over the program tracks the regions that may have been read since the last barrier. The body of a loop is
       also walked with the state at its end. An operation that writes one of these regions gets a barrier before it,
       and has its own barrier between its writes and its reads. Scratch overlaps a stage buffer only outside the
       statements of one block that fill and drain the buffer; at their end every thread has waited for its copies.
       So stage buffers of two loops overlap where each warp reads its own copies; other warps may still read then, so a barrier precedes
       the first copy of the next loop. Where a GPU has too few bytes, so do those that threads write for MMAs at different times: one holds
       tiles until threads have waited for the last MMA that reads it.
       A load that moves passes weak loads, conversions and operations without effects only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from xdsl.ir import Operation

from ...core.errors import Unsupported
from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import string_of, walk
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ..analysis.buffer_liveness import LiveRange
from ..analysis.disjoint_stages import buffers_bytes
from ..analysis.kernel_lifetime_storage import lifetime_storage_of
from ..analysis.scratch_memory_sizes import chunk_limit
from ..analysis.shared_memory_plan import (
    SharedMemoryPlan,
    available_shared_memory,
    place_storage,
    plan_shared_memory,
    scratch_users,
)
from ..job import Job
from ..pass_manager import EdgePass
from .batch_layout_conversions import fuse_conversions
from .load_before_conversions import load_before_conversions
from .shared_memory_hazards import HazardAnalysis

MOST_NAMED = 3  # of what does not fit, in the error


class AllocateSharedMemory(EdgePass):
    """Shared-memory sizes, offsets and the barriers between users."""

    name = "tileas-allocate-shared-memory"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        _assign(func, job)


def _assign(func: Operation, job: Job) -> None:
    most = available_shared_memory(func, job)
    load_before_conversions(func, job)
    if chunk_limit(func) is None:
        fuse_conversions(func, _ScratchLimit(func, most), job)
    users = scratch_users(func, job)
    plan = plan_shared_memory(func, users, job)
    _check_size(plan, users, job)
    for op, size in users.items():
        op.scratch_bytes, op.scratch_offset = size, plan.scratch[op]
    for op, offset in plan.others.items():
        op.shared_offset = offset
    if plan.total:
        as_op(func).shared_bytes = plan.total
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
        self.otherwise = limit - place_storage(lifetime_storage_of(func), 0)[1]
        self.limit_with_buffers = self.otherwise - buffers_bytes(rings, self.otherwise)

    def __call__(self, op: Operation) -> int:
        return self.limit_with_buffers if op in self.while_buffers_live else self.otherwise


def _check_size(plan: SharedMemoryPlan, users: Mapping[TableOp, int], job: Job) -> None:
    if plan.total > job.target.max_shared_memory:
        taken = ", ".join(f"{bytes} {what}" for what, bytes in _largest(plan, users))
        raise Unsupported(
            "shared-memory",
            f"the kernel needs {plan.total} bytes of shared memory, {job.target.name} has {job.target.max_shared_memory}; of these {taken}",
            remedy="use smaller tiles" + (", or another schedule than that of the file" if job.schedule else ""),
        )


def _largest(plan: SharedMemoryPlan, users: Mapping[TableOp, int]) -> list[tuple[str, int]]:
    """What takes most bytes: stages of tiles of one form, and the operation with the largest scratch."""
    held = Counter[str]()
    for ring in (op for op in plan.others if op.name == "nv_tileas.alloc_tensor" and op.over is None):
        held[f"for stages of {_text(ring.result.type)}"] += ring.result.type.size_bytes
    if users:
        op = max(users, key=lambda op: users[op])
        held[f"for what threads exchange in {op.name.removeprefix('nv_tileas.')}"] = users[op]
    return held.most_common(MOST_NAMED)


def _text(buffer: BufferType) -> str:
    return f"{'x'.join(map(str, buffer.placement.data.shape))} {string_of(buffer.element_type)}"
