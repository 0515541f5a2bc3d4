"""Types of the cuda_tile dialect (Tile IR Types.td), with plain Python properties.

Shapes and strides are tuples of int; a dynamic entry is None. All types are hashable values; equal
types compare equal, and two that are the same object compare fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatTF32Type,
    IntegerType,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileiras_build.dialects.cuda_tile.enums import PaddingValue, PtrAttr
from tileiras_build.dialects.cuda_tile.extents import check_tensor, check_tiles
from tileiras_build.dialects.cuda_tile.record import record

MAX_TILE_ELEMENTS = 1 << 24  # Tile IR Types.h: the largest number of elements of a tile

MAX_RANK = 64  # NumPy's own limit; without one, a short file could name types of any size again and again

i4 = IntegerType(4)


@irdl_attr_definition
class FloatNV8E5M3FNUType(ParametrizedAttribute, TypeAttribute):
    """The unsigned 8-bit float with 5 exponent and 3 mantissa bits (type tag 130, bytecode 13.4)."""

    name = "cuda_tile.fnv8E5M3FNU"


INTEGERS = (i1, i8, i16, i32, i64)
BASE_FLOATS = (Float16Type(), BFloat16Type(), Float32Type(), Float64Type())
FLOATS = (
    *BASE_FLOATS,
    FloatTF32Type(),
    Float8E4M3FNType(),
    Float8E5M2Type(),
    Float8E8M0FNUType(),
    Float4E2M1FNType(),
    FloatNV8E5M3FNUType(),
)
NUMBERS = (*INTEGERS, *FLOATS)

# Bits that an element of a tile occupies.
BITS: dict[Attribute, int] = {
    i1: 1,
    i4: 4,
    i8: 8,
    i16: 16,
    i32: 32,
    i64: 64,
    Float16Type(): 16,
    BFloat16Type(): 16,
    Float32Type(): 32,
    Float64Type(): 64,
    FloatTF32Type(): 19,
    Float8E4M3FNType(): 8,
    Float8E5M2Type(): 8,
    Float8E8M0FNUType(): 8,
    Float4E2M1FNType(): 4,
    FloatNV8E5M3FNUType(): 8,
}

Dims = tuple[int | None, ...]


def is_float(element_type: Attribute) -> bool:
    """Whether an element type is one of the floating-point types."""
    return element_type in BITS and not isinstance(element_type, IntegerType)


def _dims_text(dims: Sequence[int | None], separator: str) -> str:
    return separator.join("?" if dim is None else str(dim) for dim in dims)


def _print_shape(printer: Printer, dims: Dims, element_type: Attribute) -> None:
    printer.print_string(_dims_text(dims, "x") + ("x" if dims else ""))
    printer.print_attribute(element_type)


def _parse_shape(parser: AttrParser) -> tuple[Dims, Attribute]:
    dims, element_type = parser.parse_ranked_shape()
    return tuple(None if dim < 0 else dim for dim in dims), element_type


def _parse_ints(parser: AttrParser) -> tuple[int | None, ...]:
    def one():
        return None if parser.parse_optional_punctuation("?") else parser.parse_integer()

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one))


def _parse_ptr_attr(parser: AttrParser) -> str | None:
    if parser.parse_optional_punctuation(",") is None:
        return None
    if (attribute := parser.parse_optional_attribute()) is not None:
        return PtrAttr(attribute.data).value
    with parser.in_angle_brackets():
        return PtrAttr(parser.parse_identifier()).value


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """Orders memory operations of one tile program; no value at run time."""

    name = "cuda_tile.token"


@record
class PointerType(Data[tuple[Attribute, str | None]], TypeAttribute):
    """A pointer into global memory to one element of ``pointee_type``.

    ``ptr_attr`` is the optional pointer attribute of bytecode 13.4, one of PtrAttr.
    """

    name = "cuda_tile.ptr"

    def __init__(self, pointee_type: Attribute, ptr_attr: str | None = None):
        super().__init__((pointee_type, ptr_attr))

    @property
    def pointee_type(self) -> Attribute:
        return self.data[0]

    @property
    def ptr_attr(self) -> str | None:
        return self.data[1]

    def verify(self) -> None:
        if self.data[0] not in NUMBERS:
            raise VerifyException(f"a pointer cannot point to {self.data[0]}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            return parser.parse_type(), _parse_ptr_attr(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee_type)
            printer.print_string(f", <{self.ptr_attr}>" if self.ptr_attr else "")


def verify_rank(shape: Dims) -> None:
    """Raise VerifyException for more dimensions than any program has."""
    if len(shape) > MAX_RANK:
        raise VerifyException(f"a type has at most {MAX_RANK} dimensions, got {len(shape)}")


def verify_tile_shape(shape: Sequence[int], element_type: Attribute) -> None:
    """Raise VerifyException unless the shape is one of a tile: positive powers of two, not too many elements."""
    verify_rank(shape)
    count = 1
    for dim in shape:
        if dim <= 0:
            raise VerifyException(f"all dimensions must be positive constants, got {_dims_text(shape, ', ')}")
        if dim & (dim - 1):
            raise VerifyException(f"all dimensions must be powers of two, got {_dims_text(shape, ', ')}")
        count *= dim
        if count > MAX_TILE_ELEMENTS:
            raise VerifyException(f"tile would exceed the maximum of {MAX_TILE_ELEMENTS} elements")
    if isinstance(element_type, Float4E2M1FNType) and all(dim % 2 for dim in shape):
        raise VerifyException("f4E2M1FN tiles must have an even number of elements")


@record
class TileType(Data[tuple[tuple[int, ...], Attribute]], TypeAttribute):
    """A tile: ``shape`` (powers of two, () for a scalar) of ``element_type`` (a number or a pointer)."""

    name = "cuda_tile.tile"

    def __init__(self, shape: Sequence[int], element_type: Attribute):
        super().__init__((tuple(shape), element_type))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data[0]

    @property
    def element_type(self) -> Attribute:
        return self.data[1]

    @property
    def rank(self) -> int:
        return len(self.data[0])

    @property
    def num_elements(self) -> int:
        count = 1
        for dim in self.data[0]:
            count *= dim
        return count

    @property
    def is_pointer(self) -> bool:
        return isinstance(self.data[1], PointerType)

    def with_element_type(self, element_type: Attribute) -> TileType:
        return TileType(self.shape, element_type)

    def verify(self) -> None:
        shape, element_type = self.data
        if element_type not in BITS and not isinstance(element_type, PointerType):
            raise VerifyException(f"a tile cannot have elements of type {element_type}")
        if shape and isinstance(element_type, PointerType) and isinstance(element_type.pointee_type, Float4E2M1FNType):
            raise VerifyException(f"tiles of {element_type} must have rank 0; use a tile view of 4-bit elements")
        verify_tile_shape(shape, element_type)

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            return _parse_shape(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_shape(printer, self.shape, self.element_type)


@record
class TensorViewType(Data[tuple[Attribute, Dims, Dims, str | None]], TypeAttribute):
    """A tensor in global memory: element type, ``shape`` and ``strides`` in elements (None = dynamic)."""

    name = "cuda_tile.tensor_view"

    def __init__(self, element_type: Attribute, shape: Sequence[int | None], strides: Sequence[int | None],
                 ptr_attr: str | None = None):
        super().__init__((element_type, tuple(shape), tuple(strides), ptr_attr))

    @property
    def element_type(self) -> Attribute:
        return self.data[0]

    @property
    def shape(self) -> Dims:
        return self.data[1]

    @property
    def strides(self) -> Dims:
        return self.data[2]

    @property
    def ptr_attr(self) -> str | None:
        return self.data[3]

    @property
    def rank(self) -> int:
        return len(self.data[1])

    @property
    def dynamic_shape_count(self) -> int:
        return self.shape.count(None)

    @property
    def dynamic_stride_count(self) -> int:
        return self.strides.count(None)

    def verify(self) -> None:
        element_type, shape, strides, _ = self.data
        verify_rank(shape)
        if element_type not in BITS:
            raise VerifyException(f"a tensor view cannot have elements of type {element_type}")
        if len(shape) != len(strides):
            raise VerifyException(
                f"expected shape and stride to be of same rank but got shape of rank {len(shape)} "
                f"and stride of rank {len(strides)}")
        for what, dims in (("sizes", shape), ("strides", strides)):
            if any(dim is not None and dim <= 0 for dim in dims):
                raise VerifyException(
                    f"dimensions must have strictly positive constant {what} but got [{_dims_text(dims, ', ')}]")
        check_tensor(shape, strides, BITS[element_type], element_type)

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            shape, element_type = _parse_shape(parser)
            strides: Dims = ()
            if shape:
                parser.parse_punctuation(",")
                parser.parse_keyword("strides")
                parser.parse_punctuation("=")
                strides = _parse_ints(parser)
            return element_type, shape, strides, _parse_ptr_attr(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_shape(printer, self.shape, self.element_type)
            if self.shape:
                printer.print_string(f", strides=[{_dims_text(self.strides, ',')}]")
            printer.print_string(f", #cuda_tile.ptr_attr<{self.ptr_attr}>" if self.ptr_attr else "")


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
    return tuple(dim or 0 for dim in _parse_ints(parser))


class TileView:
    """What the three views share: tiles of ``tile_shape`` cut out of a tensor view."""

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
                f"and tiles of rank {len(tile_shape)}")
        verify_tile_shape(tile_shape, tensor_view.element_type)
        if padding not in (None, PaddingValue.ZERO) and not is_float(tensor_view.element_type):
            raise VerifyException(
                f"padding_value {padding.value} can only be used with floating point element types, "
                f"got {tensor_view.element_type}")

    def _verify_distances(self, steps: Sequence[int], dim_map: Sequence[int]) -> None:
        """``steps``: elements from a tile to the next, per dimension of the tile."""
        strides = [self.tensor_view.strides[dim] for dim in dim_map]
        check_tiles(self.tile_shape, steps, strides, BITS[self.element_type], self.element_type)

    def _verify_dim_map(self, dim_map: Sequence[int]) -> None:
        rank = len(self.tile_shape)
        if sorted(dim_map) != list(range(rank)):
            raise VerifyException(
                f"expected dim_map to map exactly all {rank} dimensions of the tile once, got {list(dim_map)}")

    def _print(self, printer: Printer, *, before: str = "", after: str = "") -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"tile=({_dims_text(self.tile_shape, 'x')}), {before}")
            if self.padding_value is not None:
                printer.print_string(f"padding_value = {self.padding_value.value}, ")
            printer.print_attribute(self.tensor_view)
            printer.print_string(after)

    @staticmethod
    def _dim_map_text(dim_map: Sequence[int]) -> str:
        return "" if list(dim_map) == list(range(len(dim_map))) else f", dim_map=[{_dims_text(dim_map, ', ')}]"


@record
class PartitionViewType(TileView, Data[tuple], TypeAttribute):
    """A grid of adjacent tiles; tile dimension d lies along tensor dimension ``dim_map[d]``."""

    name = "cuda_tile.partition_view"

    def __init__(self, tile_shape: Sequence[int], tensor_view: TensorViewType, dim_map: Sequence[int] | None = None,
                 padding_value: PaddingValue | None = None):
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


@record
class StridedViewType(TileView, Data[tuple], TypeAttribute):
    """A grid of tiles whose origins are ``traversal_strides`` elements apart: gaps or overlap are possible."""

    name = "cuda_tile.strided_view"

    def __init__(self, tile_shape: Sequence[int], traversal_strides: Sequence[int], tensor_view: TensorViewType,
                 dim_map: Sequence[int] | None = None, padding_value: PaddingValue | None = None):
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
                f"expected {len(self.tile_shape)} traversal strides, got {len(self.traversal_strides)}")
        if any(stride <= 0 for stride in self.traversal_strides):
            raise VerifyException(
                f"traversal strides must be strictly positive but got [{_dims_text(self.traversal_strides, ', ')}]")
        self._verify_distances(self.traversal_strides, self.dim_map)

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            tile_shape = _parse_tile_shape(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("traversal_strides")
            parser.parse_punctuation("=")
            strides = _parse_ints(parser)
            parser.parse_punctuation(",")
            padding, view = _parse_padding_and_view(parser)
            return tile_shape, view, padding, _parse_dim_map(parser, len(tile_shape)), strides

    def print_parameter(self, printer: Printer) -> None:
        strides = f"traversal_strides=[{_dims_text(self.traversal_strides, ',')}], "
        self._print(printer, before=strides, after=self._dim_map_text(self.dim_map))


@record
class GatherScatterViewType(TileView, Data[tuple], TypeAttribute):
    """Tiles whose rows along ``sparse_dim`` are selected by a one-dimensional index tile."""

    name = "cuda_tile.gather_scatter_view"

    def __init__(self, tile_shape: Sequence[int], tensor_view: TensorViewType, sparse_dim: int,
                 padding_value: PaddingValue | None = None):
        super().__init__((tuple(tile_shape), tensor_view, padding_value, sparse_dim))

    @property
    def sparse_dim(self) -> int:
        return self.data[3]

    @property
    def dim_map(self) -> tuple[int, ...]:
        return tuple(range(len(self.tile_shape)))

    def verify(self) -> None:
        self._verify_tile()
        if not 0 <= self.sparse_dim < self.tensor_view.rank:
            raise VerifyException(
                "gather dimension is outside of tensor view dimensions, expected strictly less than "
                f"{self.tensor_view.rank}, got {self.sparse_dim}")
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


TYPES = (
    TokenType,
    PointerType,
    TileType,
    TensorViewType,
    PartitionViewType,
    StridedViewType,
    GatherScatterViewType,
    FloatNV8E5M3FNUType,
)

TOKEN = TokenType()
