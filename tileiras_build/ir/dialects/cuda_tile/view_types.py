"""Types of tile views: partitions of a tensor view into tiles."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .address_overflow_checks import check_tiles
from .data_attribute_constructor import record_attribute
from .element_types import BITS, is_float
from .enums import PaddingValue
from .types import TensorViewType, TileType, dims_text, parse_ints, verify_tile_shape


def _parse_tile_shape(parser: AttrParser) -> tuple[int, ...]:
    parser.parse_keyword("tile")
    parser.parse_punctuation("=")
    with parser.in_parens():
        return tuple(parser.parse_dimension_list())


def _parse_padding_and_view(parser: AttrParser) -> tuple[PaddingValue | None, Attribute]:
    padding = None
    if parser.parse_optional_keyword("padding_value"):
        parser.parse_punctuation("=")
        padding = PaddingValue(parser.parse_identifier())
        parser.parse_punctuation(",")
    return padding, parser.parse_type()


def _parse_dim_map(parser: AttrParser, rank: int) -> tuple[int, ...]:
    if parser.parse_optional_punctuation(",") is None:
        return tuple(range(rank))
    parser.parse_keyword("dim_map")
    parser.parse_punctuation("=")
    return tuple(dim or 0 for dim in parse_ints(parser))


class TileView:
    """Base of the three views: tiles of ``tile_shape`` of a tensor view."""

    data: tuple

    @property
    def tile_shape(self) -> tuple[int, ...]:
        return self.data[0]

    @property
    def tensor_view(self) -> TensorViewType:
        return self.data[1]

    @property
    def padding_value(self) -> PaddingValue | None:
        return self.data[2]

    @property
    def element_type(self) -> Attribute:
        return self.tensor_view.element_type

    @property
    def dim_map(self) -> tuple[int, ...]:
        """The tensor dimension of each tile dimension."""
        return tuple(range(len(self.tile_shape)))

    @property
    def index_rank(self) -> int:
        """How many indices address one tile."""
        return len(self.data[0])

    @property
    def tile_type(self) -> TileType:
        """The type of one loaded tile."""
        return TileType(self.tile_shape, self.element_type)

    def _verify_tile(self) -> None:
        tile_shape, tensor_view, padding = self.data[:3]
        if not isinstance(tensor_view, TensorViewType):
            raise VerifyException(f"expected a tensor_view type, got {tensor_view}")
        if not tile_shape:
            raise VerifyException("0-dimension tile shape is not supported")
        if len(tile_shape) != tensor_view.rank:
            raise VerifyException(
                f"expected tensor_view rank and tile rank to match, got tensor_view of rank {tensor_view.rank} "
                f"and tiles of rank {len(tile_shape)}"
            )
        verify_tile_shape(tile_shape, tensor_view.element_type)
        if padding not in (None, PaddingValue.ZERO) and not is_float(tensor_view.element_type):
            raise VerifyException(
                f"padding_value {padding.value} can only be used with floating point element types, "
                f"got {tensor_view.element_type}"
            )

    def _verify_distances(self, steps: Sequence[int], dim_map: Sequence[int]) -> None:
        """``steps``: elements from a tile to the next, per dimension of the tile."""
        strides = [self.tensor_view.strides[dim] for dim in dim_map]
        check_tiles(self.tile_shape, steps, strides, BITS[self.element_type], self.element_type)

    def _verify_dim_map(self, dim_map: Sequence[int]) -> None:
        rank = len(self.tile_shape)
        if sorted(dim_map) != list(range(rank)):
            raise VerifyException(
                f"expected dim_map to map exactly all {rank} dimensions of the tile once, got {list(dim_map)}"
            )

    def _print(self, printer: Printer, *, before: str = "", after: str = "") -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"tile=({dims_text(self.tile_shape, 'x')}), {before}")
            if self.padding_value is not None:
                printer.print_string(f"padding_value = {self.padding_value.value}, ")
            printer.print_attribute(self.tensor_view)
            printer.print_string(after)

    @staticmethod
    def _dim_map_text(dim_map: Sequence[int]) -> str:
        return "" if list(dim_map) == list(range(len(dim_map))) else f", dim_map=[{dims_text(dim_map, ', ')}]"


@record_attribute
class PartitionViewType(TileView, Data[tuple], TypeAttribute):
    """A grid of adjacent tiles; tile dimension d is tensor dimension ``dim_map[d]``."""

    name = "cuda_tile.partition_view"

    def __init__(
        self,
        tile_shape: Sequence[int],
        tensor_view: TensorViewType,
        dim_map: Sequence[int] | None = None,
        padding_value: PaddingValue | None = None,
    ):
        tile_shape = tuple(tile_shape)
        dims = tuple(range(len(tile_shape))) if dim_map is None else tuple(dim_map)
        super().__init__((tile_shape, tensor_view, padding_value, dims))

    @property
    def dim_map(self) -> tuple[int, ...]:
        return self.data[3]

    def verify(self) -> None:
        self._verify_tile()
        self._verify_dim_map(self.dim_map)
        self._verify_distances(self.tile_shape, self.dim_map)

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            tile_shape = _parse_tile_shape(parser)
            parser.parse_punctuation(",")
            padding, view = _parse_padding_and_view(parser)
            return tile_shape, view, padding, _parse_dim_map(parser, len(tile_shape))

    def print_parameter(self, printer: Printer) -> None:
        self._print(printer, after=self._dim_map_text(self.dim_map))


@record_attribute
class StridedViewType(TileView, Data[tuple], TypeAttribute):
    """A grid of tiles whose origins are ``traversal_strides`` elements apart: gaps or overlap are possible."""

    name = "cuda_tile.strided_view"

    def __init__(
        self,
        tile_shape: Sequence[int],
        traversal_strides: Sequence[int],
        tensor_view: TensorViewType,
        dim_map: Sequence[int] | None = None,
        padding_value: PaddingValue | None = None,
    ):
        tile_shape = tuple(tile_shape)
        dims = tuple(range(len(tile_shape))) if dim_map is None else tuple(dim_map)
        super().__init__((tile_shape, tensor_view, padding_value, dims, tuple(traversal_strides)))

    @property
    def dim_map(self) -> tuple[int, ...]:
        return self.data[3]

    @property
    def traversal_strides(self) -> tuple[int, ...]:
        return self.data[4]

    def verify(self) -> None:
        self._verify_tile()
        self._verify_dim_map(self.dim_map)
        if len(self.traversal_strides) != len(self.tile_shape):
            raise VerifyException(
                f"expected {len(self.tile_shape)} traversal strides, got {len(self.traversal_strides)}"
            )
        if any(stride <= 0 for stride in self.traversal_strides):
            raise VerifyException(
                f"traversal strides must be strictly positive but got [{dims_text(self.traversal_strides, ', ')}]"
            )
        self._verify_distances(self.traversal_strides, self.dim_map)

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            tile_shape = _parse_tile_shape(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("traversal_strides")
            parser.parse_punctuation("=")
            strides = parse_ints(parser)
            parser.parse_punctuation(",")
            padding, view = _parse_padding_and_view(parser)
            return tile_shape, view, padding, _parse_dim_map(parser, len(tile_shape)), strides

    def print_parameter(self, printer: Printer) -> None:
        strides = f"traversal_strides=[{dims_text(self.traversal_strides, ',')}], "
        self._print(printer, before=strides, after=self._dim_map_text(self.dim_map))


@record_attribute
class GatherScatterViewType(TileView, Data[tuple], TypeAttribute):
    """Tiles whose rows along ``sparse_dim`` are selected by a one-dimensional index tile."""

    name = "cuda_tile.gather_scatter_view"

    def __init__(
        self,
        tile_shape: Sequence[int],
        tensor_view: TensorViewType,
        sparse_dim: int,
        padding_value: PaddingValue | None = None,
    ):
        super().__init__((tuple(tile_shape), tensor_view, padding_value, sparse_dim))

    @property
    def sparse_dim(self) -> int:
        return self.data[3]

    def verify(self) -> None:
        self._verify_tile()
        if not 0 <= self.sparse_dim < self.tensor_view.rank:
            raise VerifyException(
                "gather dimension is outside of tensor view dimensions, expected strictly less than "
                f"{self.tensor_view.rank}, got {self.sparse_dim}"
            )
        self._verify_distances(self.tile_shape, self.dim_map)

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            tile_shape = _parse_tile_shape(parser)
            parser.parse_punctuation(",")
            padding, view = _parse_padding_and_view(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("sparse_dim")
            parser.parse_punctuation("=")
            return tile_shape, view, padding, parser.parse_integer()

    def print_parameter(self, printer: Printer) -> None:
        self._print(printer, after=f", sparse_dim={self.sparse_dim}")
