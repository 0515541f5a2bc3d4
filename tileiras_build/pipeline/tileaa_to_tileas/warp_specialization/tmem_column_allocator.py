"""Columns of a kernel's tensor memory, one tile after the other."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32
from xdsl.ir import Block, SSAValue

from ....ir.casting import defining_op, int_attr, terminator, unwrap
from ....ir.dialects.nv_tileas.ops import AllocTmemOp
from ....ir.dialects.nv_tileas.types import TmemType
from ...mma.tmem_tiles import tmem_tiles
from ..op_insertion import insert_before
from .pipelines import Mainloop


class ColumnAllocator:
    """A bump allocator of tensor memory columns."""

    def __init__(self, entry: Block, memory: SSAValue):
        self.entry, self.memory, self.next, self.last = entry, memory, 0, 0

    def allocate(self, columns: int) -> SSAValue:
        self.last, self.next = self.next, self.next + columns
        return self.reuse_last()

    def reuse_last(self) -> SSAValue:
        """Allocate the columns that were allocated last."""
        return self._at(self.last, self.next - self.last)

    def over(self, tile: SSAValue, columns: int) -> SSAValue:
        """Allocate the first columns of a tile again."""
        return self._at(int_attr(defining_op(tile), "column"), columns)

    def _at(self, first: int, columns: int) -> SSAValue:
        attributes = {"column": IntegerAttr(first, i32)}
        tile = AllocTmemOp.make([self.memory], [TmemType(IntAttr(columns))], attributes)
        return insert_before(tile, terminator(self.entry))


def columns_of(mainloop: Mainloop, warps: int) -> tuple[int, int]:
    """Columns of tensor memory for the left operand (0 where it is loaded) and for the accumulators."""
    left, accumulators = tmem_tiles(mainloop.dot, warps)
    indices = [*(load.index for load in mainloop.operand_loads), *(stored.index for stored in mainloop.stored)]
    loaded = mainloop.stationary is not None or mainloop.dot.overlaid or 0 in indices
    return 0 if loaded else unwrap(left).total_tmem_columns, accumulators.total_tmem_columns
