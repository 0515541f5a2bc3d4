"""Where an MMA of tensor memory may be issued behind another one, whose barrier then orders its operands, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import ancestor_in, as_op, defining_table_op, parent_block, terminator, type_as
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    AsyncWaitOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    LocalStoreOp,
    TmemLoadOp,
    TmemStoreOp,
)
from ...ir.dialects.nv_tileas.types import BufferType, PipelineType, TmemType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_async_mma
from ..analysis.op_queries import ASYNC_COPIES
from ..mma.dots import accumulates_in_tmem
from .rotate_mma_loop import BARRIER, has_two_stages, is_scalar, scalars_behind, users
from .stage_releases import barrier_before, give_release, may_release, previous_op, users_of_released_stage

STORES = (TmemStoreOp.name, LocalStoreOp.name)


def issue_behind_other(dot: TableOp, leaders: Sequence[TableOp]) -> None:
    """Issue a dot behind one of ``leaders`` of its iteration if threads read and use the result of a third one before they need its own."""
    block = parent_block(dot)
    read = next((op for op in users(dot.acc) if isinstance(op, TmemLoadOp) and op.parent is block), None)
    if read is None or not dot.is_before_in_block(read):
        return
    for leader in [op for op in leaders if op.is_before_in_block(dot)]:
        if uses_third(ops_between(leader, read), dot, leader) and may_follow(dot, leader):
            move_behind(dot, leader)
            return


def uses_third(ops: Sequence[Operation], dot: TableOp, other: TableOp) -> bool:
    """Whether operations read the accumulator of neither of two dots from tensor memory, and a barrier, but that of ``dot``, then
    waits for what threads compute with it.
    """
    own = barrier_before(dot)
    reads = (isinstance(op, TmemLoadOp) and as_op(op).source not in (dot.acc, other.acc) for op in ops)
    first = next((place for place, found in enumerate(reads) if found), len(ops))
    return any(op.name == BARRIER and op not in own for op in ops[first:])


def may_follow(dot: TableOp, leader: TableOp) -> bool:
    """Whether a dot may be issued behind ``leader``, whose barrier then orders its operands, too."""
    passed = ops_between(leader, dot)
    if not any(op.name == BARRIER for op in passed) or not is_single_mma(dot):
        return False
    barrier = barrier_of(leader)
    if barrier is None or not barrier_before(dot) or scalars_behind(dot.operands, parent_block(dot)) is None:
        return False
    waits = own_waits(dot, passed)
    since = [op for op in ops_between(barrier, dot) if op not in waits and not _stays_before(op, leader)]
    return not any(touches(inner, dot) for op in since for inner in walk(op)) and _may_release(dot, since)


def _stays_before(op: Operation, leader: TableOp) -> bool:
    """Whether an operation is ``leader``, or an MMA before it: MMAs execute in the order of issue."""
    return op is leader or is_async_mma(op) and op.is_before_in_block(leader)


def own_waits(dot: TableOp, passed: Sequence[Operation]) -> list[Operation]:
    """The waits among ``passed`` for the stages of a dot, which may come earlier in their iteration: the producer, which may be ahead
    of it, fills these stages after the release of some of earlier iterations, if none of what ``passed`` releases is used twice.
    """
    block = parent_block(dot)
    if not has_two_stages(dot) or not all(_is_used_once(ring, block) for op in passed for ring in _released(op)):
        return []
    rings = _rings_of_operands(dot)
    return [op for op in passed if isinstance(op, ConsumerWaitOp) and as_op(op).pipeline in rings]


def _released(op: Operation) -> list[SSAValue]:
    """The pipelines of which an operation, or one inside it, releases a stage."""
    releases = (
        as_op(inner) for inner in walk(op) if isinstance(inner, ConsumerReleaseOp) or accumulates_in_tmem(inner)
    )
    return [release.pipeline for release in releases if release.pipeline is not None]


def _is_used_once(ring: SSAValue, block: Block) -> bool:
    """Whether each execution of a block waits for one stage of a pipeline."""
    waits = [op for op in users(ring) if isinstance(op, ConsumerWaitOp) and ancestor_in(op, block) is not None]
    return len(waits) == 1 and waits[0].parent is block


def _rings_of_operands(dot: TableOp) -> set[SSAValue]:
    buffers = [value for value in (dot.lhs, dot.rhs) if isinstance(value.type, BufferType)]
    return {ring for buffer in buffers for ring in rings_of(buffer)}


def rings_of(buffer: SSAValue) -> Iterator[SSAValue]:
    """The pipelines whose stages a buffer has."""
    for user in (user for user in users(buffer) if not is_async_mma(user)):
        yield from (value for value in user.operands if isinstance(value.type, PipelineType))


def barrier_of(dot: Operation) -> Operation | None:
    """The barrier before a dot, or before the dots that it was issued behind and the waits for their stages."""
    op = previous_op(dot)
    while op is not None and (accumulates_in_tmem(op) or isinstance(op, ConsumerWaitOp)):
        op = previous_op(op)
    return op if op is not None and op.name == BARRIER else None


def ops_between(first: Operation, last: Operation) -> list[Operation]:
    ops = list(parent_block(last).ops)
    return ops[ops.index(first) + 1 : ops.index(last)]


def is_single_mma(dot: TableOp) -> bool:
    """Whether a dot is one instruction of one CTA on whole tiles without scales: its operands are all that it touches."""
    in_parts = any(name in dot.attributes for name in ("chunk", "rows")) or dot.acc_stage is not None
    return not in_parts and not dot.pair and dot.lhs_scale is None


def touches(op: Operation, dot: TableOp) -> bool:
    """Whether an operation that a dot would pass writes what the dot reads, reads or writes what it writes, or waits for or releases its stages."""
    tiles = [value for value in (dot.acc, dot.lhs) if isinstance(value.type, TmemType)]
    both_read = as_op(op).lhs if is_async_mma(op) and as_op(op).lhs is dot.lhs else None
    touched = [value for value in op.operands if isinstance(value.type, TmemType) and value is not both_read]
    if any(shares_columns(value, tile) for value in touched for tile in tiles):
        return True
    if is_async_mma(op):
        return op.ready is not None and op.ready is dot.ready
    buffers = [value for value in (dot.lhs, dot.rhs) if value not in tiles]
    rings = {dot.ready, *_rings_of_operands(dot)}
    return waits_or_releases(op, rings) or any(value in buffers for value in op.operands)


def waits_or_releases(op: Operation, rings: set[SSAValue]) -> bool:
    """Whether an operation waits for, acquires or releases stages of pipelines, rather than using one."""
    if is_scalar(op) or is_async_mma(op) or op.name in STORES:
        return False
    return any(value in rings for value in op.operands)


def waits_for_copies(op: Operation, buffers: Iterable[SSAValue]) -> bool:
    """Whether an operation waits for what threads copy to one of the buffers, which a barrier then makes visible."""
    return isinstance(op, AsyncWaitOp) and any(map(is_copied, buffers))


def is_copied(buffer: SSAValue) -> bool:
    """Whether threads copy tiles to a buffer."""
    return any(user.name in ASYNC_COPIES for user in users(buffer))


def shares_columns(one: SSAValue, other: SSAValue) -> bool:
    (first, size), (second, count) = _columns(one), _columns(other)
    return first < second + count and second < first + size


def has_parts_of(tile: SSAValue, other: SSAValue) -> bool:
    """Whether each warp has only columns of a tile that it has of the other one."""
    return defining_table_op(tile).parts is not None and _columns(tile) == _columns(other)


def _columns(tile: SSAValue) -> tuple[int, int]:
    """The first column of a tile in tensor memory, and how many it has."""
    return defining_table_op(tile).column, type_as(tile, TmemType).columns.data


def _may_release(dot: TableOp, passed: Sequence[Operation]) -> bool:
    """Whether the stage that a dot releases is still released by the last dot that reads it."""
    readers = users_of_released_stage(dot, passed)
    return not readers or may_release(readers)


def move_behind(dot: TableOp, leader: TableOp) -> None:
    """Issue a dot behind ``leader`` and those that were moved there before."""
    block, passed = parent_block(dot), ops_between(leader, dot)
    place: Operation = leader
    while (following := place.next_op) is not None and (is_scalar(following) or accumulates_in_tmem(following)):
        place = following
    scalars = scalars_behind(dot.operands, block) or set()
    needed = scalars | set(own_waits(dot, passed))
    moved = [op for op in passed if op in needed and op in ops_between(place, dot)]
    readers = users_of_released_stage(dot, ops_between(place, dot))
    [barrier] = barrier_before(dot)
    if not _precedes_hoisted(dot):
        barrier.detach()
        barrier.erase()
    if readers:
        dot = give_release(dot, as_op(readers[-1]))
    move_after(place, [*moved, dot])


def _precedes_hoisted(dot: TableOp) -> bool:
    """Whether the next iteration's issue of an MMA behind a dot relies on its barrier (``hoist_async_mma_issue.py``)."""
    following = following_op(dot)
    inside = [] if following is None or following is terminator(parent_block(dot)) else walk(following)
    return any(map(is_async_mma, inside)) and not any(op.name == BARRIER for op in inside)


def following_op(op: Operation) -> Operation | None:
    """The operation behind another one, scalar operations left aside."""
    after = op.next_op
    while after is not None and is_scalar(after):
        after = after.next_op
    return after


def move_after(place: Operation, ops: Sequence[Operation]) -> None:
    """Move operations, in their order, behind ``place``."""
    for op in ops:
        op.detach()
        parent_block(place).insert_op_after(op, place)
        place = op
