"""Asynchronous copies of tiles to stages in shared memory, and the local_loads that replace the loop's loads."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, i32
from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, defining_op, parent_op
from ....ir.dialects import arith
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AllocTensorOp,
    AsyncCommitOp,
    AsyncTiledLoadOp,
    AsyncWaitOp,
    LocalLoadOp,
)
from ....ir.dialects.nv_tileas.types import BufferType
from ....ir.dialects.op_definition import TableOp, location_of
from ....ir.dialects.op_traits import is_function
from ...analysis.op_queries import is_outside
from ...analysis.scalar_slice import follows_no_write
from ...common.cse import eliminate_dead_code
from ..layout_assignment.view_chain_layouts import layout_through_view, with_layout
from ..op_insertion import Inserter, group_index, insert_before, insertion_before
from ..speculation_guards import speculated
from .cp_async_loads import CpAsyncLoad

CreateTokenOp = COUNTERPARTS["nv_tileaa.create_mem_token"]


class AsyncStageCopies:
    """The loads of a loop that are copied ahead. Subclasses define the distance and the waits."""

    def __init__(self, loop: TableOp, loads: list[CpAsyncLoad], stages: int):
        self.loop, self.loads, self.stages = loop, loads, stages
        self.block = loop.regions[0].blocks[0]
        self.buffers: list[SSAValue] = []

    @property
    def before(self) -> Inserter:
        """Inserts operations before the loop."""
        return insertion_before(self.loop)

    @property
    def runs_again(self) -> bool:
        """Whether the loop may start again while other threads still read its last stages."""
        return not is_function(parent_op(self.loop))

    def allocate(self) -> None:
        """Allocate buffers for all loads, before the outermost loop."""
        outermost: Operation = self.loop
        while not is_function(around := parent_op(outermost)):
            outermost = around
        self.buffers = [insert_before(self._buffer(load), outermost) for load in self.loads]

    def _buffer(self, load: CpAsyncLoad) -> Operation:
        element = load.load.value.type.element_type
        return AllocTensorOp.make(
            [None], [BufferType(element, IntAttr(load.tiles(self.stages)), SharedLayoutAttr(load.placement))]
        )

    # ---- copies ------------------------------------------------------------------------------------
    def copy_all(
        self, loads: list[CpAsyncLoad], index: SSAValue, stage: SSAValue, enabled: SSAValue, insert: Inserter
    ) -> None:
        """Issue the copies of one iteration as one group."""
        self.start_copies(loads, index, stage, enabled, insert)
        insert(AsyncCommitOp.make([], []))

    def start_copies(
        self, loads: list[CpAsyncLoad], index: SSAValue, stage: SSAValue, enabled: SSAValue, insert: Inserter
    ) -> None:
        known: dict[SSAValue, SSAValue] = {}
        for load in loads:
            coords = [self._recomputed_at(coord, index, insert, known) for coord in load.load.coords]
            insert(_copy(load, coords, self.buffers[self.loads.index(load)], stage, enabled))

    def _recomputed_at(
        self, value: SSAValue, index: SSAValue, insert: Inserter, known: dict[SSAValue, SSAValue]
    ) -> SSAValue:
        """``value``, computed for another value of the induction variable."""
        if value is self.block.args[0]:
            return index
        if is_outside(value, self.block):
            return value
        if value not in known:
            operands = [self._recomputed_at(operand, index, insert, known) for operand in defining_op(value).operands]
            known[value] = speculated(defining_op(value), operands, insert)
        return known[value]

    # ---- reads -------------------------------------------------------------------------------------
    def replace_loads(self, stage: SSAValue) -> None:
        for load, buffer in zip(self.loads, self.buffers):
            own = stage if load.steps == 1 else self.tile_of(load, self.block.args[0], insertion_before(load.dot))
            self._replace_load(load, buffer, own)
        eliminate_dead_code(self.block)  # computations of the tiles' coordinates

    def tile_of(self, load: CpAsyncLoad, index: SSAValue, insert: Inserter) -> SSAValue:
        """The stage of the tile that the iterations of a group share."""
        count = insert.constant(load.tiles(self.stages))
        return insert.binary("urem", group_index(index, load.steps, insert), count)

    def _replace_load(self, copied: CpAsyncLoad, buffer: SSAValue, stage: SSAValue) -> None:
        """Read the tile from its stage in the fragment layout of its use. The operations in between get that layout
        too.
        """
        load, layout, place = copied.load, copied.fragment, copied.dot
        current = insert_before(LocalLoadOp.make([buffer, stage], [with_layout(load.value.type, layout)]), place)
        for link in copied.chain:
            if link.name == "nv_tileas.convert_layout":
                continue
            layout = layout_through_view(as_op(link), layout)
            clone = as_op(link).make([current], [with_layout(link.results[0].type, layout)], dict(link.attributes))
            current = insert_before(clone, place)
        last = copied.chain[-1].results[0] if copied.chain else load.value
        last.replace_all_uses_with(current)
        erase_dead(*reversed(copied.chain))
        drop_load(load)


def _copy(copied: CpAsyncLoad, coords: list[SSAValue], buffer: SSAValue, stage: SSAValue, enabled: SSAValue) -> TableOp:
    load = copied.load
    attributes = {
        "in_bounds": load.in_bounds,
        "index_checks": load.index_checks,
        "layout": copied.cp_async_layout,
        "vector": copied.vector,
        "has_boundary_tile": copied.has_boundary_tile,
        "after_write": not follows_no_write(load.token),
    }
    return AsyncTiledLoadOp.make([load.view, coords, buffer, stage, enabled], [], location_of(load), **attributes)


def drop_load(load: TableOp) -> None:
    """Users of its token depend on the load's own token."""
    if load.result_token is not None:
        token = load.token
        if token is None:
            token = insert_before(CreateTokenOp.make([], [load.result_token.type]), load)
        load.result_token.replace_all_uses_with(token)
    erase_dead(load)


def erase_dead(*ops: Operation) -> None:
    for op in ops:
        op.detach()
        op.erase()


def emit_wait(pending: int, *, for_mma: bool = False, of_warp: bool = False) -> Operation:
    """Wait until at most ``pending`` groups of copies are in flight."""
    return AsyncWaitOp.make([], [], pending=pending, for_mma=for_mma, of_warp=of_warp)


def next_stage(stage: SSAValue, stages: int, insert: Inserter) -> SSAValue:
    """The stage after another one of a ring."""
    one, end, zero = (insert.constant(number) for number in (1, stages, 0))
    following = insert.binary("add", stage, one)
    wraps = insert.compare("eq", following, end)
    return insert(arith.SelectOp.make([wraps, zero, following], [i32]))
