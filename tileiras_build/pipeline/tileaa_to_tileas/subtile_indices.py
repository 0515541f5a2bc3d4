"""Indices of subtiles, computed so that subtiles of an out-of-bounds tile stay out of bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ...ir.dialects import arith
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..analysis.integer_ranges import BoundsCheck, width
from .op_insertion import Inserter

GetTileCountOp = COUNTERPARTS["nv_tileaa.get_tile_count"]


def bounds_checks_of(access: TableOp) -> Sequence[int]:
    """The bounds check that each index of an access needs."""
    return access.index_checks or (BoundsCheck.ANY,) * len(access.coords)


def clamped_index(access: TableOp, dim: int, insert: Inserter) -> SSAValue:
    """An index for which arithmetic cannot overflow: that of a tile in bounds, or at most a few tiles past the end."""
    index = access.coords[dim]
    if bounds_checks_of(access)[dim] != BoundsCheck.ANY:
        return index
    if width(index) < i32.width.data:
        index = insert(arith.ExtUIOp.make([index], [i32]))
    counts = GetTileCountOp.make([access.view], [index.type] * len(access.coords))
    insert(counts)
    return insert.binary("umin", index, counts.results[dim])


def scaled_index(index: SSAValue, factor: int, insert: Inserter) -> SSAValue:
    """The index of the first of ``factor`` smaller tiles."""
    return insert.binary("mul", index, factor)


def relax_checks_past_end(access: TableOp, dims: Iterable[int], *, replaced_check: BoundsCheck) -> None:
    """Indices that needed ``replaced_check`` along these dimensions can now only be past the end."""
    checks, dims = bounds_checks_of(access), set(dims)
    access.index_checks = [
        BoundsCheck.PAST_END if dim in dims and check == replaced_check else check for dim, check in enumerate(checks)
    ]
