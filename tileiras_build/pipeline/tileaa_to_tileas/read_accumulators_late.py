"""Wait for the MMAs of an accumulator and read it in the iteration that changes it, not at the end of the one before.

In:    counted loops of the consumer partition that wait for the MMAs of an accumulator and read it (tmem_load) at the end of an iteration,
       and carry the tile to the next one, which computes what it stores to the accumulator (tmem_store) from it, as behind other dots.
Out:   the accumulator is stored before the loop, and waited for and read in front of its first use, and behind the loop. MMAs of the next
       iteration overlap its own, and no registers hold it beside what is computed before that use.
After: use_tma_stores and hoist_bounds_checks (loops are final). Before: reload_accumulators (it looks at reads behind loops),
       limit_conversion_scratch, split_mma_issue.
Sound: nothing but the loop uses the accumulator, its columns and its pipeline, which a commit fills before the loop. Where that runs again,
       a barrier stands between the wait behind it and this commit, which one thread issues. A thread stores and reads elements of its own; a
       barrier stands between the new read and the next MMA. What now precedes the wait uses no buffers but by
       MMAs, and no columns of an MMA that this wait alone completes. Each iteration of the loop is executed to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import ancestor_in, as_op, ops_behind, terminator, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    AdvanceOp,
    AllocTmemOp,
    BarrierOp,
    ConsumerWaitOp,
    TmemLoadOp,
    TmemStoreOp,
)
from ...ir.dialects.nv_tileas.types import BufferType, TmemType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, is_agent_switch, is_async_mma, is_counted_loop, traits_of
from ..analysis.enclosing_control_flow import enclosing_kernel, enclosing_loops, has_no_early_exit
from ..common.rebuilt_loops import control_operands, drop_carried, rebuilt
from ..job import Job
from ..pass_manager import EdgePass
from .issue_behind import ops_between, shares_columns
from .op_insertion import insert_before
from .rotate_mma_loop import users

USERS = (TmemStoreOp, TmemLoadOp, ConsumerWaitOp, AdvanceOp)


class ReadAccumulatorsLate(EdgePass):
    """Reads of accumulators where iterations first use them."""

    name = "tileas-read-accumulators-late"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        for switch in [as_op(op) for op in walk(func) if is_agent_switch(op)]:
            for loop in [as_op(op) for op in walk(switch.regions[-1]) if is_counted_loop(op) and has_no_early_exit(op)]:
                late = (read for read in _reads_at_end(loop) if read.may_be_late)
                if (read := next(late, None)) is not None:
                    read.delay()


@dataclass(eq=False)
class _Read:
    """The wait for an accumulator at the end of a loop's body, the read and the new token; the tile and the token that the loop carries;
    the first use of the tile.
    """

    loop: TableOp
    wait: TableOp
    load: TableOp
    advance: TableOp
    carried: BlockArgument
    token: BlockArgument
    place: Operation

    @property
    def ops(self) -> tuple[TableOp, ...]:
        return self.wait, self.load, self.advance

    @property
    def body(self) -> Block:
        return self.loop.regions[0].blocks[0]

    @property
    def tile(self) -> SSAValue:
        return self.load.operands[0]

    @property
    def may_be_late(self) -> bool:
        passed = [*ops_behind(self.wait), *self.before()]
        return (
            self.place.is_before_in_block(self.wait)
            and self._is_used_here_only()
            and self._is_stored_behind()
            and not any(self._needs_wait(inner) for op in passed if op not in self.ops for inner in walk(op))
        )

    def before(self) -> Iterator[Operation]:
        """What the body has in front of the first use of the tile."""
        return (op for op in self.body.ops if op.is_before_in_block(self.place))

    def delay(self) -> None:
        """Wait and read where the tile is used, and behind the loop."""
        index, token = self.carried.index - 1, self.token.index - 1
        initial = [self.loop.initial[index], self.tile, None, None, None]
        insert_before(TmemStoreOp.make(initial, [], accumulator=True), self.loop)
        if enclosing_loops(self.loop):  # all threads have waited behind the loop's last run
            insert_before(BarrierOp.make([], []), self.loop)
        insert_before(self._commits()[0].clone(), self.loop)
        ended, uses = self.loop.results[token], list(self.loop.results[token].uses)
        behind = unwrap(self.loop.next_op)
        again = [insert_before(op.clone({self.token: ended}), behind) for op in self.ops]
        self.loop.results[index].replace_all_uses_with(again[1])
        for use in uses:
            use.operation.operands[use.index] = again[2]
        for op in self.ops:
            op.detach()
            self.body.insert_op_before(op, self.place)
        self.carried.replace_all_uses_with(self.load.results[0])
        _drop_carried(self.loop, index)

    def _is_used_here_only(self) -> bool:
        """Whether nothing else has the tile, its columns or its pipeline, which one commit fills."""
        tiles = [op.results[0] for op in walk(enclosing_kernel(self.loop)) if isinstance(op, AllocTmemOp)]
        if any(shares_columns(tile, self.tile) for tile in tiles if tile is not self.tile):
            return False
        commits, found = self._commits(), [*users(self.tile), *users(self.wait.pipeline)]
        if len(commits) != 1 or commits[0].token is not None or any(ancestor_in(op, self.body) is None for op in found):
            return False
        once = sum(isinstance(op, kind) for op in found for kind in (TmemLoadOp, ConsumerWaitOp, AdvanceOp)) == 3
        return once and all(isinstance(op, USERS) or is_async_mma(op) or op in commits for op in found)

    def _commits(self) -> list[TableOp]:
        return [as_op(op) for op in users(self.wait.pipeline) if MmaRole.COMMIT in traits_of(op).mma]

    def _is_stored_behind(self) -> bool:
        """Whether an iteration stores the tile, of the same layout, before a barrier and the MMAs behind that."""
        stores = [op for op in users(self.tile) if isinstance(op, TmemStoreOp)]
        if len(stores) != 1 or stores[0].parent is not self.body or self.place is stores[0]:
            return False
        [store] = stores
        same = store.operands[0].type == self.load.results[0].type and self.place.is_before_in_block(store)
        mmas = [unwrap(ancestor_in(op, self.body)) for op in users(self.tile) if is_async_mma(op)]
        return same and all(
            store.is_before_in_block(mma) and any(isinstance(op, BarrierOp) for op in ops_between(store, mma))
            for mma in mmas
        )

    def _needs_wait(self, op: Operation) -> bool:
        """Whether an operation may write what an MMA reads, or touches columns of one that no other wait completes."""
        if any(isinstance(value.type, BufferType) for value in op.operands) and not is_async_mma(op):
            return True
        touched = [value for value in op.operands if isinstance(value.type, TmemType)]
        return any(shares_columns(value, tile) for value in touched for tile in self._completed())

    def _completed(self) -> list[SSAValue]:
        """The tiles in tensor memory of MMAs that this wait may complete alone: threads read no result of theirs before it."""
        dots = [
            as_op(op) for op in walk(self.body) if is_async_mma(op) and as_op(op).ready in (None, self.wait.pipeline)
        ]
        read = {
            op.operands[0] for op in self.body.ops if isinstance(op, TmemLoadOp) and op.is_before_in_block(self.wait)
        }
        return [
            value
            for dot in dots
            if dot.acc not in read
            for value in (dot.acc, dot.lhs)
            if isinstance(value.type, TmemType)
        ]


def _reads_at_end(loop: TableOp) -> Iterator[_Read]:
    """The accumulators that a loop reads and carries, with the tokens of their pipelines."""
    body = loop.regions[0].blocks[0]
    last = terminator(body)
    for index, value in enumerate(last.operands):
        load, carried = value.owner, body.args[index + 1]
        if not isinstance(load, TmemLoadOp) or load.parent is not body or len(users(value)) != 1:
            continue
        wait, places = load.prev_op, {ancestor_in(use.operation, body) for use in carried.uses}
        place = next((op for op in body.ops if op in places), None)
        if (
            place is None
            or not isinstance(wait, ConsumerWaitOp)
            or not isinstance(token := wait.operands[1], BlockArgument)
        ):
            continue
        advances = [op for op in users(token) if isinstance(op, AdvanceOp)]
        if len(advances) == 1 and token.block is body and last.operands[token.index - 1] is advances[0].results[0]:
            yield _Read(loop, as_op(wait), as_op(load), as_op(advances[0]), carried, token, place)


def _drop_carried(loop: TableOp, index: int) -> None:
    """Carry a value no longer that a loop does not use."""
    kept = [place for place in range(len(loop.results)) if place != index]
    drop_carried(loop.regions[0].blocks[0], {index})
    insert_before(rebuilt(loop, [*control_operands(loop), [loop.initial[place] for place in kept]], kept), loop)
    loop.detach()
    loop.erase()
