"""Insert barriers where a token orders accesses of different threads to the same bytes.

In:    nv_tileas memory operations ordered by tokens.
Out:   the same operations, with nv_tileas.barrier before each access that conflicts with an earlier access of another
       thread; of all CTAs (``cluster``) in a kernel that is marked ``cluster_barriers``.
After: convert_tileaa_to_tileas. Before: scratch is allocated (a barrier ends all earlier reads of it).
Sound: program order holds within a thread; across the threads of the tile program a token edge from a write to any
       access, or from a read to a write, needs a barrier in between. Each access is assumed to touch any byte. A token that a
       loop carries follows every access in the loop; where all iterations are complete, those alone after which no barrier
       came before the iteration's end. The barrier for a token from before a loop is before the loop.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import parent_block, parent_op, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import BarrierOp, CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    MemoryEffect,
    is_access,
    is_counted_loop,
    is_fence,
    is_if,
    is_loop,
    traits_of,
)
from ..analysis.enclosing_control_flow import has_no_early_exit, is_defined_in_loop
from ..analysis.memory_semantics import acquires, releases
from ..analysis.scalar_slice import TOKEN
from ..job import Job
from ..pass_manager import EdgePass

NONE, READ, WRITE = MemoryEffect.NONE, MemoryEffect.READ, MemoryEffect.WRITE


class InsertTokenBarriers(EdgePass):
    """Barriers from memory tokens."""

    name = "tileas-insert-token-barriers"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        _BarrierInserter(func.cluster_barriers).block(func.regions[0].blocks[0])


class _BarrierInserter:
    """``unordered[token]``: the kinds of the accesses that a token follows (READ, WRITE), and their time.

    A barrier orders all accesses before it, so comparing times is enough: removing each token at a barrier would make
    every barrier as slow as the program before it is long.
    """

    def __init__(self, cluster: bool):
        self.cluster = cluster
        self.unordered: dict[SSAValue, tuple[MemoryEffect, int]] = {}
        self.now, self.barrier = 1, 0
        self.inserts = True

    def note(self, token: SSAValue, mask: MemoryEffect) -> None:
        self.now += 1
        self.unordered[token] = mask, self.now

    def _since_barrier(self, token: SSAValue) -> MemoryEffect:
        mask, time = self.unordered.get(token, (NONE, 0))
        return mask if time > self.barrier else NONE

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            self.operation(op)

    def operation(self, op: Operation) -> None:
        if is_access(op):
            self._access(op)
        elif is_loop(op):
            self._loop(op)
        elif is_if(op):
            self._if(op)
        elif is_fence(op):
            self._barrier_before(op)
            self.note(op.results[0], NONE)
        else:
            self._results(op, self._joined(op))

    def _results(self, op: Operation, mask: MemoryEffect) -> None:
        for result in op.results:
            if result.type.name == TOKEN:
                self.note(result, mask)

    def _joined(self, op: Operation) -> MemoryEffect:
        mask = NONE
        for operand in op.operands:
            mask |= self._since_barrier(operand)
        return mask

    def _access(self, op: Operation) -> None:
        before = self._joined(op)
        if _waits(op, before):
            self._barrier_before(op)
            before = NONE
        self._results(op, before | traits_of(op).effect)
        if acquires(op):
            # Later accesses of other threads must come after the writes that this acquire observes.
            if self.inserts:
                parent_block(op).insert_op_after(self._barrier(), op)
            self._after_barrier()

    def _barrier_before(self, op: Operation) -> None:
        if self.inserts:
            place = _where_all_ctas_are(op) if self.cluster else op
            parent_block(place).insert_op_before(self._barrier(), place)
        self._after_barrier()

    def _barrier(self) -> TableOp:
        return BarrierOp.make([], [], cluster=self.cluster)

    def _after_barrier(self) -> None:
        self.now += 1
        self.barrier = self.now

    def _loop(self, op: Operation) -> None:
        block = op.regions[0].blocks[0]
        if any(is_access(inner) and _waits(inner, self._before(op, inner)) for inner in walk(block)):
            self._barrier_before(op)  # inside it would run once an iteration
        inside = NONE
        for inner in walk(block):
            inside |= traits_of(inner).effect if is_access(inner) else NONE
        entering, before = self._joined(op), self.barrier
        # What a loop inside carries changes nothing outside it, and would take time exponential in the depth of a nest.
        is_followed = self.inserts and is_counted_loop(op) and has_no_early_exit(op)
        carried = self._carried(op, entering) if is_followed else entering | inside
        self._body(block, carried)
        # The loop may have no trips, and its barrier may not run: pending accesses stay pending.
        self.barrier = before
        self._results(op, entering | inside)

    def _before(self, loop: Operation, op: Operation) -> MemoryEffect:
        """The kinds of accesses before a loop that an operation in it follows."""
        mask = NONE
        for operand in op.operands:
            if operand.type.name == TOKEN and not is_defined_in_loop(operand, loop):
                mask |= self._since_barrier(operand)
        return mask

    def _body(self, block: Block, carried: MemoryEffect) -> MemoryEffect:
        """Insert the barriers of a loop whose tokens follow accesses of these kinds; return the kinds that its last operation
        passes on.
        """
        for argument in block.args:
            if argument.type.name == TOKEN:
                self.note(argument, carried)
        self.block(block)
        return self._joined(unwrap(block.last_op))

    def _carried(self, loop: Operation, entering: MemoryEffect) -> MemoryEffect:
        """The kinds of accesses that no barrier ends before the next iteration: the fewest with which an iteration passes no
        others on.
        """
        before, carried, self.inserts = self.barrier, entering, False
        while (passed := self._body(loop.regions[0].blocks[0], carried)) not in carried:
            self.barrier, carried = before, carried | passed
        self.inserts, self.barrier = True, before
        return carried

    def _if(self, op: Operation) -> None:
        before, after, inside = self.barrier, [], NONE
        for region in op.regions:
            self.barrier = before
            self.block(region.blocks[0])
            last = region.blocks[0].last_op
            inside |= self._joined(last) if last is not None else NONE
            after.append(self.barrier)
        # An access that is pending after one of the branches stays pending.
        self.barrier = min(after)
        self._results(op, inside)


def _where_all_ctas_are(op: Operation) -> Operation:
    """An access, or the branch around one that the first CTA alone executes."""
    around = parent_op(op)
    choice = around.operands[0].owner if is_if(around) else None
    if isinstance(choice, Operation) and any(isinstance(value.owner, CtaRankOp) for value in choice.operands):
        return around
    return op


def _waits(op: Operation, before: MemoryEffect) -> bool:
    """Whether an access needs a barrier after accesses of these kinds that its token follows."""
    return WRITE in before or (before is not NONE and (WRITE in traits_of(op).effect or releases(op)))
