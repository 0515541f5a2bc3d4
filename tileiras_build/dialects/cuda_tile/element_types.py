"""Types of the elements of tiles."""

from __future__ import annotations

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
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

i4 = IntegerType(4)


@irdl_attr_definition
class FloatNV8E5M3FNUType(ParametrizedAttribute, TypeAttribute):
    """The unsigned 8-bit float with 5 exponent and 3 mantissa bits (type tag 130, bytecode 13.4)."""

    name = "cuda_tile.fnv8E5M3FNU"


F16, BF16, F32, F64, TF32 = Float16Type(), BFloat16Type(), Float32Type(), Float64Type(), FloatTF32Type()
F8E4M3, F8E5M2, F8E8M0, F4E2M1 = Float8E4M3FNType(), Float8E5M2Type(), Float8E8M0FNUType(), Float4E2M1FNType()
FNV8 = FloatNV8E5M3FNUType()

INTEGERS = (i1, i8, i16, i32, i64)
BASE_FLOATS = (F16, BF16, F32, F64)
FLOATS = (*BASE_FLOATS, TF32, F8E4M3, F8E5M2, F8E8M0, F4E2M1, FNV8)
NUMBERS = (*INTEGERS, *FLOATS)

# Bits that an element of a tile occupies.
BITS: dict[Attribute, int] = {
    i1: 1,
    i4: 4,
    i8: 8,
    i16: 16,
    i32: 32,
    i64: 64,
    F16: 16,
    BF16: 16,
    F32: 32,
    F64: 64,
    TF32: 19,
    F8E4M3: 8,
    F8E5M2: 8,
    F8E8M0: 8,
    F4E2M1: 4,
    FNV8: 8,
}


def is_float(element_type: Attribute) -> bool:
    """Whether an element type is one of the floating-point types."""
    return element_type in BITS and not isinstance(element_type, IntegerType)
