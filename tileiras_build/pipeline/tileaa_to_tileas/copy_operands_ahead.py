"""Copy operands that TMA does not load by cp.async, some iterations ahead of the MMA that reads them in shared memory.

In:    counted loops that load a tile, rename its elements, and write it to the stage of an asynchronous MMA (local_store),
       to a buffer of more tiles than the pipeline has stages.
Out:   the copies to that buffer of the tile of a later iteration, as many iterations ahead as there are more tiles than stages,
       after the MMA; or before it, if it is waited for at once; a wait for this iteration's copies before the barrier that follows; the MMA reads the next tile of the buffer in each
       iteration. The first tiles are copied before the loop. A copy past the loop's end is disabled.
After: specialize_warps, rotate_mma_loop, hoist_async_mma_issue (which leave such loops alone). Before: prefetch_gathered_tiles
       (other loads), allocate_shared_memory.
Sound: with S stages, the wait for the n-th one follows the completion of MMA n - S, so the copies after it may overwrite tile
       n - S: of S + D tiles, its place is that of tile n + D, which is copied D iterations ahead. Each thread makes what has arrived visible to the asynchronous proxy,
       and a barrier follows. No token orders such a load after a write; addresses and masks are pure functions of the
       loop's index, of what it carries, and of values from outside; none divides. MMAs of an earlier run of the loop are
       complete, and a barrier follows them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, defining_table_op, next_op, parent_op, tile_type, type_as, unwrap
from ...ir.dialects.cute import layout_of
from ...ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    AllocTensorOp,
    AsyncCommitOp,
    BarrierOp,
    LocalStoreOp,
)
from ...ir.dialects.nv_tileas.types import BufferType, PipelineType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma, is_counted_loop, is_function
from ...ir.layouts import LinearLayout, SharedLayout, coalesced, largest_vector
from ..analysis.access_vectorization import ViewAccessInfo, pointer_order
from ..analysis.axis_info import AxisAnalysis
from ..analysis.copied_operands import MIN_CP_ASYNC_BYTES, is_loaded_ahead, placement_of_load, renamed_load
from ..analysis.enclosing_control_flow import has_no_early_exit
from ..analysis.op_queries import POINTER_LOAD
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass
from .op_insertion import insert_before, insertion_before
from .software_pipelining.ahead_copies import AheadCopy, carry_slots
from .software_pipelining.async_stage_copies import drop_load, emit_wait, erase_dead
from .software_pipelining.loop_continuation import LoopContinuation
from .software_pipelining.loop_iteration import LoopIteration, before_first_trip


class CopyOperandsAhead(EdgePass):
    """cp.async copies of operands that TMA does not load."""

    name = "tileas-copy-operands-ahead"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        warps = func.num_warps
        for loop in [op for op in walk(func) if is_counted_loop(op) and has_no_early_exit(op)]:
            stores = [as_op(op) for op in loop.regions[0].blocks[0].ops if op.name == LocalStoreOp.name]
            copies = [copy for op in stores if (copy := _Copy.of(op, warps)) is not None]
            if len({(copy.slots, copy.distance) for copy in copies}) == 1:
                _AheadLoop(loop, copies).run()


@dataclass
class _Copy:
    """The load of a tile that threads write to shared memory, and how cp.async copies it."""

    store: TableOp
    load: TableOp
    chain: list[Operation]
    placement: SharedLayout
    layout: LinearLayout
    vector: int
    has_boundary_tile: bool
    buffer: SSAValue | None = None

    @classmethod
    def of(cls, store: TableOp, warps: int) -> _Copy | None:
        found = renamed_load(store.value)
        if found is None or store.pipeline is None:
            return None
        load, chain = found
        if not is_loaded_ahead(load, unwrap(store.parent), chain):
            return None
        placement = placement_of_load(type_as(store.buffer, BufferType).placement.data, chain)
        return (
            cls._of_pointers(store, load, chain, placement)
            if load.name == POINTER_LOAD
            else cls._of_view(store, load, chain, placement, warps)
        )

    @classmethod
    def _of_pointers(
        cls, store: TableOp, load: TableOp, chain: list[Operation], placement: SharedLayout
    ) -> _Copy | None:
        layout = layout_of(load.pointer)
        vector = min(
            load.vector or 1, layout.contiguous(pointer_order(load, layout.rank)), largest_vector(layout, placement)
        )
        return cls(store, load, chain, placement, layout, vector, False)._if_possible()

    @classmethod
    def _of_view(
        cls, store: TableOp, load: TableOp, chain: list[Operation], placement: SharedLayout, warps: int
    ) -> _Copy | None:
        facts = ViewAccessInfo(load.view, AxisAnalysis())
        vector = facts.vector(load.coords, facts.in_bounds(), has_boundary_tile=True)
        layout = coalesced(tuple(tile_type(load.value).get_shape()), tuple(facts.order), vector, warps)
        vector = min(layout.contiguous(facts.order), largest_vector(layout, placement))
        has_boundary_tile = facts.vector(load.coords, facts.in_bounds()) < vector
        return cls(store, load, chain, placement, layout, vector, has_boundary_tile)._if_possible()

    def _if_possible(self) -> _Copy | None:
        """Unless the buffer has no space for tiles of later iterations, or cp.async copies no vectors of it."""
        return (
            self
            if self.distance > 0 and self.vector * element_of(self.load.value.type).bytes >= MIN_CP_ASYNC_BYTES
            else None
        )

    @property
    def slots(self) -> int:
        """The tiles of the buffer."""
        return type_as(self.store.buffer, BufferType).stages.data

    @property
    def distance(self) -> int:
        """The iterations that a tile is copied ahead."""
        return self.slots - type_as(self.store.pipeline, PipelineType).stages.data

    def issue(self, iteration: LoopIteration, distance: int, slot: SSAValue, enabled: SSAValue) -> None:
        """Copy the tile of a later iteration, if there is one."""
        copy = AheadCopy(self.load, self.layout, self.vector, self.has_boundary_tile)
        copy.issue_to(unwrap(self.buffer), iteration, distance, slot, enabled)


class _AheadLoop:
    """Replaces a loop by one that copies tiles ahead."""

    def __init__(self, loop: TableOp, copies: list[_Copy]):
        self.loop, self.copies = loop, copies
        self.block: Block = loop.regions[0].blocks[0]
        self.slots, self.distance = copies[0].slots, copies[0].distance
        self.before = insertion_before(loop)
        self.mmas = [as_op(op) for op in self.block.ops if is_async_mma(op) and self._reads(as_op(op))]

    def _reads(self, mma: TableOp) -> bool:
        buffers = [copy.store.buffer for copy in self.copies]
        return mma.lhs in buffers or mma.rhs in buffers

    def run(self) -> None:
        for copy in self.copies:
            copy.buffer = self._allocate(copy)
        if not is_function(around := parent_op(self.loop)) and not is_agent_switch(around):
            self.before(BarrierOp.make([], []))
        going = self._copy_first()
        read, write = (self.block.insert_arg(i32, len(self.block.args)) for _ in range(2))
        runs = LoopContinuation.of(self.loop, self.distance, going, self.before)
        self._copy_following(write, runs)
        self._wait_and_read(read)
        carry_slots(self.loop, (read, write), self.slots, self.distance, runs)

    def _allocate(self, copy: _Copy) -> SSAValue:
        """The buffer with the placement of the loaded tile."""
        old = defining_table_op(copy.store.buffer)
        element = tile_type(copy.load.value).element_type
        type = BufferType(element, IntAttr(self.slots), SharedLayoutAttr(copy.placement))
        return insert_before(AllocTensorOp.make([None], [type]), old)

    def _copy_first(self) -> SSAValue:
        """Copy the tiles of the first iterations before the loop; return whether it has more."""
        issue = lambda iteration, distance, enabled: self._issue(
            iteration, distance, self.before.constant(distance), enabled
        )
        return before_first_trip(self.loop, self.distance, self.before, issue)

    def _issue(self, iteration: LoopIteration, distance: int, slot: SSAValue, enabled: SSAValue) -> None:
        """The copies of one iteration are a group."""
        for copy in self.copies:
            copy.issue(iteration, distance, slot, enabled)
        iteration.insert(AsyncCommitOp.make([], []))

    def _copy_following(self, write: SSAValue, runs: LoopContinuation) -> None:
        """Copy the tiles of a later iteration after the MMA, so that it does not wait for address computation."""
        last = self.mmas[-1]
        is_waited_for = bool(last.results) and last.pending == 0
        insert = insertion_before(last if is_waited_for else next_op(last))
        iteration = LoopIteration(self.block, list(self.block.args), insert, self.loop.step)
        enabled = runs.at(iteration.index(self.distance), insert)
        self._issue(iteration, self.distance, write, enabled)

    def _wait_and_read(self, read: SSAValue) -> None:
        """Wait for the copies where threads wrote the tiles, and let the MMAs read them."""
        insert_before(emit_wait(self.distance - 1, for_mma=True), self.copies[0].store)
        for mma in self.mmas:
            _read(mma, {copy.store.buffer: unwrap(copy.buffer) for copy in self.copies}, read)
        for copy in self.copies:
            old = copy.store.buffer.owner
            erase_dead(copy.store, *reversed(copy.chain))
            drop_load(copy.load)
            erase_dead(old)


def _read(mma: TableOp, buffers: dict[SSAValue, SSAValue], slot: SSAValue) -> None:
    """Let an MMA read tiles of other buffers."""
    operands: dict[str, SSAValue | None] = {name: getattr(mma, name) for name, _ in mma.operand_groups}
    for side in ("lhs", "rhs"):
        if operands[side] in buffers:
            operands |= {side: buffers[unwrap(operands[side])], f"{side}_stage": slot}
    new_op = type(mma).make(list(operands.values()), [result.type for result in mma.results], dict(mma.attributes))
    insert_before(new_op, mma) if mma.results else insertion_before(mma)(new_op)
    for old, result in zip(mma.results, new_op.results):
        old.replace_all_uses_with(result)
    mma.detach()
    mma.erase()
