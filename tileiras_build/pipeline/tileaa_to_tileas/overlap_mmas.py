"""Issue MMAs of tensor memory together where nothing between them matters, so that they overlap the computation between them.

In:    blocks of the consumer partition with several dots (async.umma). Threads wait for one and compute before they issue
       the next, which may depend on none of this: the update of a state, the second matmul of a gradient.
Out:   such a dot is issued right behind the earlier one, without a barrier of its own, or, with one, right behind what threads
       write for it. Its wait stays where its result is read. The last dot that reads the stage releases it.
After: hoist_async_mma_issue (which moves a dot with its barrier). Before: allocate_shared_memory, insertion of copies.
Sound: the operations that a dot passes touch neither its operands nor its columns of tensor memory, and neither wait for nor
       release its stages, but for waits, which move with it inside of their iteration. The barrier before the earlier dot orders all that
       precedes both. A barrier that moves stays where it was, too, unless another one follows before the next MMA. No MMA that
       may still read it is issued before a store that moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import ancestor_in, as_op, defining_table_op, parent_block, terminator, type_as
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    BarrierOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    LocalLoadOp,
    LocalStoreOp,
    TmemLoadOp,
    TmemStoreOp,
)
from ...ir.dialects.nv_tileas.types import BufferType, PipelineType, TmemType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma
from ..analysis.op_queries import is_pure, operations_behind
from ..job import Job
from ..mma.dots import accumulates_in_tmem
from ..pass_manager import EdgePass
from .op_insertion import insert_before
from .rotate_mma_loop import BARRIER, has_two_stages, is_scalar, scalars_behind, users
from .stage_releases import (
    barrier_before,
    erase_repeated_barriers,
    give_release,
    may_release,
    previous_op,
    users_of_released_stage,
)

STORES = (TmemStoreOp.name, LocalStoreOp.name)


class OverlapMmas(EdgePass):
    """Independent MMAs of an iteration issued together."""

    name = "tileas-overlap-mmas"

    def run(self, module: ModuleOp, job: Job) -> None:
        for switch in [op for op in walk(module) if is_agent_switch(op)]:
            for block in {parent_block(dot): None for dot in walk(switch.regions[-1]) if accumulates_in_tmem(dot)}:
                _issue_together([dot for dot in block.ops if accumulates_in_tmem(dot)])
                _store_before_waits(block)
                erase_repeated_barriers(block, _is_between_barriers)
                _issue_before_waits(block)
                erase_repeated_barriers(block, _is_between_barriers)


def _issue_together(dots: Sequence[TableOp]) -> None:
    """Move each dot of a block, in order, behind the first one that it may follow."""
    for dot in dots[1:]:
        issued = [as_op(op) for op in parent_block(dot).ops if accumulates_in_tmem(op) and op.is_before_in_block(dot)]
        if (leader := next((leader for leader in issued if _may_follow(dot, leader)), None)) is not None:
            _move_behind(dot, leader)


def issue_behind_other(dot: TableOp) -> bool:
    """Issue a dot behind an earlier one of its iteration if threads read and use the result of a third one before they need its own;
    whether it was.
    """
    block = parent_block(dot)
    read = next((op for op in users(dot.acc) if isinstance(op, TmemLoadOp) and op.parent is block), None)
    if read is None or not dot.is_before_in_block(read):
        return False
    for leader in [op for op in block.ops if accumulates_in_tmem(op) and op.is_before_in_block(dot)]:
        if uses_third(ops_between(leader, read), dot, leader) and _may_follow(dot, leader):
            _move_behind(dot, leader)
            return True
    return False


def uses_third(ops: Sequence[Operation], dot: TableOp, other: TableOp) -> bool:
    """Whether operations read the accumulator of neither of two dots from tensor memory, and a barrier, but that of ``dot``, then
    waits for what threads compute with it.
    """
    own = barrier_before(dot)
    reads = (isinstance(op, TmemLoadOp) and as_op(op).source not in (dot.acc, other.acc) for op in ops)
    first = next((place for place, found in enumerate(reads) if found), len(ops))
    return any(op.name == BARRIER and op not in own for op in ops[first:])


def _may_follow(dot: TableOp, leader: TableOp) -> bool:
    """Whether a dot may be issued behind ``leader``, whose barrier then orders its operands, too."""
    passed = ops_between(leader, dot)
    if not any(op.name == BARRIER for op in passed) or not _is_simple(dot):
        return False
    barrier = _barrier_of(leader)
    if barrier is None or not barrier_before(dot) or scalars_behind(dot.operands, parent_block(dot)) is None:
        return False
    waits = own_waits(dot, passed)
    since = [op for op in ops_between(barrier, dot) if op not in waits]
    return not any(_touches(inner, dot) for op in since for inner in walk(op)) and _may_release(dot, since)


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


def _barrier_of(dot: Operation) -> Operation | None:
    """The barrier before a dot, or before the dots that it was issued behind and the waits for their stages."""
    op = previous_op(dot)
    while op is not None and (accumulates_in_tmem(op) or isinstance(op, ConsumerWaitOp)):
        op = previous_op(op)
    return op if op is not None and op.name == BARRIER else None


def ops_between(first: Operation, last: Operation) -> list[Operation]:
    ops = list(parent_block(last).ops)
    return ops[ops.index(first) + 1 : ops.index(last)]


def _is_simple(dot: TableOp) -> bool:
    """Whether a dot is one instruction of one CTA on whole tiles without scales: its operands are all that it touches."""
    in_parts = any(name in dot.attributes for name in ("chunk", "rows")) or dot.acc_stage is not None
    return not in_parts and not dot.pair and dot.lhs_scale is None


def _touches(op: Operation, dot: TableOp) -> bool:
    """Whether an operation that a dot would pass writes what the dot reads, reads or writes what it writes, or waits for or releases its stages."""
    tiles = [value for value in (dot.acc, dot.lhs) if isinstance(value.type, TmemType)]
    both_read = as_op(op).lhs if is_async_mma(op) and as_op(op).lhs is dot.lhs else None
    touched = [value for value in op.operands if isinstance(value.type, TmemType) and value is not both_read]
    if any(_shares_columns(value, tile) for value in touched for tile in tiles):
        return True
    if is_async_mma(op):
        return op.ready is not None and op.ready is dot.ready
    buffers = [value for value in (dot.lhs, dot.rhs) if value not in tiles]
    rings = {dot.ready, *_rings_of_operands(dot)}
    return _waits_or_releases(op, rings) or any(value in buffers for value in op.operands)


def _waits_or_releases(op: Operation, rings: set[SSAValue]) -> bool:
    """Whether an operation waits for, acquires or releases stages of pipelines, rather than using one."""
    if is_scalar(op) or is_async_mma(op) or op.name in STORES:
        return False
    return any(value in rings for value in op.operands)


def _shares_columns(one: SSAValue, other: SSAValue) -> bool:
    (first, size), (second, count) = _columns(one), _columns(other)
    return first < second + count and second < first + size


def _columns(tile: SSAValue) -> tuple[int, int]:
    """The first column of a tile in tensor memory, and how many it has."""
    return defining_table_op(tile).column, type_as(tile, TmemType).columns.data


def rings_of(buffer: SSAValue) -> Iterator[SSAValue]:
    """The pipelines whose stages a buffer has."""
    for user in (user for user in users(buffer) if not is_async_mma(user)):
        yield from (value for value in user.operands if isinstance(value.type, PipelineType))


def _may_release(dot: TableOp, passed: Sequence[Operation]) -> bool:
    """Whether the stage that a dot releases is still released by the last dot that reads it."""
    readers = users_of_released_stage(dot, passed)
    return not readers or may_release(readers)


# ---- dots with a barrier of their own --------------------------------------------------------------
def _issue_before_waits(block: Block) -> None:
    """Issue each dot, with its barrier, right behind what it depends on, if threads then wait for another dot later."""
    for dot in [op for op in block.ops if accumulates_in_tmem(op)]:
        if _is_simple(dot) and (barrier := barrier_before(dot)):
            _issue_early(dot, barrier[0])


def _issue_early(dot: TableOp, barrier: Operation) -> None:
    passed = _passed(dot, barrier)
    if not any(isinstance(op, ConsumerWaitOp) for op in passed) or users_of_released_stage(dot, passed):
        return
    place, scalars = passed[0].prev_op, scalars_behind(dot.operands, parent_block(dot))
    if place is None or scalars is None:
        return
    moved = [op for op in (*passed, *ops_between(barrier, dot)) if op in scalars]
    if _is_needed_behind(dot):
        insert_before(BarrierOp.make([], []), dot)
    move_after(place, [*moved, barrier, dot])


def _passed(dot: TableOp, barrier: Operation) -> list[Operation]:
    """The operations before the barrier of a dot that do not concern it, up to the last one that does, in program order."""
    found: list[Operation] = []
    op = barrier.prev_op
    while op is not None and not _stops(op, dot):
        found.insert(0, op)
        op = op.prev_op
    return found


def _stops(op: Operation, dot: TableOp) -> bool:
    """Whether a dot stays behind an operation: a barrier, another MMA, or what touches its operands."""
    return any(inner.name == BARRIER or is_async_mma(inner) or _touches(inner, dot) for inner in walk(op))


def _is_needed_behind(dot: TableOp) -> bool:
    """Whether no barrier follows a dot before the next MMA of its block, so that others may rely on the one before it."""
    for op in ops_between(dot, terminator(parent_block(dot))):
        if op.name == BARRIER:
            return False
        if any(map(is_async_mma, walk(op))):
            return True
    return True


# ---- operands that threads write -------------------------------------------------------------------
def _store_before_waits(block: Block) -> None:
    """Write operands that are known before an MMA right behind its issue, not after the wait for it."""
    for store in [op for op in block.ops if op.name in STORES]:
        for place in [op for op in block.ops if accumulates_in_tmem(op) and _is_waited_for(op)]:
            if store in (passed := ops_between(place, terminator(block))) and _move_store(as_op(store), place, passed):
                break


def _is_waited_for(dot: Operation) -> bool:
    """Whether threads wait right behind a dot, and a barrier stands before it."""
    return isinstance(_next(dot), ConsumerWaitOp) and _barrier_of(dot) is not None


def _move_store(store: TableOp, place: Operation, later: Sequence[Operation]) -> bool:
    """Move a store, and what computes it, behind ``place``; false where it must not move. ``later``: all operations behind."""
    passed = list(later[: later.index(store)])
    computed = computation_of(store, passed)
    if computed is None or not any(isinstance(op, ConsumerWaitOp) for op in passed):
        return False
    dest = store.dest if isinstance(store, TmemStoreOp) else store.buffer
    before = [op for op in parent_block(place).ops if is_async_mma(op) and op not in later]
    unread = {as_op(op).ready for op in later[len(passed) :] if is_async_mma(op)} - {None}
    return move_store(store, dest, computed, place, [*before, *passed], unread)


def move_store(
    store: TableOp,
    dest: SSAValue,
    computed: Sequence[Operation],
    place: Operation,
    others: Sequence[Operation],
    waited: Iterable[SSAValue] = (),
) -> bool:
    """Move a store to ``dest``, and what computes it, behind ``place``; false where one of ``others``, the operations that it passes and
    the MMAs in flight, blocks it. ``waited``: pipelines that must not be waited for or released on the way.
    """
    read = {as_op(op).buffer for op in computed if isinstance(op, LocalLoadOp)}
    turned = {*waited, *(ring for buffer in (dest, *read) for ring in rings_of(buffer))}
    rest = [op for op in others if op not in computed]
    if any(_blocks_store(inner, dest, read, turned) for op in rest for inner in walk(op)):
        return False
    move_after(place, [*computed, store])
    return True


def computation_of(store: TableOp, passed: Sequence[Operation]) -> list[Operation] | None:
    """The operations among ``passed`` that compute a stored tile; None where one of them does more."""
    behind = operations_behind(store.operands, store.parent)
    needed = [op for op in passed if op in behind]
    return needed if all(not op.regions and (is_pure(op) or isinstance(op, LocalLoadOp)) for op in needed) else None


def _blocks_store(op: Operation, dest: SSAValue, read: set[SSAValue], turned: set[SSAValue]) -> bool:
    """Whether an operation uses what a store writes, writes what its tile is read from, or waits for or releases a stage of either."""
    if _waits_or_releases(op, turned):
        return True
    tiles = [value for value in op.operands if isinstance(value.type, TmemType)]
    if isinstance(dest.type, TmemType) and any(_shares_columns(tile, dest) for tile in tiles):
        return True
    return dest in op.operands or (op.name in STORES and any(value in read for value in op.operands))


def _is_between_barriers(op: Operation) -> bool:
    """Whether threads only issue an MMA or wait, each of them: two barriers around it order what one does."""
    return is_scalar(op) or accumulates_in_tmem(op) or isinstance(op, ConsumerWaitOp)


def _next(op: Operation) -> Operation | None:
    """The operation behind another one, scalar operations left aside."""
    after = op.next_op
    while after is not None and is_scalar(after):
        after = after.next_op
    return after


# ---- rewriting -------------------------------------------------------------------------------------
def _move_behind(dot: TableOp, leader: TableOp) -> None:
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
    following = _next(dot)
    inside = [] if following is None or following is terminator(parent_block(dot)) else walk(following)
    return any(map(is_async_mma, inside)) and not any(op.name == BARRIER for op in inside)


def move_after(place: Operation, ops: Sequence[Operation]) -> None:
    """Move operations, in their order, behind ``place``."""
    for op in ops:
        op.detach()
        parent_block(place).insert_op_after(op, place)
        place = op
