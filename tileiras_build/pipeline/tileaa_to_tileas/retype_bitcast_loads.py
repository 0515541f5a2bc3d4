"""Load tiles as the type that they are bitcast to.

In:    nv_tileas loads of tiles all of whose uses are bitcasts to one other type of the same width, perhaps after views.
Out:   loads of that type, from the same memory, and no bitcasts. Whatever reads the tiles finds a load, not a computation.
After: convert_tileaa_to_tileas. Before: hoist_views (the new views are hoisted and merged as others are).
Sound: elements of memory have no type of their own; zero padding has the same bits in all types.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import as_op, defining_op, memref_type, tile_type, view_type
from ...ir.dialects.fast_xdsl import set_type, string_of
from ...ir.dialects.nv_tileaa.types import MemRefType, PointerType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_value_forwarding
from ..analysis.op_queries import TILED_LOAD
from ..analysis.tma_tensor_maps import MAP_ELEMENTS
from ..common.llvm_element_types import element_of
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter
from .op_insertion import insert_before

BITCAST, TF32 = "nv_tileas.bitcast", "tf32"
BITS_OF_ZERO = ("none", "zero")
BitcastOp, MakeMemRefOp, BlockTileOp, TiledLoadOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("bitcast", "make_memref", "block_tile", "tiled_load")
)


def _collect_uses(value: SSAValue, views: list[Operation], bitcasts: list[Operation]) -> bool:
    """Whether bitcasts are all that a tile is used for; collects them and the views before them."""
    for use in value.uses:
        user = use.operation
        if user.name == BITCAST:
            bitcasts.append(user)
        elif user.name.removeprefix("nv_tileas.") in ("view", "permute") and is_value_forwarding(user):
            views.append(user)
            if not _collect_uses(user.results[0], views, bitcasts):
                return False
        else:
            return False
    return bool(bitcasts)


def _new_element(load: TableOp, bitcasts: list[Operation]) -> Attribute | None:
    """The one type that a load may have in place of its own; None where there is none."""
    types = {tile_type(op.results[0]).element_type for op in bitcasts}
    if len(types) != 1 or load.view.type.padding.data not in BITS_OF_ZERO or load.mem_semantic != "weak":
        return None
    own = tile_type(load.value).element_type
    made = isinstance(load.view.owner, Operation) and isinstance(load.view.owner.operands[0].owner, Operation)
    plain = all(string_of(one) in MAP_ELEMENTS and string_of(one) != TF32 for one in (own, *types))
    same = string_of(load.view.type.source.element_type) == string_of(own)
    [element] = types
    return element if made and plain and same and element_of(own).bits == element_of(element).bits else None


def _retype(rewriter: Rewriter, load: TableOp) -> None:
    views, bitcasts = list[Operation](), list[Operation]()
    if not _collect_uses(load.value, views, bitcasts) or (element := _new_element(load, bitcasts)) is None:
        return
    types = [TensorType(element, load.value.type.get_shape()), *(result.type for result in load.results[1:])]
    view = _retyped_view(load.view, element)
    new_load = TiledLoadOp.make([view, list(load.coords), load.token], types, dict(load.attributes))
    insert_before(new_load, load)
    for old, new in zip(load.results, new_load.results):
        old.replace_all_uses_with(new)
    for op in views:
        set_type(op.results[0], TensorType(element, tile_type(op.results[0]).get_shape()))
    for op in bitcasts:
        op.results[0].replace_all_uses_with(op.operands[0])
    for op in (*bitcasts, load):
        op.detach()
        op.erase()


def _retyped_view(view: SSAValue, element: Attribute) -> SSAValue:
    """The view of the same memory as elements of another type."""
    block = defining_op(view)
    memref = _retyped_memref(as_op(defining_op(block.operands[0])), element)
    retyped = view_type(view).over(memref_type(memref))
    return insert_before(BlockTileOp.make([memref], [retyped], dict(block.attributes)), block)


def _retyped_memref(memref: TableOp, element: Attribute) -> SSAValue:
    base = insert_before(BitcastOp.make([memref.base], [PointerType(element)]), memref)
    type = MemRefType.of(element, memref.result.type.shape, memref.result.type.strides)
    operands = [base, list(memref.sizes), list(memref.strides)]
    return insert_before(MakeMemRefOp.make(operands, [type], dict(memref.attributes)), memref)


class RetypeBitcastLoads(EdgePass):
    """Loads in place of loads and bitcasts."""

    name = "tileas-retype-bitcast-loads"
    rules = RuleTable({TILED_LOAD: _retype})
