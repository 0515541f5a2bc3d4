"""Slices of the columns of an accumulator in tensor memory."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...ir.casting import as_op, tile_shape
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import LinearLayout, tmem_tile
from ...ir.layouts.tmem_layout import COLUMN_BITS
from .integer_ranges import constant_of
from .op_queries import is_tile

SLICE = "nv_tileas.extract_slice"


def column_slices(tile: SSAValue) -> list[TableOp]:
    """The readers of a tile, if all of them are slices of all rows and known columns; else none."""
    users = [use.operation for use in tile.uses]
    slices = [as_op(user) for user in users if user.name == SLICE]
    return slices if len(slices) == len(users) and all(map(_is_column_slice, slices)) else []


def _is_column_slice(user: TableOp) -> bool:
    if not is_tile(user.result):
        return False
    rows, own = tile_shape(user.source)[:-1], tile_shape(user.result)[:-1]
    return len(own) == 1 and own == rows and all(constant_of(index) is not None for index in user.indices)


def column_slice_layout(part: TableOp, whole: LinearLayout, num_warps: int) -> LinearLayout | None:
    """The layout in which threads read a slice from tensor memory, where they would read the whole tile in ``whole``."""
    tiles = [tmem_tile(*tile_shape(tile), COLUMN_BITS, num_warps) for tile in (part.source, part.result)]
    if tiles[0] is None or tiles[1] is None or tiles[0].layout.register_permutation(whole) is None:
        return None
    return tiles[1].layout
