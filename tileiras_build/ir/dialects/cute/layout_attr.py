from __future__ import annotations

import re

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ....core.errors import InternalError
from ...layouts import LinearLayout
from ...layouts.cute_text import from_cute, to_cute

# The tile's shape, then the layout: neither contains a closing angle bracket.
_TEXT = re.compile(r"\s*\(([\d,\s]*)\)\s*,([^<>]*)")


@irdl_attr_definition
class LayoutAttr(Data[LinearLayout]):
    """A register layout of a tile."""

    name = "cute.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LinearLayout:
        with parser.in_angle_brackets():
            # CuTe's text does not consist of MLIR tokens: it is parsed verbatim.
            start = parser.pos
            match = _TEXT.match(parser.lexer.input.content, start)
            if match is None:
                parser.raise_error("expected a tile shape and a CuTe layout")
            shape = tuple(int(size) for size in match[1].split(",") if size.strip())
            try:
                layout = from_cute(match[2], shape)
            except ValueError as error:
                parser.raise_error(str(error), start, match.end())
            parser._resume_from(match.end())
        return layout

    def print_parameter(self, printer: Printer) -> None:
        shape = ",".join(map(str, self.data.shape))
        printer.print_string(f"<({shape}), {to_cute(self.data)}>")


def layout_of(value: SSAValue) -> LinearLayout:
    """The register layout of a tile; raises InternalError for other values, and for tiles without one."""
    return layout_of_type(value.type)


def layout_of_type(type: Attribute) -> LinearLayout:
    """The register layout of a tile's type."""
    if isinstance(type, TensorType) and isinstance(type.encoding, LayoutAttr):
        return type.encoding.data
    raise InternalError("tile-layout", f"{type} is no tile with a layout")
