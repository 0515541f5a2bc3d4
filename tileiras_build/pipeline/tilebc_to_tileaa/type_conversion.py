"""Type conversion from the public dialect: rank-0 tiles are scalars, tiles are tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...ir.dialects import nv_tileaa as aa
from ...ir.dialects.checked_cast import cast
from ...ir.dialects.cuda_tile.types import TensorViewType, TileType
from ...ir.dialects.cuda_tile.view_types import GatherScatterViewType, PartitionViewType, StridedViewType, TileView

Convert = Callable[[Attribute], Attribute]


def converted_type(type: Attribute, convert: Convert) -> Attribute:
    """The converted type; ``convert`` converts its inner types. A type without a row is unchanged."""
    row = TYPES.get(type.name)
    return type if row is None else row(type, convert)


def _tile_type(type: TileType, convert: Convert) -> Attribute:
    element = convert(type.element_type)
    shape = tuple(type.shape)
    return TensorType(element, shape) if shape else element


def _memref_type(type: TensorViewType, convert: Convert) -> Attribute:
    return aa.MemRefType.of(convert(type.element_type), tuple(type.shape), tuple(type.strides))


def _padding(type: TileView) -> str:
    return type.padding_value.value if type.padding_value is not None else "none"


def _view_type(
    type: TileView, convert: Convert, kind: str, steps: tuple[int, ...], dim_map: tuple[int, ...], sparse: int = -1
) -> Attribute:
    source = cast(aa.MemRefType, convert(type.tensor_view))
    return aa.TiledViewType.of(
        kind, source, tuple(type.tile_shape), dim_map, steps, sparse=sparse, padding=_padding(type)
    )


def _partition_type(type: PartitionViewType, convert: Convert) -> Attribute:
    return _view_type(type, convert, "partition", tuple(type.tile_shape), tuple(type.dim_map))


def _strided_type(type: StridedViewType, convert: Convert) -> Attribute:
    return _view_type(type, convert, "strided", tuple(type.traversal_strides), tuple(type.dim_map))


def _gather_type(type: GatherScatterViewType, convert: Convert) -> Attribute:
    rank = len(type.tile_shape)
    return _view_type(type, convert, "gather", (1,) * rank, tuple(range(rank)), int(type.sparse_dim))


# A row accepts the class of types of its key.
TYPES: dict[str, Callable[[Any, Convert], Attribute]] = {
    "cuda_tile.tile": _tile_type,
    "cuda_tile.ptr": lambda type, convert: aa.PointerType(convert(type.pointee_type)),
    "cuda_tile.token": lambda type, convert: aa.TokenType(),
    "cuda_tile.tensor_view": _memref_type,
    "cuda_tile.partition_view": _partition_type,
    "cuda_tile.strided_view": _strided_type,
    "cuda_tile.gather_scatter_view": _gather_type,
}
