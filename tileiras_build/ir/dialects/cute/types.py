"""The types of layout algebra, in CuTe's notation between quotes; ``?`` is a dynamic leaf.

!cute.shape<"(?,8)">  !cute.stride<…>  !cute.coord<…>  !cute.tile<…>  !cute.int_tuple<…>
!cute.layout<"(?,8):(8,1)">                                     shape and stride
!cute.layout<"S<3,4,3> o 0 o (8,64):(64,1)">                    behind a swizzle
!cute.ptr<f16, smem>                                            a pointer and its memory space
!cute.memref<f16, smem, "(64,64):(64,1)">                       a pointer with a layout
!cute.desc_iter<smem>                                           a pointer, an index and a stride
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...layouts.cute_algebra import Layout, parse_layout, parse_tuple, print_tuple

# Memory space -> LLVM's address space.
SPACES = {"generic": 0, "gmem": 1, "smem": 3, "rmem": 5, "tmem": 6}

Read = TypeVar("Read")


def _read(parser: AttrParser, read: Callable[[str], Read]) -> Read:
    start = parser.pos
    text = parser.parse_str_literal()
    try:
        return read(text)
    except ValueError as error:
        parser.raise_error(str(error), start, parser.pos)


class TupleType(Data[Any], TypeAttribute):
    """A tuple: an integer, None (dynamic), or a Python tuple of tuples."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return _read(parser, parse_tuple)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f'<"{print_tuple(self.data)}">')


def _tuple_type(name: str, meaning: str) -> type[TupleType]:
    body = {"name": f"cute.{name}", "__doc__": meaning, "__module__": __name__}
    return irdl_attr_definition(type(f"{name.title().replace('_', '')}Type", (TupleType,), body))


IntTupleType = _tuple_type("int_tuple", "Integers.")
ShapeType = _tuple_type("shape", "The extents of a layout.")
StrideType = _tuple_type("stride", "The strides of a layout.")
CoordType = _tuple_type("coord", "A coordinate in a layout.")
TileType = _tuple_type("tile", "The extents of a tile, mode by mode.")
TUPLES = (IntTupleType, ShapeType, StrideType, CoordType, TileType)


@irdl_attr_definition
class LayoutType(Data[Layout], TypeAttribute):
    """A function from coordinates to offsets."""

    name = "cute.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        with parser.in_angle_brackets():
            return _read(parser, parse_layout)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f'<"{self.data}">')


class _InSpace(ParametrizedAttribute, TypeAttribute):
    space: StringAttr

    def verify(self) -> None:
        if self.space.data not in SPACES:
            raise VerifyException(f"{self.space.data!r} is no memory space: use one of {', '.join(SPACES)}")

    @property
    def address_space(self) -> int:
        """LLVM's address space."""
        return SPACES[self.space.data]


class Elements(_InSpace):
    """Base of types that point to elements in a memory space."""

    element: Attribute


@irdl_attr_definition
class PtrType(Elements):
    """A pointer to elements in a memory space."""

    name = "cute.ptr"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            return [StringAttr(parser.parse_identifier()), element]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)
            printer.print_string(f", {self.space.data}")


@irdl_attr_definition
class MemRefType(Elements):
    """Elements in a memory space, with the layout of their coordinates."""

    name = "cute.memref"
    layout: LayoutType

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            space = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            return [space, element, LayoutType(_read(parser, parse_layout))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)
            printer.print_string(f', {self.space.data}, "{self.layout.data}"')


@irdl_attr_definition
class DescIterType(_InSpace):
    """A pointer that moves by a stride: (pointer, index, stride)."""

    name = "cute.desc_iter"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.space.data}>")


TYPES = (*TUPLES, LayoutType, PtrType, MemRefType, DescIterType)
