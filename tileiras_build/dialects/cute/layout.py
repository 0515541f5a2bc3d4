"""The layout attribute: a linear layout with CuTe's spelling."""

from __future__ import annotations

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...layouts import LinearLayout


@irdl_attr_definition
class LayoutAttr(Data[LinearLayout]):
    """A register layout of a tile."""

    name = "cute.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LinearLayout:
        def numbers() -> list[int]:
            return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)

        with parser.in_angle_brackets():
            parts = [numbers()]
            for _ in range(3):
                parser.parse_punctuation(",")
                parts.append(numbers())
        shape, registers, lanes, warps = map(tuple, parts)
        return LinearLayout(registers, lanes, warps, shape)

    def print_parameter(self, printer: Printer) -> None:
        layout = self.data
        parts = (layout.shape, layout.registers, layout.lanes, layout.warps)
        printer.print_string("<" + ", ".join(str(list(part)) for part in parts) + ">")
