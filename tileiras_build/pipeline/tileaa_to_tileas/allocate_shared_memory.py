"""Place the shared memory that operations use while they run, and the barriers that keep them apart.

In:    nv_tileas operations with layouts.
Out:   scratch_bytes and scratch_offset on operations that exchange data between threads, sync_before where another
       operation's data may still be read; shared_bytes on the kernel; convert_layouts that stand together are one.
After: assign_layouts, order_tokens. Before: LLVM IR is written.
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
from ...ir.casting import row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_entry
from ..analysis.buffer_liveness import RingLife
from ..analysis.kernel_lifetime_storage import storage_of
from ..analysis.scratch_memory_sizes import ALIGNMENT, RING_ALIGNMENT, SIZES, STORE_BY_TMA, ring_bytes
from ..job import Job
from ..pass_manager import EdgePass
from .fuse_layout_conversions import group_conversions
from .shared_memory_hazards import Hazards


class AssignScratch(EdgePass):
    """Sizes, offsets, barriers."""

    name = "tileas-assign-scratch"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if is_entry(func):
                _assign(func, job)


def _assign(func: Operation, job: Job) -> None:
    if not job.saving:
        group_conversions(func, _Room(func, job.target.max_shared_memory), job)
    users: list[TableOperation] = []
    for op in walk(func):
        if op.name in SIZES and (size := SIZES[op.name](row(op), job)):
            users.append(row(op))
            users[-1].scratch_bytes = size
    total = _place_shared(func, users, job.target.max_shared_memory)
    _check_size(total, job)
    if total:
        row(func).shared_bytes = total
    Hazards(func).run()


class _Room:
    """Bytes that an operation may have in scratch: stages of rings were chosen for the largest single one beside them."""

    def __init__(self, func: Operation, most: int):
        rings = [row(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor"]
        lives = [RingLife.of(ring) for ring in rings]
        # Found at once: a life may begin at an operation that is about to be merged.
        self.beside = {op for op in walk(func) if any(life.covers(op) for life in lives)}
        self.apart = most - _place_storage(func, 0)
        self.beside_rings = self.apart - sum(map(ring_bytes, rings))

    def __call__(self, op: Operation) -> int:
        return self.beside_rings if op in self.beside else self.apart


def _place_shared(func: Operation, users: list[TableOperation], most: int) -> int:
    """Offsets of all shared memory; its size. From the bottom: scratch beside rings, rings; other scratch over both; storage."""
    storage = _place_storage(func, 0)
    rings = [row(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor"]
    lives = [RingLife.of(ring) for ring in rings]
    beside = [op for op in users if any(life.covers(op) for life in lives)]
    apart = [op for op in users if op not in beside]
    total = _place_rings(rings, _place(beside, most - storage - sum(map(ring_bytes, rings))))
    # Tiles for TMA were chosen for what rings leave: two at a time may not take more.
    room = total if rings and any(op.name == STORE_BY_TMA for op in apart) else most - storage
    return _place_storage(func, max(total, _place(apart, room)))


def _place(users: list[TableOperation], room: int) -> int:
    """Neighbors alternate between two regions, so that one need not wait for the other's readers; one if both do not fit.

    ``room`` is the bytes that are left for scratch. What TMA reads starts where its swizzle does.
    """
    unit = RING_ALIGNMENT if any(op.name == STORE_BY_TMA for op in users) else ALIGNMENT
    sizes = [-(-op.scratch_bytes // unit) * unit for op in users]
    first, second = max(sizes[0::2], default=0), max(sizes[1::2], default=0)
    alternate = first + second <= room
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


def _place_rings(rings: list[TableOperation], total: int) -> int:
    """Rings lie behind the scratch that is used while they hold tiles."""
    for ring in rings:
        start = -(-total // RING_ALIGNMENT) * RING_ALIGNMENT
        ring.shared_offset = start
        total = start + ring.result.type.size_bytes
    return total


def _place_storage(func: Operation, total: int) -> int:
    """Storage that lives as long as the kernel lies behind all else."""
    for op, size, alignment in storage_of(func):
        op.shared_offset = -(-total // alignment) * alignment
        total = op.shared_offset + size
    return total
