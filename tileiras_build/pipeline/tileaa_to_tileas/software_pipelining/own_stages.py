"""A loop without dots whose tiles each warp copies several iterations ahead, to stages that no other warp reads."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, parent_op, tile_type, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.nv_tileas.ops import AllocTensorOp, AsyncCommitOp, LocalLoadOp
from ....ir.dialects.nv_tileas.types import BufferType
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_function
from ....ir.layouts import (
    LinearLayout,
    SharedLayout,
    choose_swizzle,
    coalesced_in_warps,
    largest_vector,
    separate_warps,
)
from ...analysis.access_vectorization import ViewAccessInfo, pointer_order, pointer_vector
from ...analysis.axis_info import AxisAnalysis
from ...analysis.copied_operands import MIN_CP_ASYNC_BYTES, fills_with_zeros, may_load_ahead
from ...analysis.op_queries import LOADS, POINTER_LOAD, TILED_LOAD, is_outside, is_tile
from ...common.llvm_element_types import element_of
from ..op_insertion import insert_before, insertion_before
from .ahead_copies import AheadCopy, carry_slots
from .async_stage_copies import drop_load, emit_wait
from .loop_continuation import LoopContinuation
from .loop_iteration import LoopIteration, before_first_trip

# Of a thread, of 4 bytes each: more instructions, with a place and a bound each, than registers ahead would take.
MOST_NARROW_COPIES = 2


@dataclass
class OwnCopy(AheadCopy):
    """The copy of a tile of which each warp copies the elements that it reads. ``of_thread``: so does each thread."""

    placement: SharedLayout
    of_thread: bool

    @property
    def bytes(self) -> int:
        """The size of a stage."""
        return -(-self.placement.size_bytes // 128) * 128

    @classmethod
    def of(cls, load: TableOp, block: Block) -> OwnCopy | None:
        """The copy that can replace a load of a loop's body; None where cp.async cannot copy what each warp has of its tile."""
        held, element = layout_of(load.value), element_of(load.value.type)
        if element.per_byte > 1 or not may_load_ahead(load, block, []):
            return None
        if load.name == TILED_LOAD and load.view.type.kind.data == "gather":
            return None
        order, aligned, inside = _vectors(load)
        if not fills_with_zeros(load):
            aligned = min(aligned, inside)  # a thread writes whole vectors of other values
        layout = _copied_layout(load, order, aligned)
        ours, theirs, dims = separate_warps(layout), separate_warps(held), (*order, -1)
        outer = len(ours.shape) - len(layout.shape)
        dims = tuple(dim + outer for dim in dims[: len(order) + outer])
        placement = choose_swizzle(ours, theirs, ours.shape, element.bits, order=dims, standard_modes_only=True)
        vector = min(aligned, layout.contiguous(order), largest_vector(ours, placement))
        bytes, copies = vector * element.bytes, layout.distinct_registers()[0].num_registers // vector
        if bytes < MIN_CP_ASYNC_BYTES or bytes == MIN_CP_ASYNC_BYTES and copies > MOST_NARROW_COPIES:
            return None
        of_thread = layout == held and not held.free_bits("lane")
        return cls(load, layout, vector, inside < vector, placement, of_thread)


def _copied_layout(load: TableOp, order: tuple[int, ...], aligned: int) -> LinearLayout:
    """The elements that each thread copies of a tile: its own, as pointers have; lanes share those of views that all of them read, or that lie
    apart.
    """
    held = layout_of(load.value)
    if load.name == POINTER_LOAD:
        return held
    found = coalesced_in_warps(held, order, aligned)
    if found is None or not held.free_bits("lane") and held.contiguous(order) >= min(aligned, found.contiguous(order)):
        return held
    return found


def loads_of_iteration(block: Block) -> list[TableOp]:
    """The loads of tiles in a loop's body, but for those that are the same in all iterations."""
    loads = [as_op(op) for op in block.ops if op.name in LOADS and is_tile(op.results[0])]
    return [load for load in loads if not is_same_for_all(load, block)]


