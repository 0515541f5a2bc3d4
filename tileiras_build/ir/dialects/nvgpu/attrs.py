"""Types and attributes of the ``nvgpu`` dialect, in MLIR's text form."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .types import SWIZZLE_BYTES


@irdl_attr_definition
class SwizzleAttr(Data[int], SpacedOpaqueSyntaxAttribute):
    """``#nvgpu<swizzle 128B>``, or ``none``: the width in bytes of a swizzle's rows."""

    name = "nvgpu.swizzle"

    def verify(self) -> None:
        if self.data not in SWIZZLE_BYTES.values():
            raise VerifyException(f"a swizzle has 32, 64 or 128 bytes or is none, got {self.data}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        if parser.parse_optional_keyword("none") is not None:
            return 0
        width = parser.parse_integer()
        parser.parse_keyword("B")
        return width

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"{self.data}B" if self.data else "none")


class RcpRounding(StrEnum):
    """How a reciprocal is rounded."""

    APPROX = "approx"
    RN = "rn"
    RZ = "rz"
    RM = "rm"
    RP = "rp"


@irdl_attr_definition
class RcpRoundingAttr(EnumAttribute[RcpRounding], SpacedOpaqueSyntaxAttribute):
    """``#nvgpu<rcp_rounding_mode approx>``"""

    name = "nvgpu.rcp_rounding_mode"


class DescriptorScope(StrEnum):
    """The threads that must see a changed tensor map."""

    CTA = "cta"
    GPU = "gpu"
    SYS = "sys"


@irdl_attr_definition
class DescriptorScopeAttr(EnumAttribute[DescriptorScope], SpacedOpaqueSyntaxAttribute):
    """``#nvgpu<scope gpu>``"""

    name = "nvgpu.scope"
