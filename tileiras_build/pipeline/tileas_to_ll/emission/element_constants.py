"""Constants of the element types of tiles."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ...common.llvm_element_types import POINTER, Element, wrap_to_width
from ...common.llvm_type_constructors import BFLOAT, DOUBLE, FLOAT, HALF, integer
from .function_builder import Value
from .instruction_builder import InstructionBuilder


def _unpacked(format: str, size: int) -> Callable[[int], float]:
    return lambda bits: struct.unpack(format, bits.to_bytes(size, "little"))[0]


# Floating-point type -> decodes its bits; bfloat is the upper half of a float.
_FLOAT_OF_BITS: dict[Attribute, Callable[[int], float]] = {
    HALF: _unpacked("<e", 2),
    BFLOAT: lambda bits: _unpacked("<f", 4)(bits << 16),
    FLOAT: _unpacked("<f", 4),
    DOUBLE: _unpacked("<d", 8),
}


def constant_element(b: InstructionBuilder, element: Element, bits: int) -> Value:
    """An element with the given bits; for an integer type a Python int, which can be folded."""
    type = element.type
    if isinstance(type, IntegerType):
        return wrap_to_width(bits, type.width.data)
    value = _FLOAT_OF_BITS[type](bits)
    if math.isnan(value):
        # A floating-point constant would lose the payload of the NaN.
        return b.cast("bitcast", bits, type, integer(element.bits))
    return b.float_constant(value, type)


def zero_element(b: InstructionBuilder, element: Element) -> Value:
    """The zero of an element type."""
    if isinstance(element.type, IntegerType):
        return 0
    return b.null(element.type) if element is POINTER else b.float_constant(0.0, element.type)
