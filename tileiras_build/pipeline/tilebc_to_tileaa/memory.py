"""Memory accesses of the public dialect: pointers, views, tokens, variables."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...core.errors import InvalidInput, Unsupported
from ...ir.dialects import cuda_tile
from ...ir.dialects.checked_cast import cast
from ...ir.dialects.cuda_tile.element_types import BITS
from ...ir.dialects.cuda_tile.location import source_location
from ...ir.dialects.cuda_tile.view_types import PartitionViewType, TileView
from ...ir.dialects.nv_tileaa import MemRefType, ops
from ...target.element_types import ELEMENT_TYPES
from ..rewriting.dialect_conversion import Rule
from .op_converter import Converter, attributes_of, same_operand_rules

MultimemReduction = cuda_tile.MultimemLoadReduceViewTkoOp | cuda_tile.MultimemReduceViewTkoOp
MultimemWrite = cuda_tile.MultimemReduceViewTkoOp | cuda_tile.MultimemStoreViewTkoOp
ViewWrite = cuda_tile.StoreViewTkoOp | cuda_tile.AtomicRedViewTkoOp | MultimemWrite

# cuda_tile operation -> operation with the same operands, and without other attributes than those carried over.
SAME_OPERANDS: dict[str, type[Operation]] = {
    "offset": ops.AddPtrOp,
    "int_to_ptr": ops.IntToPtrOp,
    "ptr_to_int": ops.PtrToIntOp,
    "ptr_to_ptr": ops.BitcastOp,
    "make_token": ops.CreateMemTokenOp,
    "memory_fence_alias_tko": ops.FenceAliasOp,
    "get_tensor_shape": ops.GetDimSizeOp,
    "get_index_space_shape": ops.GetTileCountOp,
    "make_partition_view": ops.BlockTileOp,
    "make_strided_view": ops.BlockTileOp,
    "make_gather_scatter_view": ops.BlockTileOp,
}


def _convert_join_tokens(cv: Converter, op: Operation) -> None:
    cv.build(ops.JoinMemTokenOp, [cv.operands(op)])


def _convert_make_tensor_view(cv: Converter, op: Operation) -> None:
    values = cv.operands(op)
    type = cast(MemRefType, cv.type(op.results[0].type))
    sizes = sum(extent is None for extent in type.shape)
    cv.build(ops.MakeMemRefOp, [values[0], values[1 : 1 + sizes], values[1 + sizes :]])


def _convert_load_view(cv: Converter, op: cuda_tile.LoadViewTkoOp) -> None:
    _check_padding(op)
    coords = [cv.value(index) for index in op.index]
    cv.build(ops.TiledLoadOp, [cv.value(op.view), coords, cv.optional(op.token)], attributes_of(op))


def _check_padding(op: cuda_tile.LoadViewTkoOp) -> None:
    """Raise InvalidInput[padding-value] for a padding value that the element type cannot represent."""
    view = cast(TileView, op.view.type)
    name = str(view.element_type).removeprefix("!cuda_tile.")
    if view.padding_value is not None and ELEMENT_TYPES[name].padding(view.padding_value.value) is None:
        raise InvalidInput(
            "padding-value",
            f"{name} cannot represent the padding value {view.padding_value.value}",
            location=source_location(op),
            remedy="pad with zero, and choose another value where the tile ends",
        )


def _build_write(
    cv: Converter, op: ViewWrite, target: type[Operation], value: SSAValue, attributes: dict[str, Attribute]
) -> None:
    """Build the operation that writes a tile of a view with ``value``."""
    coords = [cv.value(index) for index in op.index]
    cv.build(target, [cv.value(op.view), cv.value(value), coords, cv.optional(op.token)], attributes)


def _convert_store_view(cv: Converter, op: cuda_tile.StoreViewTkoOp) -> None:
    _build_write(cv, op, ops.TiledStoreOp, op.tile, attributes_of(op))


def _convert_atomic_red_view(cv: Converter, op: cuda_tile.AtomicRedViewTkoOp) -> None:
    _build_write(cv, op, ops.TiledAtomicRmwOp, op.value, attributes_of(op))


def _convert_multimem_load_reduce(cv: Converter, op: cuda_tile.MultimemLoadReduceViewTkoOp) -> None:
    _check_pairs(op)
    coords = [cv.value(index) for index in op.index]
    cv.build(ops.MultimemLoadReduceOp, [cv.value(op.view), coords, cv.optional(op.token)], _reduction_of(op))


def _convert_multimem_reduce(cv: Converter, op: cuda_tile.MultimemReduceViewTkoOp) -> None:
    _check_pairs(op)
    _build_write(cv, op, ops.MultimemReduceOp, op.tile, _reduction_of(op))


def _convert_multimem_store(cv: Converter, op: cuda_tile.MultimemStoreViewTkoOp) -> None:
    _check_pairs(op)
    _build_write(cv, op, ops.MultimemStoreOp, op.tile, attributes_of(op))


def _reduction_of(op: MultimemReduction) -> dict[str, Attribute]:
    return {**attributes_of(op), "mode": StringAttr(op.reduction.data.value)}


def _check_pairs(op: MultimemReduction | cuda_tile.MultimemStoreViewTkoOp) -> None:
    """Raise Unsupported[multimem-pairs] where known extents or strides keep 16-bit elements from being accessed in pairs.

    multimem instructions access at least 32 bits (PTX ISA 9.0, section 9.7.9.14).
    """
    view = cast(PartitionViewType, op.view.type)
    if BITS[view.element_type] != 16:
        return
    tensor, tile = view.tensor_view, dict(zip(view.dim_map, view.tile_shape))
    unit = [source for source in view.dim_map if tensor.strides[source] == 1][-1:]
    even = [stride for source, stride in enumerate(tensor.strides) if source not in unit]
    even += [extent for source in unit for extent in (tensor.shape[source], tile[source])]
    if not unit or any(extent is not None and extent % 2 for extent in even):
        raise Unsupported(
            "multimem-pairs",
            f"{op.name.removeprefix('cuda_tile.')} accesses {view.element_type} in pairs, which this view does not have",
            location=source_location(op),
            remedy="use a tile of at least two elements along a dimension of stride 1 and an even extent, and even strides along the others",
        )


def _convert_load_ptr(cv: Converter, op: cuda_tile.LoadPtrTkoOp) -> None:
    operands = [cv.value(op.source), cv.optional(op.mask), cv.optional(op.padding_value), cv.optional(op.token)]
    cv.build(ops.LoadOp, operands, attributes_of(op))


def _convert_store_ptr(cv: Converter, op: cuda_tile.StorePtrTkoOp) -> None:
    operands = [cv.value(op.destination), cv.value(op.value), cv.optional(op.mask), cv.optional(op.token)]
    cv.build(ops.StoreOp, operands, attributes_of(op))


def _convert_atomic_rmw(cv: Converter, op: cuda_tile.AtomicRMWTkoOp) -> None:
    operands = [cv.value(op.pointers), cv.value(op.arg), cv.optional(op.mask), cv.optional(op.token)]
    cv.build(ops.AtomicRmwOp, operands, attributes_of(op))


def _convert_atomic_cas(cv: Converter, op: cuda_tile.AtomicCASTkoOp) -> None:
    operands = [cv.value(op.pointers), cv.value(op.cmp), cv.value(op.val), cv.optional(op.mask)]
    cv.build(ops.AtomicCasOp, [*operands, cv.optional(op.token)], attributes_of(op))


def _convert_get_global(cv: Converter, op: cuda_tile.GetGlobalOp) -> None:
    cv.build(ops.GetGlobalOp, [], {"symbol": op.symbol.root_reference})


def _convert_global(cv: Converter, op: cuda_tile.GlobalOp) -> None:
    attributes: dict[str, Attribute] = {"sym_name": op.sym_name, "value": op.value}
    for key in ("alignment", "constant"):
        if key in op.properties:
            attributes[key] = op.properties[key]
    cv.bind(ops.GlobalOp.make([], [], attributes))


def _convert_alloca(cv: Converter, op: cuda_tile.AllocaOp) -> None:
    given = op.properties
    attributes: dict[str, Attribute] = {key: given[key] for key in ("num_elem", "alignment", "global") if key in given}
    cv.build(ops.AllocaOp, [], attributes)


RULES: dict[str, Rule] = {
    **same_operand_rules(SAME_OPERANDS),
    "join_tokens": _convert_join_tokens,
    "make_tensor_view": _convert_make_tensor_view,
    "load_view_tko": _convert_load_view,
    "store_view_tko": _convert_store_view,
    "load_ptr_tko": _convert_load_ptr,
    "store_ptr_tko": _convert_store_ptr,
    "atomic_rmw_tko": _convert_atomic_rmw,
    "atomic_cas_tko": _convert_atomic_cas,
    "atomic_red_view_tko": _convert_atomic_red_view,
    "multimem_load_reduce_view_tko": _convert_multimem_load_reduce,
    "multimem_reduce_view_tko": _convert_multimem_reduce,
    "multimem_store_view_tko": _convert_multimem_store,
    "get_global": _convert_get_global,
    "global": _convert_global,
    "alloca": _convert_alloca,
}
