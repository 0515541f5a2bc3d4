"""cp.async copies of what a load of a loop's body loads in a later iteration, and the slots that the loop carries for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ....ir.casting import next_op, terminator
from ....ir.dialects.nv_tileas.ops import AsyncLoadOp, AsyncTiledLoadOp
from ....ir.dialects.op_definition import TableOp, location_of
from ....ir.layouts import LinearLayout
from ...analysis.enclosing_control_flow import is_zero
from ...analysis.op_queries import POINTER_LOAD
from ...analysis.scalar_slice import follows_no_write
from ...common.cse import eliminate_dead_code
from ..op_insertion import insertion_before
from .async_stage_copies import emit_wait, next_stage
from .loop_continuation import LoopContinuation
from .loop_iteration import LoopIteration, replace_loop


@dataclass
class AheadCopy:
    """A load, the elements of each thread in its copies, and how many of them one copy has."""

    load: TableOp
    layout: LinearLayout
    vector: int
    has_boundary_tile: bool

    def issue_to(
        self, buffer: SSAValue, iteration: LoopIteration, distance: int, slot: SSAValue, enabled: SSAValue
    ) -> None:
        """Copy the tile of a later iteration to a slot of a buffer, if there is such an iteration."""
        make = self._of_pointers if self.load.name == POINTER_LOAD else self._of_view
        iteration.insert(make(buffer, iteration, distance, slot, enabled))

    def _of_pointers(
        self, buffer: SSAValue, iteration: LoopIteration, distance: int, slot: SSAValue, enabled: SSAValue
    ) -> Operation:
        load = self.load
        mask = None if load.mask is None else iteration.at(load.mask, distance)
        other = None if load.other is None or is_zero(load.other) else iteration.at(load.other, distance)
        return AsyncLoadOp.make(
            [iteration.at(load.pointer, distance), mask, other, buffer, slot, enabled],
            [],
            location_of(load),
            vector=self.vector,
            fastest=load.fastest,
            after_write=not follows_no_write(load.token),
        )

    def _of_view(
        self, buffer: SSAValue, iteration: LoopIteration, distance: int, slot: SSAValue, enabled: SSAValue
    ) -> Operation:
        load = self.load
        coords = [iteration.at(coord, distance) for coord in load.coords]
        return AsyncTiledLoadOp.make(
            [iteration.at(load.view, distance), coords, buffer, slot, enabled],
            [],
            location_of(load),
            in_bounds=load.in_bounds,
            index_checks=load.index_checks,
            layout=self.layout,
            vector=self.vector,
            has_boundary_tile=self.has_boundary_tile,
            after_write=not follows_no_write(load.token),
        )


def carry_slots(
    loop: TableOp,
    slots: Sequence[SSAValue],
    stages: int,
    distance: int,
    runs: LoopContinuation,
    *,
    of_warp: bool = False,
) -> None:
    """Let a loop carry the slots that an iteration reads and writes, ``distance`` apart, and wait for its last copies behind it. ``runs`` adds
    what it carries, too.
    """
    block, before = loop.regions[0].blocks[0], insertion_before(loop)
    last = terminator(block)
    insert = insertion_before(last)
    following = [next_stage(slot, stages, insert) for slot in slots]
    last.operands = [*last.operands, *following, *runs.next_values]
    made = replace_loop(loop, [before.constant(0), before.constant(distance), *runs.initial])
    insertion_before(next_op(made))(emit_wait(0, of_warp=of_warp))
    eliminate_dead_code(block)  # computations of addresses
