"""The placement of a tile in shared memory as an attribute, in CuTe's notation."""

from __future__ import annotations

import re

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...layouts import SharedLayout
from ...layouts.cute_text import shared_from_cute, shared_to_cute

# Bits of an element, then the placement; a swizzle is written <B,M,S>.
_TEXT = re.compile(r"\s*(\d+)\s*,\s*((?:swizzle<[\d,]+> o )?[^<>]*)")


@irdl_attr_definition
class SharedLayoutAttr(Data[SharedLayout]):
    """``#cute.shared<16, swizzle<3,3,3> o ((128),(64)):((64),(1))>``: element bits, then sizes and strides."""

    name = "cute.shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SharedLayout:
        with parser.in_angle_brackets():
            start = parser.pos
            match = _TEXT.match(parser.lexer.input.content, start)
            if match is None:
                parser.raise_error("expected the bits of an element and a placement")
            try:
                layout = shared_from_cute(match[2].strip(), int(match[1]))
            except ValueError as error:
                parser.raise_error(str(error), start, match.end())
            parser._resume_from(match.end())
        return layout

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.element_bits}, {shared_to_cute(self.data)}>")
