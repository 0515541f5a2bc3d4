"""Element types as NumPy arrays: the dtype of a type, the range of its floats, and its bit patterns.

A tile is an array in the tile's shape. Its dtype is that of ``HELD``: i1 is bool, i4 is int8 in [-8, 7], tf32 is
float32 whose lowest 13 bits are zero, f8E5M3FNU is its bit patterns as uint8, pointers are uint64 addresses.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from ...ir.dialects.checked_cast import cast, type_as
from ...ir.dialects.cuda_tile.element_types import (
    BF16,
    BITS,
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F8E8M0,
    F16,
    F32,
    F64,
    FNV8,
    TF32,
    i4,
)
from ...ir.dialects.cuda_tile.types import PointerType, TileType

STORAGE_DTYPES: dict[Attribute, np.dtype] = {
    i1: np.dtype(np.bool_),
    i4: np.dtype(np.int8),
    i8: np.dtype(np.int8),
    i16: np.dtype(np.int16),
    i32: np.dtype(np.int32),
    i64: np.dtype(np.int64),
    F16: np.dtype(np.float16),
    BF16: np.dtype(ml_dtypes.bfloat16),
    F32: np.dtype(np.float32),
    F64: np.dtype(np.float64),
    TF32: np.dtype(np.float32),
    F8E4M3: np.dtype(ml_dtypes.float8_e4m3fn),
    F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    F8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    F4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    FNV8: np.dtype(np.uint8),
}


@dataclass(frozen=True)
class Format:
    """A float type: precision in bits, exponent of the smallest normal, largest finite value."""

    precision: int
    min_exponent: int
    max_value: float
    has_infinity: bool = True
    has_nan: bool = True
    signed: bool = True

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next larger value."""
        return 2.0 ** (1 - self.precision)

    @property
    def tiny(self) -> float:
        """The smallest positive value."""
        return 2.0 ** (self.min_exponent + 1 - self.precision)


FORMATS: dict[Attribute, Format] = {
    F64: Format(53, -1022, float(np.finfo(np.float64).max)),
    F32: Format(24, -126, float(np.finfo(np.float32).max)),
    TF32: Format(11, -126, float((2 - 2.0**-10) * 2.0**127)),
    BF16: Format(8, -126, float((2 - 2.0**-7) * 2.0**127)),
    F16: Format(11, -14, 65504.0),
    F8E4M3: Format(4, -6, 448.0, has_infinity=False),
    F8E5M2: Format(3, -14, 57344.0),
    F8E8M0: Format(1, -127, 2.0**127, has_infinity=False, signed=False),
    F4E2M1: Format(2, 0, 6.0, has_infinity=False, has_nan=False),
    FNV8: Format(4, -14, 1.75 * 2.0**16, has_infinity=False, signed=False),
}
TF32_UNUSED_BITS = 13


def tile_of(value: SSAValue) -> TileType:
    """The tile type of a value."""
    return type_as(value, TileType)


def element_of(value: SSAValue) -> Attribute:
    """The type of a tile's elements."""
    return type_as(value, TileType).element_type


def pointee_of(value: SSAValue) -> Attribute:
    """The pointee type of a tile of pointers."""
    return cast(PointerType, element_of(value)).pointee_type


def storage_dtype(element_type: Attribute) -> np.dtype:
    """The dtype that holds elements of a type."""
    return np.dtype(np.uint64) if isinstance(element_type, PointerType) else STORAGE_DTYPES[element_type]


def constant_values(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The values of a constant as an array."""
    if element_type == FNV8:
        return float_to_fnv8(values.astype(np.float64))
    return values.astype(storage_dtype(element_type))


def is_integer(element_type: Attribute) -> bool:
    return isinstance(element_type, IntegerType)


def storage_bits(element_type: Attribute) -> int:
    """Bits of one element in memory: i1 takes a byte, tf32 four, 4-bit types half a byte."""
    if isinstance(element_type, PointerType):
        return 64
    return {1: 8, 19: 32}.get(BITS[element_type], BITS[element_type])


def unsigned_dtype(size: int) -> np.dtype:
    """The unsigned dtype of a number of bytes."""
    return np.dtype(f"u{size}")


def to_bit_patterns(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The bit patterns of values as unsigned integers of whole bytes; 4-bit types in the lower nibble."""
    values = np.asarray(values)
    if element_type == TF32:
        return values.view(np.uint32)
    words = values.view(unsigned_dtype(values.dtype.itemsize))
    return words & np.uint8(15) if storage_bits(element_type) == 4 else words


def from_bit_patterns(words: np.ndarray, element_type: Attribute) -> np.ndarray:
    """Values from bit patterns; the inverse of ``to_bit_patterns``."""
    if element_type == i1:
        return words != 0
    if element_type == i4:
        return ((words.astype(np.int8) << 4).astype(np.int8) >> 4).astype(np.int8)
    if element_type == TF32:
        return (words & np.uint32(0xFFFFFFFF << TF32_UNUSED_BITS & 0xFFFFFFFF)).view(np.float32)
    if element_type == F4E2M1:
        return (words & np.uint8(15)).view(STORAGE_DTYPES[F4E2M1])
    return words.view(storage_dtype(element_type))


def value_bits(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The ``BITS`` bits of each value as uint64 (tf32: its 19 bits)."""
    if element_type == i1:
        return values.astype(np.uint64)
    words = to_bit_patterns(values, element_type).astype(np.uint64)
    return words >> np.uint64(TF32_UNUSED_BITS) if element_type == TF32 else words


def from_value_bits(bits: np.ndarray, element_type: Attribute) -> np.ndarray:
    """Values from the ``BITS`` bits of each as uint64."""
    if element_type == TF32:
        return (bits << np.uint64(TF32_UNUSED_BITS)).astype(np.uint32).view(np.float32)
    size = max(BITS[element_type] // 8, 1)
    return from_bit_patterns(bits.astype(unsigned_dtype(size)), element_type)


def fnv8_to_float(words: np.ndarray) -> np.ndarray:
    """f8E5M3FNU bit patterns as float64: exponent bias 15, the pattern 0xff is NaN."""
    exponent, fraction = (words >> 3).astype(np.int32), (words & 7).astype(np.float64)
    normal = np.ldexp(1 + fraction / 8, exponent - 15)
    values = np.where(exponent == 0, np.ldexp(fraction / 8, -14), normal)
    return np.where(words == 0xFF, np.nan, values)


def float_to_fnv8(values: np.ndarray) -> np.ndarray:
    """Bit patterns of float64 values that f8E5M3FNU can represent."""
    mantissa, exponent = np.frexp(values)
    normal = values >= 2.0**-14
    patterns = np.where(normal, (exponent - 1 + 15) * 8 + (mantissa * 2 - 1) * 8, values * 2.0**17)
    return np.where(np.isnan(values), 255, patterns).astype(np.uint8)


def to_float64(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """Floats of an element type as float64, exactly."""
    if element_type == FNV8:
        return fnv8_to_float(values)
    if element_type == F64:
        return np.asarray(values)
    with np.errstate(invalid="ignore"):  # signaling NaNs become quiet
        return np.asarray(values).astype(np.float32).astype(np.float64)


def from_float64(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """Floats of an element type from representable float64 values."""
    if element_type == FNV8:
        return float_to_fnv8(values)
    if element_type == F64:
        return np.asarray(values, np.float64)
    return np.asarray(values).astype(np.float32).astype(STORAGE_DTYPES[element_type])
