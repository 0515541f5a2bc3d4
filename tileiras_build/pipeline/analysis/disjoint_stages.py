"""Stage buffers that hold tiles at different times, and places where those share bytes.

Threads write a tile, and instructions of the asynchronous proxy read it. The live range ends where all threads have waited for the last of
these, not where it was issued. In a loop, a range within one iteration begins with the write, which nothing precedes.

    for ...:                              for ...:
      local_store %w, %p      p begins      local_store %v, %q   q
      mma %p ready(%r)                      mma %q ready(%s)
      consumer_wait %r        p ends      consumer_wait %s       q ends, as its MMA is in flight until then
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import ancestor_in, as_op, defining_table_op
from ...ir.dialects.nv_tileas.ops import LocalStoreOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_async_mma, is_loop
from .buffer_liveness import LiveRange, block_of_compute_warps, blocks_around, end_of_reads, has_all, rings_of_loops
from .enclosing_control_flow import enclosing_kernel
from .scratch_memory_sizes import STAGE_ALIGNMENT


class Sharing(Enum):
    """Which stage buffers may share bytes."""

    NONE = "no others"
    LOOPS = "those of loops one after another"
    ITERATION = "those that hold tiles at different times of an iteration, too: other warps are waited for in each"


def buffers_bytes(rings: Sequence[TableOp], most: int) -> int:
    """Bytes of shared memory of stage buffers, of which as few share bytes as ``most`` allows; all of these where more are needed."""
    sizes = (_align(place_buffers(rings, 0, sharing)[1]) for sharing in Sharing)
    return next((size for size in sizes if size <= most), most)


def place_buffers(rings: Sequence[TableOp], end: int, sharing: Sharing) -> tuple[dict[TableOp, int], int]:
    """Offsets from ``end`` on, and the end, aligned; those of loops whose warps read their own copies start at the same offset."""
    alone, loops = rings_of_loops(rings)
    offsets, start = (
        place_by_live_ranges(alone, end, sharing) if sharing is not Sharing.NONE else place_side_by_side(alone, end)
    )
    placed = [place_side_by_side(loop, start) for loop in loops]
    for found, _ in placed:
        offsets |= found
    offsets |= {ring: offsets[defining_table_op(ring.over)] for ring in rings if ring.over is not None}
    return offsets, max((end for _, end in placed), default=start)


def place_side_by_side(rings: Iterable[TableOp], end: int) -> tuple[dict[TableOp, int], int]:
    """Offsets from ``end`` on, and the end."""
    offsets = {}
    for ring in rings:
        offsets[ring] = _align(end)
        end = offsets[ring] + ring.result.type.size_bytes
    return offsets, end


def place_by_live_ranges(rings: Iterable[TableOp], end: int, sharing: Sharing) -> tuple[dict[TableOp, int], int]:
    """The same, first fit: the largest first, beside those that hold tiles at the same time."""
    ranges, placed = {ring: written_range(ring, sharing) for ring in rings}, dict[TableOp, range]()
    for ring in sorted(ranges, key=lambda ring: -ring.result.type.size_bytes):
        taken = [bytes for other, bytes in placed.items() if _interfere(ranges[ring], ranges[other])]
        placed[ring] = _first_fit(taken, ring.result.type.size_bytes, _align(end))
    offsets = {ring: bytes.start for ring, bytes in placed.items()}
    return offsets, max((bytes.stop for bytes in placed.values()), default=end)


def _first_fit(taken: Iterable[range], size: int, start: int) -> range:
    for other in sorted(taken, key=lambda bytes: bytes.start):
        if start + size <= other.start:
            break
        start = max(start, _align(other.stop))
    return range(start, start + size)


def _align(offset: int) -> int:
    return -(-offset // STAGE_ALIGNMENT) * STAGE_ALIGNMENT


def _interfere(one: LiveRange | None, other: LiveRange | None) -> bool:
    return one is None or other is None or one.covers(other.first) or other.covers(one.first)


# ---- live ranges ---------------------------------------------------------------------------------------------------
def written_range(ring: TableOp, sharing: Sharing) -> LiveRange | None:
    """The live range of a ring that threads write for MMAs; None of others, and where the end is not known. A pair of CTAs waits for MMAs
    that read the stages of both.
    """
    users = [as_op(use.operation) for use in ring.result.uses]
    stores = [op for op in users if op.name == LocalStoreOp.name]
    mmas = [op for op in users if is_async_mma(op)]
    if not stores or len(stores) + len(mmas) < len(users) or as_op(enclosing_kernel(ring)).num_ctas is not None:
        return None
    ends = [end for op in mmas if (end := end_of_reads(op)) is not None]
    if len(ends) < len(mmas) or not all(map(_is_of_compute_warps, users)):
        return None
    blocks = [block for block in blocks_around(users[0]) if has_all(block, users)]
    in_iteration = sharing is Sharing.ITERATION
    around = next(
        block for block in blocks if not _is_in_loop(block) or in_iteration and _writes_first(block, ring, users)
    )
    inside = blocks[blocks.index(around) :]
    return LiveRange.within(next(block for block in inside if has_all(block, ends)), [*users, *ends])


def _is_of_compute_warps(op: Operation) -> bool:
    """Whether the last partition, whose warps write stages, executes an operation."""
    return ancestor_in(op, block_of_compute_warps(op)) is not None


def _writes_first(block: Block, ring: TableOp, users: list[TableOp]) -> bool:
    """Whether a block writes a tile to a ring before it reads it: it reads none that an earlier iteration has written."""
    stores = [op for op in users if op.name == LocalStoreOp.name]
    if LiveRange.within(block, users).first is not stores[0] or len(stores) > 1:
        return False
    read = {stage for op in users if is_async_mma(op) for stage in _stages_read(op, ring.result)}
    return ring.result.type.stages.data == 1 or read == {stores[0].stage}


def _stages_read(mma: TableOp, ring: SSAValue) -> Iterator[SSAValue]:
    yield from (stage for value, stage in ((mma.lhs, mma.lhs_stage), (mma.rhs, mma.rhs_stage)) if value is ring)


def _is_in_loop(block: Block) -> bool:
    around = block.parent_op()
    while around is not None and not is_loop(around):
        around = around.parent_op()
    return around is not None
