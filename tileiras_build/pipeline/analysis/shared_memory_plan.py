"""Where the shared memory of a kernel lies: what passes ask whether chunks fit, and what allocation writes down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Operation

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ..common.optimization_hints import occupancy
from ..job import Job
from ..schedule.schedule import CHUNK_BYTES
from ..schedule.schedule_attribute import schedule_of
from .buffer_liveness import LiveRange
from .disjoint_stages import Sharing, buffers_bytes, place_buffers
from .kernel_lifetime_storage import lifetime_storage_of
from .resource_model import MAX_CTAS_PER_SM
from .scratch_memory_sizes import ALIGNMENT, SIZES, STAGE_ALIGNMENT, STORE_BY_TMA


class SharedMemoryPlan(NamedTuple):
    """Offsets of scratch, and of stage buffers and storage of the whole kernel; ``total`` bytes of all. ``sharing``: of stage buffers."""

    scratch: Mapping[TableOp, int]
    others: Mapping[TableOp, int]
    total: int
    sharing: Sharing = Sharing.NONE


def scratch_users(func: Operation, job: Job, limit: int | None = None) -> dict[TableOp, int]:
    """The operations with scratch, and their bytes."""
    sizes = ((as_op(op), SIZES[op.name](as_op(op), job, limit)) for op in walk(func) if op.name in SIZES)
    return {op: size for op, size in sizes if size}


def available_shared_memory(func: Operation, job: Job) -> int:
    """The bytes of a CTA with as many per SM as its schedule says; all that a CTA can have where the smallest chunks do not fit either."""
    ctas, most = schedule_of(func).occupancy or 1, job.target.max_shared_memory
    if (share := job.target.shared_memory_of(ctas)) == most:
        return most
    smallest = scratch_users(func, job, CHUNK_BYTES[-1])
    return share if plan_shared_memory(func, smallest, job).total <= share else most


def plan_shared_memory(func: Operation, users: Mapping[TableOp, int], job: Job) -> SharedMemoryPlan:
    """The plan with two regions of scratch, unless they cost one of the CTAs that share an SM, for which stages were chosen. Stage buffers
    share bytes only where they do not fit otherwise: threads wait for each other where one follows another.
    """
    held = _Held.of(func, users)
    smallest = held.placed(0)
    if not _fits(smallest, job):
        plans = [held.placed(0, sharing) for sharing in (Sharing.LOOPS, Sharing.ITERATION)]
        return next((plan for plan in plans if _fits(plan, job)), plans[-1])
    if not users:
        return smallest
    ctas = job.target.ctas_with(smallest.total, occupancy(func, job) or MAX_CTAS_PER_SM)
    most = job.target.shared_memory_of(ctas)
    found = held.placed(most)
    return found if found.total <= most else smallest


def _fits(plan: SharedMemoryPlan, job: Job) -> bool:
    return plan.total <= job.target.max_shared_memory


class _Held(NamedTuple):
    """What a kernel holds in shared memory: stage buffers, scratch that is used while they are live, and other scratch; and storage
    of the whole kernel, with sizes and alignments.
    """

    rings: Sequence[TableOp]
    while_live: Mapping[TableOp, int]
    others: Mapping[TableOp, int]
    storage: Sequence[tuple[TableOp, int, int]]

    @classmethod
    def of(cls, func: Operation, users: Mapping[TableOp, int]) -> _Held:
        rings = [as_op(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor"]
        live_ranges = [LiveRange.of(ring) for ring in rings]
        while_live = {op: users[op] for op in users if any(live_range.covers(op) for live_range in live_ranges)}
        others = {op: size for op, size in users.items() if op not in while_live}
        return cls(rings, while_live, others, list(lifetime_storage_of(func)))

    def placed(self, most: int, sharing: Sharing = Sharing.NONE) -> SharedMemoryPlan:
        """Offset 0 is scratch that is used while stage buffers are live, then the stage buffers, then kernel-lifetime storage.
        Other scratch overlaps the first two. ``most``: the bytes above which less is placed side by side.
        """
        _, storage = place_storage(self.storage, 0)
        first, end = _place_scratch(self.while_live, most - storage - buffers_bytes(self.rings, most))
        buffers, end = place_buffers(self.rings, end, sharing)
        # The tiles of TMA stores were sized for the bytes that stage buffers leave: two of them must fit.
        has_tma_stores = any(op.name == STORE_BY_TMA for op in self.others)
        second, other_end = _place_scratch(self.others, end if self.rings and has_tma_stores else most - storage)
        stored, total = place_storage(self.storage, max(end, other_end))
        return SharedMemoryPlan(first | second, buffers | stored, total, sharing)


def _place_scratch(users: Mapping[TableOp, int], limit: int) -> tuple[dict[TableOp, int], int]:
    """Offsets and end. Consecutive operations alternate between two regions, so that the second need not wait for readers of the
    first. There is one region if two do not fit. TMA sources are aligned to their swizzle pattern.
    """
    unit = STAGE_ALIGNMENT if any(op.name == STORE_BY_TMA for op in users) else ALIGNMENT
    sizes = [-(-size // unit) * unit for size in users.values()]
    first, second = max(sizes[0::2], default=0), max(sizes[1::2], default=0)
    alternate = first + second <= limit
    offsets = {op: first if alternate and number % 2 else 0 for number, op in enumerate(users)}
    return offsets, first + second if alternate else max(first, second)


def place_storage(storage: Iterable[tuple[TableOp, int, int]], end: int) -> tuple[dict[TableOp, int], int]:
    """Storage that is live for the whole kernel, from ``lifetime_storage_of``: offsets and end."""
    offsets = {}
    for op, size, alignment in storage:
        offsets[op] = -(-end // alignment) * alignment
        end = offsets[op] + size
    return offsets, end
