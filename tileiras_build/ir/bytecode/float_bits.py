"""Convert the bits of floating-point values to Python floats and back, for every element type."""

from __future__ import annotations

import struct

from xdsl.dialects.builtin import Float32Type, Float64Type, FloatTF32Type
from xdsl.ir import Attribute

from tileiras_build.ir.dialects.cuda_tile.attrs import TF32_UNUSED_BITS, dtype_of
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS, FloatNV8E5M3FNUType
from tileiras_build.target.element_types import FNV8


def float_value(bits: int, type: Attribute) -> float:
    """The value of a bit pattern of a float type; bits beyond its width are ignored."""
    bits &= (1 << BITS[type]) - 1
    if isinstance(type, FloatNV8E5M3FNUType):
        return FNV8.value(bits)
    if isinstance(type, FloatTF32Type):
        bits <<= TF32_UNUSED_BITS
    if isinstance(type, Float32Type):
        return struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    if isinstance(type, Float64Type):
        return struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    import numpy as np

    dtype = dtype_of(type)
    return float(np.array(bits, f"<u{dtype.itemsize}").view(dtype))


def float_bits(value: float, type: Attribute) -> int:
    """The bit pattern of a value, rounded to nearest, in a float type."""
    if isinstance(type, FloatNV8E5M3FNUType):
        return FNV8.nearest(value)
    import numpy as np

    dtype = dtype_of(type)
    with np.errstate(over="ignore", invalid="ignore"):
        bits = int(np.array(value).astype(dtype).view(f"<u{dtype.itemsize}"))
    if isinstance(type, FloatTF32Type):
        bits = _drop_tf32_bits(bits)
    return bits & (1 << BITS[type]) - 1


def _drop_tf32_bits(bits: int) -> int:
    """Round the bits of a float32 to the 19 of tf32, to nearest even; an overflow carries into infinity."""
    kept, dropped = bits >> TF32_UNUSED_BITS, bits & (1 << TF32_UNUSED_BITS) - 1
    if bits & 0x7F800000 == 0x7F800000:
        return kept
    half = 1 << TF32_UNUSED_BITS - 1
    return kept + (dropped > half or dropped == half and kept & 1)
