"""Types of the cuda_tile dialect (Tile IR Types.td), with plain Python properties.

Shapes and strides are tuples of int; a dynamic entry is None. All types are hashable values; equal
types compare equal, and identical objects compare fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float4E2M1FNType
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .address_overflow_checks import check_tensor
from .data_attribute_constructor import record_attribute
from .element_types import BITS, NUMERIC_TYPES
from .enums import PtrAttr, PtrAttrAttr

MAX_TILE_ELEMENTS = 1 << 24  # Tile IR Types.h: the largest number of elements of a tile
MAX_RANK = 64  # NumPy's limit; without one, a short file could repeat types of any size

Dims = tuple[int | None, ...]


def dims_text(dims: Sequence[int | None], separator: str) -> str:
    """Sizes or strides as text."""
    return separator.join("?" if dim is None else str(dim) for dim in dims)


def _print_shape(printer: Printer, dims: Dims, element_type: Attribute) -> None:
    printer.print_string(dims_text(dims, "x") + ("x" if dims else ""))
    printer.print_attribute(element_type)


def _parse_shape(parser: AttrParser) -> tuple[Dims, Attribute]:
    dims, element_type = parser.parse_ranked_shape()
    return tuple(None if dim < 0 else dim for dim in dims), element_type


def parse_ints(parser: AttrParser) -> tuple[int | None, ...]:
    """A list of sizes or strides."""

    def one() -> int | None:
        return None if parser.parse_optional_punctuation("?") else parser.parse_integer()

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one))


def _parse_ptr_attr(parser: AttrParser) -> str | None:
    if parser.parse_optional_punctuation(",") is None:
        return None
    if (attribute := parser.parse_optional_attribute()) is not None:
        if not isinstance(attribute, PtrAttrAttr):
            parser.raise_error(f"expected {PtrAttrAttr.name}, got {attribute}")
        return attribute.data.value
    with parser.in_angle_brackets():
        return PtrAttr(parser.parse_identifier()).value


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """Orders memory operations of one tile program; no run-time value."""

    name = "cuda_tile.token"


@record_attribute
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
        if self.data[0] not in NUMERIC_TYPES:
            raise VerifyException(f"a pointer cannot point to {self.data[0]}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            return parser.parse_type(), _parse_ptr_attr(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee_type)
            printer.print_string(f", <{self.ptr_attr}>" if self.ptr_attr else "")


def verify_rank(shape: Sequence[int | None]) -> None:
    """Raise VerifyException for too many dimensions."""
    if len(shape) > MAX_RANK:
        raise VerifyException(f"a type has at most {MAX_RANK} dimensions, got {len(shape)}")


def verify_tile_shape(shape: Sequence[int], element_type: Attribute) -> None:
    """Raise VerifyException unless the shape is a valid tile shape: positive powers of two, not too many elements."""
    verify_rank(shape)
    count = 1
    for dim in shape:
        if dim <= 0:
            raise VerifyException(f"all dimensions must be positive constants, got {dims_text(shape, ', ')}")
        if dim & (dim - 1):
            raise VerifyException(f"all dimensions must be powers of two, got {dims_text(shape, ', ')}")
        count *= dim
        if count > MAX_TILE_ELEMENTS:
            raise VerifyException(f"tile would exceed the maximum of {MAX_TILE_ELEMENTS} elements")
    if isinstance(element_type, Float4E2M1FNType) and all(dim % 2 for dim in shape):
        raise VerifyException("f4E2M1FN tiles must have an even number of elements")


@record_attribute
class TileType(Data[tuple[tuple[int, ...], Attribute]], TypeAttribute):
    """A tile: ``shape`` (powers of two, () for a scalar) of ``element_type`` (numeric or a pointer)."""

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


@record_attribute
class TensorViewType(Data[tuple[Attribute, Dims, Dims, str | None]], TypeAttribute):
    """A tensor in global memory: element type, ``shape`` and ``strides`` in elements (None = dynamic)."""

    name = "cuda_tile.tensor_view"

    def __init__(
        self,
        element_type: Attribute,
        shape: Sequence[int | None],
        strides: Sequence[int | None],
        ptr_attr: str | None = None,
    ):
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
                f"and stride of rank {len(strides)}"
            )
        for what, dims in (("sizes", shape), ("strides", strides)):
            if any(dim is not None and dim <= 0 for dim in dims):
                raise VerifyException(
                    f"dimensions must have strictly positive constant {what} but got [{dims_text(dims, ', ')}]"
                )
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
                strides = parse_ints(parser)
            return element_type, shape, strides, _parse_ptr_attr(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_shape(printer, self.shape, self.element_type)
            if self.shape:
                printer.print_string(f", strides=[{dims_text(self.strides, ',')}]")
            printer.print_string(f", #cuda_tile.ptr_attr<{self.ptr_attr}>" if self.ptr_attr else "")


TOKEN = TokenType()
