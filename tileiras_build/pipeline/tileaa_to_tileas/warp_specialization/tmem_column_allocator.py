"""Columns of a kernel's tensor memory, one tile after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32
from xdsl.ir import Attribute, Block, SSAValue

from ....ir.casting import defining_op, int_attr, terminator, type_as, unwrap
from ....ir.dialects.nv_tileas.ops import AllocTmemOp, CreateTmemOp
from ....ir.dialects.nv_tileas.types import TmemType
from ....ir.layouts.tmem_layout import ALL_COLUMNS
from ...mma.shared_columns import TmemColumns
from ...mma.tmem_tiles import tmem_tiles
from ..op_insertion import insert_before
from .operand_tiles import StoredOperand
from .pipelines import Mainloop


class ColumnAllocator:
    """A bump allocator of tensor memory columns."""

    def __init__(self, entry: Block, columns: int, mainloops: Sequence[Mainloop]):
        created = CreateTmemOp.make([], [TmemType(IntAttr(columns))])
        self.entry, self.memory, self.next, self.last = entry, insert_before(created, terminator(entry)), 0, 0
        self._allocate_staged(mainloops)

    def allocate(self, columns: int) -> SSAValue:
        self.last, self.next = self.next, self.next + columns
        return self.reuse_last()

    def reuse_last(self) -> SSAValue:
        """Allocate the columns that were allocated last."""
        return self._at(self.last, self.next - self.last)

    def over(self, tile: SSAValue, parts: int) -> SSAValue:
        """Allocate the columns of a tile again, for one of fewer columns: a part of them at the start of each of these."""
        columns = type_as(tile, TmemType).columns.data
        return self._at(int_attr(defining_op(tile), "column"), columns, {"parts": IntegerAttr(parts, i32)})

    def _allocate_staged(self, mainloops: Sequence[Mainloop]) -> None:
        """Allocate the stages of left operands, which dots of one operand share."""
        for mainloop, stored in _staged(mainloops):
            stored.buffer = self.allocate(stored.columns * mainloop.stages.stage_count)
        for stored in (one for mainloop in mainloops for one in mainloop.stored if one.columns and one.first):
            stored.buffer = unwrap(stored.first).buffer

    def _at(self, first: int, columns: int, parts: Mapping[str, Attribute] | None = None) -> SSAValue:
        attributes = {"column": IntegerAttr(first, i32), **(parts or {})}
        tile = AllocTmemOp.make([self.memory], [TmemType(IntAttr(columns))], attributes)
        return insert_before(tile, terminator(self.entry))


def columns_of(mainloop: Mainloop, warps: int) -> tuple[int, int]:
    """Columns of tensor memory for the left operand (0 where it is loaded) and for the accumulators."""
    left, accumulators = tmem_tiles(mainloop.dot, warps)
    indices = [*(load.index for load in mainloop.operand_loads), *(stored.index for stored in mainloop.stored)]
    loaded = mainloop.stationary is not None or mainloop.dot.overlaid or 0 in indices
    return 0 if loaded else unwrap(left).total_tmem_columns, accumulators.total_tmem_columns


def _staged(mainloops: Sequence[Mainloop]) -> list[tuple[Mainloop, StoredOperand]]:
    """The left operands that have stages in tensor memory."""
    return [(one, stored) for one in mainloops for stored in one.stored if stored.columns and not stored.first]


def columns_of_staged(mainloops: Sequence[Mainloop]) -> int:
    """The columns of all their stages."""
    return sum(stored.columns * one.stages.stage_count for one, stored in _staged(mainloops))


def most_staged(mainloops: Sequence[Mainloop], tiles: Sequence[TmemColumns], ctas: int) -> int:
    """The stages of them for which each of the CTAs that share an SM has columns, beside other tiles."""
    own, staged = sum(sum(one.own) for one in tiles), sum(stored.columns for _, stored in _staged(mainloops))
    return (ALL_COLUMNS // ctas - own) // staged if staged else ALL_COLUMNS
