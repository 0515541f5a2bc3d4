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

from ....target.element_types import ELEMENT_TYPES

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
NUMERIC_TYPES = (*INTEGERS, *FLOATS)

# The types by their names in ``tileiras_build/target/element_types.py``.
BY_NAME: dict[str, Attribute] = {
    "i1": i1, "i4": i4, "i8": i8, "i16": i16, "i32": i32, "i64": i64, "f16": F16, "bf16": BF16, "f32": F32, "tf32": TF32,
    "f64": F64, "f8E4M3FN": F8E4M3, "f8E5M2": F8E5M2, "f8E8M0FNU": F8E8M0, "fnv8E5M3FNU": FNV8, "f4E2M1FN": F4E2M1,
}  # fmt: skip
# Bits that an element of a tile occupies.
BITS: dict[Attribute, int] = {type: ELEMENT_TYPES[name].bits for name, type in BY_NAME.items()}


def is_float(element_type: Attribute) -> bool:
    """Whether an element type is one of the floating-point types."""
    return element_type in BITS and not isinstance(element_type, IntegerType)
