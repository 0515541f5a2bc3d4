"""cp.async copies of what a load of a loop's body loads in a later iteration."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ....ir.dialects.nv_tileas.ops import AsyncLoadOp, AsyncTiledLoadOp
from ....ir.dialects.op_definition import TableOp, location_of
from ....ir.layouts import LinearLayout
from ...analysis.enclosing_control_flow import is_zero
from ...analysis.op_queries import POINTER_LOAD
from .loop_iteration import LoopIteration


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
        )
