"""Type conversion from the public dialect: rank-0 tiles are scalars, tiles are tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...ir.dialects import nv_tileaa as aa
from ...ir.dialects.checked_cast import cast
from ...ir.dialects.cuda_tile.types import TensorViewType, TileType
from ...ir.dialects.cuda_tile.view_types import GatherScatterViewType, PartitionViewType, StridedViewType, TileView
from ..rewriting.dialect_conversion import TypeConverter, TypeRow


def _tile_type(cv: TileTypeConverter, type: TileType) -> Attribute:
    element = cv.convert(type.element_type)
    shape = tuple(type.shape)
    return TensorType(element, shape) if shape else element


def _memref_type(cv: TileTypeConverter, type: TensorViewType) -> Attribute:
    return aa.MemRefType.of(cv.convert(type.element_type), tuple(type.shape), tuple(type.strides))


def _padding(type: TileView) -> str:
    return type.padding_value.value if type.padding_value is not None else "none"


def _view_type(
    cv: TileTypeConverter, type: TileView, kind: str, steps: tuple[int, ...], dim_map: tuple[int, ...], sparse: int = -1
) -> Attribute:
    source = cast(aa.MemRefType, cv.convert(type.tensor_view))
    return aa.TiledViewType.of(
        kind, source, tuple(type.tile_shape), dim_map, steps, sparse=sparse, padding=_padding(type)
    )


def _partition_type(cv: TileTypeConverter, type: PartitionViewType) -> Attribute:
    return _view_type(cv, type, "partition", tuple(type.tile_shape), tuple(type.dim_map))


def _strided_type(cv: TileTypeConverter, type: StridedViewType) -> Attribute:
    return _view_type(cv, type, "strided", tuple(type.traversal_strides), tuple(type.dim_map))


def _gather_type(cv: TileTypeConverter, type: GatherScatterViewType) -> Attribute:
    rank = len(type.tile_shape)
    return _view_type(cv, type, "gather", (1,) * rank, tuple(range(rank)), int(type.sparse_dim))


TYPES: dict[str, TypeRow] = {
    "cuda_tile.tile": _tile_type,
    "cuda_tile.ptr": lambda cv, type: aa.PointerType(cv.convert(type.pointee_type)),
    "cuda_tile.token": lambda cv, type: aa.TokenType(),
    "cuda_tile.tensor_view": _memref_type,
    "cuda_tile.partition_view": _partition_type,
    "cuda_tile.strided_view": _strided_type,
    "cuda_tile.gather_scatter_view": _gather_type,
}


class TileTypeConverter(TypeConverter):
    """Converts each type once."""

    rows = TYPES

    def __init__(self) -> None:
        self.known: dict[Attribute, Attribute] = {}

    def convert(self, type: Attribute) -> Attribute:
        """The converted type. A type without a row is unchanged."""
        if (known := self.known.get(type)) is None:
            known = self.known[type] = super().convert(type)
        return known
