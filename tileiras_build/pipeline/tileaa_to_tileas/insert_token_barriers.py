"""Insert barriers where a token orders accesses of different threads to the same bytes.

In:    nv_tileas memory operations ordered by tokens.
Out:   the same operations, with nv_tileas.barrier before each access that conflicts with an earlier access of another
       thread.
After: convert_tileaa_to_tileas. Before: scratch is allocated (a barrier ends all earlier reads of it).
Sound: program order holds within a thread; across the threads of the tile program a token edge from a write to any
       access, or from a read to a write, needs a barrier in between. Each access is assumed to touch any byte, and a
       loop-carried token to follow every access in the loop.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import parent_block
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import BarrierOp
from ...ir.dialects.op_traits import MemoryEffect, is_access, is_fence, is_function, is_if, is_loop, traits_of
from ..analysis.memory_semantics import acquires, releases
from ..analysis.scalar_slice import TOKEN
from ..job import Job
from ..pass_manager import EdgePass

NONE, READ, WRITE = MemoryEffect.NONE, MemoryEffect.READ, MemoryEffect.WRITE


class InsertTokenBarriers(EdgePass):
    """Barriers from memory tokens."""

    name = "tileas-insert-token-barriers"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if is_function(func):
                _BarrierInserter().block(func.regions[0].blocks[0])


class _BarrierInserter:
    """``unordered[token]``: the kinds of the accesses that a token follows (READ, WRITE), and their time.

    A barrier orders all accesses before it, so comparing times is enough: removing each token at a barrier would make
    every barrier as slow as the program before it is long.
    """

    def __init__(self):
        self.unordered: dict[SSAValue, tuple[MemoryEffect, int]] = {}
        self.now, self.barrier = 1, 0

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
        kind, before = traits_of(op).effect, self._joined(op)
        conflict = WRITE in before or (before and WRITE in kind)
        if conflict or (before and releases(op)):
            self._barrier_before(op)
            before = NONE
        self._results(op, before | kind)
        if acquires(op):
            # Later accesses of other threads must come after the writes that this acquire observes.
            parent_block(op).insert_op_after(BarrierOp.make([], []), op)
            self._after_barrier()

    def _barrier_before(self, op: Operation) -> None:
        parent_block(op).insert_op_before(BarrierOp.make([], []), op)
        self._after_barrier()

    def _after_barrier(self) -> None:
        self.now += 1
        self.barrier = self.now

    def _loop(self, op: Operation) -> None:
        block = op.regions[0].blocks[0]
        inside = NONE
        for inner in walk(block):
            inside |= traits_of(inner).effect if is_access(inner) else NONE
        entering, before = self._joined(op), self.barrier
        for argument in block.args:
            if argument.type.name == TOKEN:
                self.note(argument, entering | inside)
        self.block(block)
        # The loop may have no trips, and its barrier may not run: pending accesses stay pending.
        self.barrier = before
        self._results(op, entering | inside)

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
