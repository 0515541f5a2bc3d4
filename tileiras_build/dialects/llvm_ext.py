"""The ``llvm`` dialect: xDSL's operations, and the attributes that our passes need and xDSL lacks."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, IntegerType
from xdsl.dialects.llvm import LLVM as XDSL_LLVM
from xdsl.ir import Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class ConstantRangeAttr(ParametrizedAttribute):
    """The half-open range ``[lower, upper)`` of an integer: ``#llvm.constant_range<i32, 0, 64>``."""

    name = "llvm.constant_range"

    type: IntegerType
    lower: IntAttr
    upper: IntAttr

    def verify(self) -> None:
        if self.lower.data >= self.upper.data:
            raise VerifyException(f"range [{self.lower.data}, {self.upper.data}) is empty")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list:
        with parser.in_angle_brackets():
            type = parser.parse_type()
            parser.parse_punctuation(",")
            lower = parser.parse_integer()
            parser.parse_punctuation(",")
            return [type, IntAttr(lower), IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.type)
            printer.print_string(f", {self.lower.data}, {self.upper.data}")


LLVM = Dialect("llvm", list(XDSL_LLVM.operations), [*XDSL_LLVM.attributes, ConstantRangeAttr])
