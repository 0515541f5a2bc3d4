"""Load each slice of a tile of which the program reads slices alone.

In:    nv_tileas loads of tiles whose only users are extract_slice at constant indices, such as the halves of a head that a rotation
       exchanges, in loops, and beside dots.
Out:   a load of each slice, through a view of smaller tiles. Threads would exchange the elements of a slice through shared memory. Other
       kernels wait for DRAM meanwhile, and have fewer bounds checks for the whole tile.
After: elide_bounds_checks (indices that no check needs to clamp), hoist_views. Before: all passes that choose copies.
Sound: a slice has the same elements. Its index is that of the tile in slices: one that could overflow there is clamped to
       a tile past the end. The loads depend on the same token, and no token orders a write after them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...ir.casting import as_op, tile_type, unwrap
from ...ir.dialects.fast_xdsl import set_type, walk
from ...ir.dialects.op_definition import TableOp
from ..analysis.access_vectorization import ViewAccessInfo
from ..analysis.axis_info import AxisAnalysis
from ..analysis.enclosing_control_flow import is_in_counted_loop
from ..analysis.integer_ranges import BoundsCheck, constant_of
from ..analysis.op_queries import TILED_LOAD, has_dots, is_tile
from ..analysis.scalar_slice import writes_after
from ..common.cse import merge
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass
from .op_insertion import Inserter, insertion_before
from .subtile_indices import BlockTileOp, clamped_index, cut_view, relax_checks_past_end, scaled_index

SLICE = "nv_tileas.extract_slice"
Place = tuple[int, ...]
MIN_LINE_BYTES = 32  # of a slice: a sector of DRAM


class LoadSlices(EdgePass):
    """A load for each slice."""

    name = "tileas-load-slices"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        everywhere = has_dots(func)
        loads = [as_op(op) for op in walk(func) if op.name == TILED_LOAD and (everywhere or is_in_counted_loop(op))]
        found = {load: slices for load in loads if (slices := _slices(load))}
        for load, slices in found.items():
            _load_each(load, slices)
        if found:
            merge(func.regions[0].blocks[0], lambda op: op.__class__ is BlockTileOp)


def _slices(load: TableOp) -> list[TableOp]:
    """The readers of a tile, if all of them are slices that a load of their own reads as well as the whole tile."""
    users = [use.operation for use in load.value.uses]
    if any(user.name != SLICE for user in users):
        return []
    slices = [as_op(user) for user in users]
    return slices if _may_load_parts(load) and all(_is_loadable(load, one) for one in slices) else []


def _may_load_parts(load: TableOp) -> bool:
    view = load.view.type
    if view.kind.data == "gather" or load.mem_semantic != "weak" or list(view.steps) != list(view.tile):
        return False
    return not list(load.result_token.uses) or (load.token is not None and not writes_after(load.result_token))


def _is_loadable(load: TableOp, part: TableOp) -> bool:
    """Whether a slice is a tile at constant indices, with lines that fill sectors."""
    if not is_tile(part.result) or any(constant_of(index) is None for index in part.indices):
        return False
    order = ViewAccessInfo(load.view, AxisAnalysis()).order
    shape = tile_type(part.result).get_shape()
    return bool(order) and shape[order[0]] * element_of(part.result.type).bits >= 8 * MIN_LINE_BYTES


def _load_each(load: TableOp, slices: Sequence[TableOp]) -> None:
    insert, loaded = insertion_before(load), dict[tuple[Place, Sequence[int]], SSAValue]()
    for part in sorted(slices, key=_place):
        key = place, shape = _place(part), tile_type(part.result).get_shape()
        if key not in loaded:
            loaded[key] = _load_part(load, place, shape, insert)
        part.result.replace_all_uses_with(loaded[key])
        part.detach()
        part.erase()
    if list(load.result_token.uses):
        load.result_token.replace_all_uses_with(load.token)
    load.detach()
    load.erase()


def _place(part: TableOp) -> Place:
    """The place of a slice, counted in slices of its shape."""
    return tuple(unwrap(constant_of(index)) for index in part.indices)


def _load_part(load: TableOp, place: Place, shape: Sequence[int], insert: Inserter) -> SSAValue:
    """The slice of a shape at a place."""
    own, whole = as_op(load.clone()), load.view.type.tile
    ratios = {dim: extent // shape[dim] for dim, extent in enumerate(whole) if extent != shape[dim]}
    first = [name for name, _ in load.operand_groups].index("coords")
    for dim, ratio in ratios.items():
        scaled = scaled_index(clamped_index(load, dim, insert), ratio, insert)
        own.operands[first + dim] = insert.binary("add", scaled, place[dim])
    relax_checks_past_end(own, ratios, replaced_check=BoundsCheck.ANY)
    cut_view(own, ratios)
    set_type(own.value, TensorType(tile_type(load.value).element_type, shape))
    insert(own)
    return own.value
