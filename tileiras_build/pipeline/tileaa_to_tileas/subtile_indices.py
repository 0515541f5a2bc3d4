"""Views and indices of subtiles, so that subtiles of an out-of-bounds tile stay out of bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ...ir.casting import as_op, parent_block
from ...ir.dialects import arith
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..analysis.access_vectorization import ViewAccessInfo
from ..analysis.axis_info import AxisAnalysis
from ..analysis.integer_ranges import BoundsCheck, width
from .op_insertion import Inserter

BlockTileOp, GetTileCountOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("block_tile", "get_tile_count"))


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


def cut_view(load: TableOp, factors: Mapping[int, int]) -> None:
    """Let a load read tiles that are ``factors`` times shorter along dimensions. Where an old tile stuck out of the array, a new one may lie
    outside.
    """
    old, view = load.view.type, as_op(load.view.owner)
    tile, steps = list(old.tile), list(old.steps)
    for dim, factor in factors.items():
        tile[dim], steps[dim] = tile[dim] // factor, steps[dim] // factor
    inside = ViewAccessInfo(load.view, AxisAnalysis()).in_bounds()
    kind, outside = old.kind.data, [dim for dim in factors if not inside[dim]]
    if outside:
        kind = "strided"
        relax_checks_past_end(load, outside, replaced_check=BoundsCheck.NONE)
    type = TiledViewType.of(kind, old.source, tile, old.dim_map, steps, padding=old.padding.data)
    made = BlockTileOp.make([view.operands[0]], [type], dict(view.attributes))
    parent_block(view).insert_op_after(made, view)
    load.operands[0] = made.results[0]
