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

from ...ir.casting import as_op, parent_block, terminator
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConsumerWaitOp, LocalLoadOp, TmemStoreOp
from ...ir.dialects.nv_tileas.types import BufferType, TmemType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma
from ..analysis.op_queries import is_pure, operations_behind
from ..job import Job
from ..mma.dots import accumulates_in_tmem
from ..pass_manager import EdgePass
from .issue_behind import (
    STORES,
    barrier_of,
    following_op,
    is_single_mma,
    may_follow,
    move_after,
    move_behind,
    ops_between,
    rings_of,
    shares_columns,
    touches,
    waits_for_copies,
    waits_or_releases,
)
from .op_insertion import insert_before
from .rotate_mma_loop import BARRIER, is_scalar, scalars_behind, users
from .stage_releases import barrier_before, erase_repeated_barriers, needs_barrier, users_of_released_stage


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
        if (leader := next((leader for leader in issued if may_follow(dot, leader)), None)) is not None:
            move_behind(dot, leader)


# ---- dots with a barrier of their own --------------------------------------------------------------
def _issue_before_waits(block: Block) -> None:
    """Issue each dot, with its barrier, right behind what it depends on, if threads then wait for another dot later."""
    for dot in [op for op in block.ops if accumulates_in_tmem(op)]:
        if is_single_mma(dot) and (barrier := barrier_before(dot)):
            _issue_early(dot, barrier[0])


def _issue_early(dot: TableOp, barrier: Operation) -> None:
    passed = _passed(dot, barrier)
    if not any(isinstance(op, ConsumerWaitOp) for op in passed) or users_of_released_stage(dot, passed):
        return
    place, scalars = passed[0].prev_op, scalars_behind(dot.operands, parent_block(dot))
    if place is None or scalars is None:
        return
    moved = [op for op in (*passed, *ops_between(barrier, dot)) if op in scalars]
    if _is_needed_behind(dot) or any(map(needs_barrier, passed)):
        insert_before(barrier.clone(), dot)
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
    return any(inner.name == BARRIER or is_async_mma(inner) or touches(inner, dot) for inner in walk(op))


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
    return isinstance(following_op(dot), ConsumerWaitOp) and barrier_of(dot) is not None


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
    turned = {*waited, *(ring for buffer in (dest, *_scaled_by(dest), *read) for ring in rings_of(buffer))}
    rest = [op for op in others if op not in computed]
    if any(_blocks_store(inner, dest, read, turned) for op in rest for inner in walk(op)):
        return False
    move_after(place, [*computed, store])
    return True


def _scaled_by(dest: SSAValue) -> Iterator[SSAValue]:
    """The operands of the MMAs that ``dest`` has the scales of: the wait for their stage is also that for the MMA which read its scales."""
    for dot in map(as_op, filter(accumulates_in_tmem, users(dest))):
        if dest in (dot.lhs_scale, dot.rhs_scale):
            yield from (value for value in (dot.lhs, dot.rhs) if isinstance(value.type, BufferType))


def computation_of(store: TableOp, passed: Sequence[Operation]) -> list[Operation] | None:
    """The operations among ``passed`` that compute a stored tile; None where one of them does more."""
    behind = operations_behind(store.operands, store.parent)
    needed = [op for op in passed if op in behind]
    return needed if all(not op.regions and (is_pure(op) or isinstance(op, LocalLoadOp)) for op in needed) else None


def _blocks_store(op: Operation, dest: SSAValue, read: set[SSAValue], turned: set[SSAValue]) -> bool:
    """Whether an operation uses what a store writes, writes what its tile is read from, or waits for or releases a stage of either, or
    waits for copies to what its tile is read from.
    """
    if waits_or_releases(op, turned) or waits_for_copies(op, read):
        return True
    tiles = [value for value in op.operands if isinstance(value.type, TmemType)]
    if isinstance(dest.type, TmemType) and any(shares_columns(tile, dest) for tile in tiles):
        return True
    return dest in op.operands or (op.name in STORES and any(value in read for value in op.operands))


def _is_between_barriers(op: Operation) -> bool:
    """Whether threads only issue an MMA or wait, each of them: two barriers around it order what one does."""
    return is_scalar(op) or accumulates_in_tmem(op) or isinstance(op, ConsumerWaitOp)
