"""The register form of tile elements: one LLVM scalar per element.

``register`` is the type in registers, ``memory`` the type of loads and stores, ``bits`` its width in memory. A pointer
is an address in the global space; tf32 is a float whose low mantissa bits are ignored; fp8 and smaller floats are their
bits in an i8; a boolean is an i8 in memory. Registers and shared memory have at least one byte per element; in global
memory ``per_byte`` elements of 4 bits share a byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute

from ...core.errors import Unsupported
from ...target.element_types import ELEMENT_TYPES
from .llvm_type_constructors import named


@dataclass(frozen=True)
class Element:
    """One row of ``target/element_types.py``: MLIR spelling, LLVM type in registers and in memory, bits in memory."""

    name: str
    register: str
    memory: str
    bits: int
    per_byte: int = 1

    @cached_property
    def type(self) -> Attribute:
        """The type in registers."""
        return named(self.register)

    @cached_property
    def memory_type(self) -> Attribute:
        """The type of loads and stores."""
        return named(self.memory)

    @cached_property
    def crossing_type(self) -> Attribute:
        """The type in shuffles and other data movement: booleans as bytes, pointers as integers."""
        return self.memory_type if self.register in ("i1", "ptr addrspace(1)") else self.type

    @property
    def is_float(self) -> bool:
        return self.register in ("half", "bfloat", "float", "double")

    @property
    def bytes(self) -> int:
        return max(self.bits // 8, 1)

    def global_bytes(self, count: int) -> int:
        """Bytes of ``count`` elements in global memory."""
        return -(-count * self.bytes // self.per_byte)


ELEMENTS: dict[str, Element] = {
    name: Element(name, row.register, row.memory, row.load_bits, row.per_byte) for name, row in ELEMENT_TYPES.items()
}
POINTER = Element("ptr", "ptr addrspace(1)", "i64", 64)


def wrap_to_width(value: int, width: int) -> int:
    """The low bits as a signed integer; one bit is 0 or 1."""
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


def value_bits(element: Element) -> int:
    """Bits of a value when elements are reinterpreted: sub-byte elements have their own width."""
    row = ELEMENT_TYPES.get(element.name)
    return element.bits if row is None else row.bits + row.unused


def element_of(type: Attribute) -> Element:
    """The row of a tile's or scalar's element type; raises Unsupported if there is none."""
    scalar = type.element_type if type.__class__ is TensorType else type
    known = _FLOATS.get(scalar.__class__)
    if known is None and isinstance(scalar, IntegerType) and scalar.signedness.data is Signedness.SIGNLESS:
        known = _INTEGERS.get(scalar.width.data)
    return known or _row(scalar)


# The common rows by a fast key: hashing a type runs in Python.
_INTEGERS = {width: ELEMENTS[f"i{width}"] for width in (1, 8, 16, 32, 64)}
_FLOATS = {ELEMENTS[name].type.__class__: ELEMENTS[name] for name in ("f16", "bf16", "f32", "f64")}


@cache
def _row(type: Attribute) -> Element:
    if type.name in ("nv_tileaa.ptr", "llvm.ptr"):
        return POINTER
    if (row := ELEMENTS.get(str(type).removeprefix("!cuda_tile."))) is None:
        raise Unsupported("element-type", f"element type {type} has no register form", remedy="see element_types.py")
    return row
