"""Wait for MMAs that another warp issues in the next iteration, where only that writes their operands or reads their results.

In:    loops of the warps that compute beside a partition that issues MMAs. They wait for an MMA (async.pipeline.consumer_wait) at the end of
       an iteration, and of the one that ``rotate_mma_loop`` has put before the loop.
Out:   the wait stands in the next iteration, in front of the first operation that needs it, or behind the loop. What threads write for
       another MMA, and their arrival for it, no longer follow the completion of this one.
After: split_mma_issue (arrivals are in place of barriers). Before: allocate_shared_memory.
Sound: waits of a pipeline keep their order and number. The wait passes nothing that touches columns of tensor memory or buffers of the MMA,
       of one that it alone completes as it has no wait, or of one that another delayed wait completes. An arrival that it passes is for an
       MMA for which threads wait once in an iteration, at its place, so a warp arrives again only after the issuer has waited for its last
       arrival. Each iteration of the loop is executed to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...ir.casting import ancestor_in, as_op, ops_behind, parent_block, terminator, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConsumerWaitOp, ProducerCommitOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma, is_counted_loop
from ..analysis.enclosing_control_flow import enclosing_kernel, enclosing_loops, has_no_early_exit
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.schedule_attribute import schedule_of
from .issue_behind import ops_between, touches
from .op_insertion import IfOp, YieldOp, insert_before, is_not_first_iteration, loop_continues_at
from .rotate_mma_loop import users

ADVANCE = "nv_tileas.async.pipeline.advance"


class DelayMmaWaits(EdgePass):
    """Waits for MMAs an iteration later."""

    name = "tileas-delay-mma-waits"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if not schedule_of(func).mma_warp:
            return
        for switch in [as_op(op) for op in walk(func) if is_agent_switch(op)]:
            *others, computing = switch.regions
            dots = [as_op(op) for region in others for op in walk(region) if is_async_mma(op)]
            for loop in [as_op(op) for op in walk(computing) if is_counted_loop(op) and has_no_early_exit(op)]:
                _Loop(loop, dots).run()


@dataclass(eq=False)
class _Pair:
    """A wait and the operation that advances its token, in the block of both."""

    wait: TableOp
    advance: TableOp

    @property
    def ops(self) -> tuple[TableOp, TableOp]:
        return self.wait, self.advance

    def move(self, token: SSAValue, place: Operation) -> None:
        """Wait for the item of ``token`` before ``place``."""
        for op in self.ops:
            op.detach()
            op.operands[1] = token
            parent_block(place).insert_op_before(op, place)

    def clone_if(self, condition: SSAValue, token: SSAValue) -> Operation:
        """A wait for the item of ``token`` under a condition; the token behind it."""
        waiting, never = Block(), Block()
        cloned = [op.clone({self.wait.operands[1]: token}) for op in self.ops]
        waiting.add_ops([*cloned, YieldOp.make([[cloned[-1].results[0]]], [])])
        never.add_op(YieldOp.make([[token]], []))
        return IfOp.make([condition], [token.type], {}, [Region(waiting), Region(never)])


@dataclass(eq=False)
class _Loop:
    """A loop of warps that compute, all MMAs of other partitions, and the pipelines whose waits were delayed, with their new places."""

    loop: TableOp
    dots: Sequence[TableOp]
    delayed: dict[SSAValue, Operation] = field(default_factory=dict)

    @property
    def body(self) -> Block:
        return self.loop.regions[0].blocks[0]

    def run(self) -> None:
        for wait in [as_op(op) for op in self.body.ops if isinstance(op, ConsumerWaitOp)]:
            dots = [dot for dot in self.dots if dot.ready is wait.pipeline]
            if dots and not self._is_complete(wait, dots):
                self._delay(wait)

    def _is_complete(self, wait: TableOp, dots: Sequence[TableOp]) -> bool:
        """Whether threads have waited, in the same iteration, for an MMA that was issued behind those which a wait is for."""
        if (block := _issuing_block(dots)) is None:
            return False
        issued = [dot for dot in self.dots if ancestor_in(dot, block) is not None]
        waited = {
            as_op(op).pipeline for op in self.body.ops if isinstance(op, ConsumerWaitOp) and op.is_before_in_block(wait)
        }
        later = [
            dot.ready for dot in issued[1 + max(map(issued.index, set(dots) & set(issued))) :] if dot.ready in waited
        ]
        places = {op: place for place, op in enumerate(walk(enclosing_kernel(self.loop)))}
        lead = self._lead(wait.pipeline, block, places)
        return any(self._lead(ready, block, places) == lead for ready in later)

    def _lead(self, ready: SSAValue, block: Block, places: Mapping[Operation, int]) -> int:
        """How many more MMAs are issued before a loop than threads wait for before theirs."""
        issued = sum(places[dot] < places[unwrap(block.first_op)] for dot in self.dots if dot.ready is ready)
        waits = (op for op in users(ready) if isinstance(op, ConsumerWaitOp))
        return issued - sum(places[op] < places[self.loop] for op in waits)

    def _delay(self, wait: TableOp) -> None:
        """Move a wait behind the back edge of the loop, if it may pass all up to there."""
        inside = _pair_of(wait)
        if inside is None or not isinstance(token := wait.operands[1], BlockArgument) or token.block is not self.body:
            return
        before = self._pair_before(wait.pipeline, self.loop.initial[token.index - 1])
        if not _only_continues(token, inside, self.body):
            return
        passed, front = self._passed_before(before), [op for op in self.body.ops if op not in inside.ops]
        place = next((op for op in front if self._needs(op, wait.pipeline)), None)
        if place is None or not place.is_before_in_block(wait):
            return
        passed += [*ops_behind(inside.advance), *front[: front.index(place)]]
        if any(self._needs(op, wait.pipeline) for op in passed if op is not terminator(self.body)):
            return
        pipeline = wait.pipeline
        if before is None:
            self.delayed[pipeline] = self._guard(inside, token, place)
        else:
            self._move(inside, before, token, place)
            self.delayed[pipeline] = wait

    def _passed_before(self, before: _Pair | None) -> list[Operation]:
        return [] if before is None else ops_between(before.advance, self.loop)

    def _move(self, inside: _Pair, before: _Pair, token: BlockArgument, place: Operation) -> None:
        """Move the wait before the loop behind it, and that of an iteration into the next one."""
        result = self.loop.results[token.index - 1]
        self.loop.operands[self._operand_of(token)] = before.wait.operands[1]
        result.replace_all_uses_with(before.advance.results[0])
        before.move(result, unwrap(self.loop.next_op))
        inside.move(token, place)

    def _guard(self, inside: _Pair, token: BlockArgument, place: Operation) -> Operation:
        """Wait in all iterations but the first, and behind the loop if it has trips; the operation that waits in the loop."""
        loop, behind = self.loop, unwrap(self.loop.next_op)
        result = loop.results[token.index - 1]
        uses = list(result.uses)
        later = insert_before(is_not_first_iteration(loop, self.body.args[0]), place)
        advanced = insert_before(inside.clone_if(later, token), place)
        inside.advance.results[0].replace_all_uses_with(advanced)
        guard = loop_continues_at(loop, loop.lower)
        parent_block(loop).insert_op_before(guard, loop)
        last = insert_before(inside.clone_if(guard.results[0], result), behind)
        for use in uses:
            use.operation.operands[use.index] = last
        for op in (inside.advance, inside.wait):
            op.detach()
            op.erase()
        return advanced.owner

    def _operand_of(self, token: BlockArgument) -> int:
        return len(self.loop.operands) - len(self.loop.initial) + token.index - 1

    def _pair_before(self, pipeline: SSAValue, token: SSAValue) -> _Pair | None:
        """The wait in the block of the loop, in front of it, whose token the loop goes on with."""
        advance = token.owner
        if (
            not isinstance(advance, Operation)
            or advance.name != ADVANCE
            or advance.parent is not self.loop.parent
            or len(users(token)) != 1
        ):
            return None
        found = (op for op in users(pipeline) if isinstance(op, ConsumerWaitOp) and op.parent is self.loop.parent)
        same = (as_op(op) for op in found if op.operands[1] is advance.operands[1])
        waits = [wait for wait in same if wait.is_before_in_block(self.loop)]
        return _Pair(waits[0], as_op(advance)) if len(waits) == 1 else None

    def _needs(self, op: Operation, pipeline: SSAValue) -> bool:
        """Whether an operation must follow the wait for a pipeline."""
        guarded = [dot for dot in self.dots if dot.ready is None or dot.ready is pipeline]
        guarded += [dot for dot in self.dots if dot.ready in self.delayed and not self._follows(op, dot.ready)]
        for inner in walk(op):
            if any(touches(inner, dot) for dot in guarded):
                return True
            if isinstance(inner, ProducerCommitOp) and not self._is_waited_for_elsewhere(as_op(inner), pipeline):
                return True
        return False

    def _follows(self, op: Operation, ready: SSAValue) -> bool:
        """Whether an operation of the loop is a delayed wait, or stands behind it."""
        place, waits = ancestor_in(op, self.body), self.delayed[ready]
        return place is not None and (place is waits or waits.is_before_in_block(place))

    def _is_waited_for_elsewhere(self, arrival: TableOp, pipeline: SSAValue) -> bool:
        """Whether threads wait in each iteration for an MMA that follows an arrival, if by a delayed wait, in front of the next arrival."""
        followers = {
            ready for op in users(arrival.pipeline) if isinstance(op, ConsumerWaitOp) for ready in _ready_behind(op)
        }
        followers.discard(pipeline)
        if any(self._follows(arrival, ready) for ready in followers & set(self.delayed)):
            return True
        followers -= set(self.delayed)
        return any(isinstance(op, ConsumerWaitOp) and as_op(op).pipeline in followers for op in self.body.ops)


def _pair_of(wait: TableOp) -> _Pair | None:
    """A wait with the only other user of its token."""
    others = [op for op in users(wait.operands[1]) if op is not wait]
    if len(others) != 1 or others[0].name != ADVANCE or others[0].parent is not wait.parent:
        return None
    return _Pair(wait, as_op(others[0]))


def _only_continues(token: BlockArgument, pair: _Pair, body: Block) -> bool:
    """Whether the advanced token is that of the next iteration, and nothing else."""
    [*uses] = pair.advance.results[0].uses
    return len(uses) == 1 and uses[0].operation is terminator(body) and uses[0].index == token.index - 1


def _ready_behind(wait: Operation) -> Iterator[SSAValue]:
    """What the MMAs behind a wait of an issuer complete."""
    for op in ops_behind(wait):
        if is_async_mma(op) and as_op(op).ready is not None:
            yield as_op(op).ready


def _issuing_block(dots: Sequence[TableOp]) -> Block | None:
    """The body of the loop in which other warps issue MMAs."""
    loops = [loop for dot in dots for loop in enclosing_loops(dot)[-1:]]
    return loops[0].regions[0].blocks[0] if loops else None