def is_same_for_all(load: TableOp, block: Block) -> bool:
    """Whether all iterations load the same, which is in L1 then."""
    places = load.coords if load.name == TILED_LOAD else [load.pointer]
    return all(is_outside(place, block) for place in places)


def _vectors(load: TableOp) -> tuple[tuple[int, ...], int, int]:
    """The dimensions of a load's tile, the one with consecutive addresses first; the elements that are aligned along it, and those of which
    all or none are in bounds.
    """
    analysis = AxisAnalysis()
    if load.name == POINTER_LOAD:
        vector = pointer_vector(load, analysis)[0]
        return tuple(pointer_order(load, layout_of(load.value).rank)), vector, vector
    facts = ViewAccessInfo(load.view, analysis)
    aligned = facts.vector(load.coords, facts.in_bounds(), has_boundary_tile=True)
    return tuple(facts.order), aligned, facts.vector(load.coords, facts.in_bounds())


class OwnStagesLoop:
    """Replaces a loop by one whose threads copy their elements of tiles ahead, and wait for their own copies alone, or those of their warp."""

    def __init__(self, loop: TableOp, copies: list[OwnCopy], stages: int):
        self.loop, self.copies, self.stages = loop, copies, stages
        self.block: Block = loop.regions[0].blocks[0]
        self.before = insertion_before(loop)
        self.buffers: list[SSAValue] = []

    @property
    def distance(self) -> int:
        """The iterations that a tile is copied ahead: the stage of this iteration is read meanwhile."""
        return self.stages - 1

    def run(self) -> None:
        self.buffers = list(map(self._allocate, self.copies))
        going = before_first_trip(self.loop, self.distance, self.before, self._issue_first)
        read, write = (self.block.insert_arg(i32, len(self.block.args)) for _ in range(2))
        runs = LoopContinuation.of(self.loop, self.distance, going, self.before)
        self._copy_following(write, runs)
        self._read(read)
        of_warp = not all(copy.of_thread for copy in self.copies)
        carry_slots(self.loop, (read, write), self.stages, self.distance, runs, of_warp=of_warp)

    def _allocate(self, copy: OwnCopy) -> SSAValue:
        """A ring of stages before the outermost loop."""
        outermost: Operation = self.loop
        while not is_function(around := parent_op(outermost)):
            outermost = around
        element = tile_type(copy.load.value).element_type
        type = BufferType(element, IntAttr(self.stages), SharedLayoutAttr(copy.placement))
        return insert_before(AllocTensorOp.make([None], [type], own=True), outermost)

    def _issue_first(self, iteration: LoopIteration, distance: int, enabled: SSAValue) -> None:
        self._issue(iteration, distance, self.before.constant(distance), enabled)

    def _issue(self, iteration: LoopIteration, distance: int, slot: SSAValue, enabled: SSAValue) -> None:
        """The copies of one iteration are a group."""
        for copy, buffer in zip(self.copies, self.buffers, strict=True):
            copy.issue_to(buffer, iteration, distance, slot, enabled)
        iteration.insert(AsyncCommitOp.make([], []))

    def _copy_following(self, write: SSAValue, runs: LoopContinuation) -> None:
        """Start the copies of a later iteration, and wait for those of this one; before, where a lane may still read what others overwrite."""
        insert = insertion_before(unwrap(self.block.first_op))
        of_warp = not all(copy.of_thread for copy in self.copies)
        if of_warp:
            insert(emit_wait(self.distance - 1, of_warp=True))
        iteration = LoopIteration(self.block, list(self.block.args), insert, self.loop.step)
        enabled = runs.at(iteration.index(self.distance), insert)
        self._issue(iteration, self.distance, write, enabled)
        if not of_warp:
            insert(emit_wait(self.distance))

    def _read(self, stage: SSAValue) -> None:
        for copy, buffer in zip(self.copies, self.buffers, strict=True):
            load = copy.load
            tile = insert_before(LocalLoadOp.make([buffer, stage], [load.value.type]), load)
            load.value.replace_all_uses_with(tile)
            drop_load(load)
