"""Wait for asynchronous MMAs with accumulators in registers where their results are used, so that other work overlaps them.

In:    counted loops of the consumer partition with several dots (async.dot) that each are waited for where they are issued.
Out:   operands that threads write are written, and dots issued, as early as what they depend on allows, but behind the first
       dot; the wait for each (async.dot_wait) stands before the first use of its result, unless that is another dot that adds to
       it. Stages are released after the waits.
After: select_memory_atoms (no later pass adds copies). Before: allocate_shared_memory, ping_pong_warpgroups.
Sound: MMAs complete in the order of issue, and of one shape may accumulate in the same registers in flight (PTX ISA 9.0, section
       9.7.15.7.1); none is in flight past the block, an operation with regions, or a wait for another
       pipeline while a stage is to be released. What moves passes no wait for its stages, but with a dot (``own_waits``), no wait for
       copies (async_wait) where threads copy what it reads, no other
       access of its buffers, and no operation that reads the accumulator that it overwrites. The barrier behind what threads write moves with the dot, and
       stays where it was, too, if it passes other accesses of memory, or a wait for copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, parent_block, terminator
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import AsyncWaitOp, ConsumerReleaseOp, ConsumerWaitOp, LocalStoreOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_counted_loop
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.enclosing_control_flow import is_zero
from ..analysis.op_queries import is_pure, is_tile, operations_behind
from ..analysis.resource_model import WARPGROUP, accumulators_fit
from ..common.llvm_element_types import element_of
from ..job import Job
from ..mma.dots import accumulates_in_registers
from ..mma.family import register_mma_ops
from ..pass_manager import EdgePass
from .issue_behind import is_copied, move_after, ops_between, own_waits, rings_of, waits_for_copies
from .op_insertion import insert_before
from .overlap_mmas import computation_of, move_store
from .rotate_mma_loop import BARRIER, is_scalar
from .stage_releases import barrier_before, erase_repeated_barriers, needs_barrier

# Asynchronous operations that order nothing but stages, which are looked at, and results.
KNOWN = frozenset(
    f"nv_tileas.async.{name}"
    for name in (
        "dot", "pipeline.consumer_wait", "pipeline.consumer_release", "pipeline.advance", "tiled_tma_store", "tma_store_wait",
    )
)  # fmt: skip


class DeferMmaWaits(EdgePass):
    """MMAs in flight beside other work."""

    name = "tileas-defer-mma-waits"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        for switch in [op for op in walk(func) if is_agent_switch(op)]:
            for loop in [op for op in walk(switch.regions[-1]) if is_counted_loop(op)]:
                if _may_overlap(block := loop.regions[0].blocks[0], func, job):
                    _write_ahead(block, block.ops)
                    _issue_ahead(block)
                    erase_repeated_barriers(block, _is_between_barriers)
                    _Waits(block).run()


def _dots(block: Block) -> list[TableOp]:
    return [op for op in block.ops if accumulates_in_registers(op)]


def _may_overlap(block: Block, func: TableOp, job: Job) -> bool:
    """Whether a block has several dots, waits for each, reads one, and has the registers of all at once. Dots that only accumulate
    leave the tensor core to those of other warpgroups while threads wait; one warpgroup alone leaves it idle.
    """
    dots = _dots(block)
    if len(dots) < 2 or not all(map(_is_simple, dots)) or (func.num_warps > WARPGROUP and not any(map(_is_read, dots))):
        return False
    if any(op.name.startswith("nv_tileas.async.") and op.name not in KNOWN for op in block.ops):
        return False
    tiles = [tile for dot in dots for tile in (dot.result, *filter(is_tile, (dot.lhs,)))]
    return accumulators_fit(sum(map(tile_registers, dict.fromkeys(tiles))), func, job, func.num_warps)


def _is_read(dot: TableOp) -> bool:
    """Whether threads read a result before the next iteration."""
    return any(use.operation is not terminator(parent_block(dot)) for use in dot.result.uses)


def _is_simple(dot: TableOp) -> bool:
    """Whether a dot is one group of MMAs; 16-bit accumulators are complete where they are unpacked."""
    return dot.pending == 0 and not dot.promotion and element_of(dot.result.type).bits == 32


# ---- what is written and issued earlier --------------------------------------------------------------
def _write_ahead(block: Block, ops: Iterable[Operation]) -> None:
    """Write each operand that ``ops`` store behind the first dot that it does not depend on."""
    for store in [as_op(op) for op in ops if isinstance(op, LocalStoreOp)]:
        for place in [dot for dot in _dots(block) if dot.is_before_in_block(store)]:
            if _move_store(store, _behind_stores(_behind_dots(place, [store]), store)):
                break


def _move_store(store: TableOp, place: Operation) -> bool:
    """Move a store, and what computes it, behind ``place``; false where it must not move."""
    passed = ops_between(place, store)
    if (computed := computation_of(store, passed)) is None:
        return False
    earlier = [dot for dot in _dots(parent_block(store)) if dot is place or dot.is_before_in_block(place)]
    return move_store(store, store.buffer, computed, place, [*earlier, *passed])


def _behind_stores(place: Operation, store: Operation) -> Operation:
    """The last of the stores before ``store`` that follow ``place``, and depend on no dot behind which they stand, or ``place``."""
    results = {dot.result for dot in _dots(parent_block(place))}
    for op in ops_between(place, store):
        if any(value in results for value in op.operands) or not (_is_movable(op) or isinstance(op, LocalStoreOp)):
            break
        place = op if isinstance(op, LocalStoreOp) else place
    return place


def _issue_ahead(block: Block) -> None:
    """Issue each dot but the first as early as possible."""
    for dot in _dots(block)[1:]:
        _write_ahead(block, _stores_of(dot, list(block.ops)))  # behind dots that have moved
        barrier = barrier_before(dot)
        # The barrier of another dot may order what threads write or copy for this one.
        borrows = not barrier and (any(map(is_copied, _buffers(dot))) or bool(_stores_of(dot, list(block.ops))))
        before = ops_between(_dots(block)[0], dot)
        computed = [*_pure_computation(dot, before), *own_waits(dot, before)]
        kept = [op for op in before if op not in computed and op not in barrier]
        needed = [op for op in kept if _is_needed_by(dot, computed, op) or borrows and op.name == BARRIER]
        if needed and accumulates_in_registers(needed[-1]):
            continue  # threads would wait for that one earlier
        place = _behind_dots(needed[-1] if needed else _dots(block)[0], [dot, *barrier])
        later = ops_between(place, dot)
        passed = [op for op in later if op in kept]
        if not all(is_scalar(op) or isinstance(op, AsyncWaitOp) for op in passed):
            if barrier and any(map(needs_barrier, passed)):
                insert_before(barrier[0].clone(), dot)
            move_after(place, [*(op for op in later if op in computed), *barrier, dot])


def _stores_of(dot: TableOp, ops: Sequence[Operation]) -> list[Operation]:
    """The stores to the buffers of a dot."""
    return [op for op in ops if isinstance(op, LocalStoreOp) and as_op(op).buffer in (dot.lhs, dot.rhs)]


def _buffers(dot: TableOp) -> list[SSAValue]:
    """The operands of a dot in shared memory."""
    return [value for value in (dot.lhs, dot.rhs) if not is_tile(value)]


def _pure_computation(dot: TableOp, before: Sequence[Operation]) -> list[Operation]:
    """The operations among ``before`` without effects from which the operands of a dot are computed."""
    found = operations_behind(dot.operands, dot.parent, lambda op: op.operands if _is_movable(op) else ())
    return [op for op in before if op in found and _is_movable(op)]


def _is_movable(op: Operation) -> bool:
    return is_pure(op) and not op.regions


def _is_needed_by(dot: TableOp, computed: Sequence[Operation], op: Operation) -> bool:
    """Whether a dot, with what computes its operands, has to stay behind an operation."""
    moved = [dot, *computed]
    used = {value for one in moved for value in one.operands}
    if op.regions or any(result in used for result in op.results) or _stores_of(dot, [op]):
        return True
    rings = {ring for buffer in _buffers(dot) for ring in rings_of(buffer)}
    if isinstance(op, ConsumerWaitOp) and rings & set(op.operands):
        return True
    if waits_for_copies(op, _buffers(dot)):
        return True
    made = {result for one in computed for result in one.results}
    overwritten = {value for value in used - made if value.type == dot.result.type and not is_zero(value)}
    return any(value in overwritten for value in op.operands)


def _behind_dots(place: Operation, moved: Sequence[Operation]) -> Operation:
    """The last of the dots that directly follow ``place``, but for waits for their stages, or ``place``."""
    op = place
    while (following := op.next_op) is not None and following not in moved:
        if accumulates_in_registers(following):
            place = following
        elif not is_scalar(following) and not isinstance(following, ConsumerWaitOp):
            break
        op = following
    return place


def _is_between_barriers(op: Operation) -> bool:
    """Whether threads only issue an MMA or compute in registers: two barriers around it order what one does."""
    return _is_movable(op) or accumulates_in_registers(op)


# ---- waits -------------------------------------------------------------------------------------------
@dataclass(eq=False)
class _Waits:
    """The dots of a block in the order of issue, those whose results were waited for, and the releases that wait for dots."""

    block: Block
    issued: list[TableOp] = field(default_factory=list)
    complete: int = 0
    releases: list[Operation] = field(default_factory=list)

    def run(self) -> None:
        """Move each wait to the first use of the result."""
        for op in list(self.block.ops):
            if op is terminator(self.block) or op.regions:
                self._finish(op)
            elif isinstance(op, ConsumerReleaseOp):
                self._release(op)
            elif isinstance(op, ConsumerWaitOp) and self.releases:
                self._finish(op)
            self._wait_for_operands(op)
            if accumulates_in_registers(op):
                op.pending = None
                self.issued.append(op)

    def _wait_for_operands(self, op: Operation) -> None:
        values = {value for inner in walk(op) for value in inner.operands}
        for dot in [dot for dot in self.issued if dot.result in values and not _is_added_to(dot)]:
            self._wait(dot, op)

    def _wait(self, dot: TableOp, place: Operation) -> None:
        """Wait for a dot before ``place``, and let all that follows use what is complete then."""
        pending = len(self.issued) - max(self.complete, 1 + self.issued.index(dot))
        uses = list(dot.result.uses)
        result = insert_before(register_mma_ops(dot).wait.make([dot.result], [dot.result.type], pending=pending), place)
        for use in uses:
            use.operation.operands[use.index] = result
        self.complete = max(self.complete, len(self.issued) - pending)
        if self.complete == len(self.issued):
            self._put_releases(place)

    def _release(self, op: Operation) -> None:
        """Release a stage at once if no dot is in flight, else behind the wait for the last one."""
        if self.complete < len(self.issued):
            op.detach()
            self.releases.append(op)

    def _put_releases(self, place: Operation) -> None:
        for release in self.releases:
            parent_block(place).insert_op_before(release, place)
        self.releases = []

    def _finish(self, place: Operation) -> None:
        """Wait for all dots before ``place``."""
        for dot in [dot for dot in self.issued if self._is_last_in_flight(dot) or _is_used(dot)]:
            self._wait(dot, place)

    def _is_last_in_flight(self, dot: TableOp) -> bool:
        return dot is self.issued[-1] and self.complete < len(self.issued)


def _is_used(dot: TableOp) -> bool:
    """Whether a result has other uses than the wait for it, or a dot that adds to it."""
    wait = register_mma_ops(dot).wait
    return not _is_added_to(dot) and any(not isinstance(use.operation, wait) for use in dot.result.uses)


def _is_added_to(dot: TableOp) -> bool:
    """Whether another dot of the block, of the same instructions, alone uses a result, as its accumulator."""
    uses = list(dot.result.uses)
    if len(uses) != 1 or not accumulates_in_registers(user := uses[0].operation) or user.parent is not dot.parent:
        return False
    return as_op(user).acc is dot.result and as_op(user).mma == dot.mma and user is not dot
