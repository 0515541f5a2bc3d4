"""The element types of tiles, in one table: bits of a value, storage, and the names of the type in other libraries.

Rows have MLIR's names of the types; those of Tile IR's own types have no prefix here. All code that needs element types
reads this table, except the interpreter and the emulator, which check results and have tables of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import copysign, frexp, ldexp
from typing import NamedTuple


@dataclass(frozen=True)
class FloatFormat:
    """Bits of a floating-point value: widths of exponent and mantissa, the bias, and the bit patterns of special values.

    ``nan``: the quiet NaN without payload, or None. ``zero``: whether the pattern of all zeros is 0.0.
    """

    exponent: int
    mantissa: int
    bias: int
    nan: int | None
    signed: bool = True
    infinity: int | None = None
    zero: bool = True

    @property
    def width(self) -> int:
        return self.signed + self.exponent + self.mantissa

    @property
    def precision(self) -> int:
        """Bits of the significand, including the implicit one."""
        return self.mantissa + 1

    def pattern(self, name: str) -> int | None:
        """The bits of ``zero``, ``neg_zero``, ``nan``, ``pos_inf`` or ``neg_inf``; None for values that the type lacks."""
        return {
            "zero": 0,
            "nan": self.nan,
            "pos_inf": self.infinity,
            "neg_zero": self._negative(0) if self.zero else None,
            "neg_inf": None if self.infinity is None or not self.signed else self._negative(self.infinity),
        }[name]

    def _negative(self, pattern: int) -> int:
        return pattern | self.signed << self.width - 1

    def value(self, bits: int) -> float:
        """The value of a bit pattern, including infinities and NaNs."""
        sign = -1.0 if self.signed and bits >> self.width - 1 else 1.0
        exponent, fraction = bits >> self.mantissa & (1 << self.exponent) - 1, bits & (1 << self.mantissa) - 1
        top = exponent == (1 << self.exponent) - 1
        if self.nan is not None and top and self._is_nan(fraction):
            return float("nan")
        if self.infinity is not None and self.signed and top:
            return sign * float("inf")
        if exponent == 0 and self.zero:
            return sign * fraction * 2.0 ** (1 - self.bias - self.mantissa)
        return sign * (1 + fraction / (1 << self.mantissa)) * 2.0 ** (exponent - self.bias)

    def nearest(self, value: float) -> int:
        """The bit pattern nearest to a value, ties to even; infinity or NaN above the largest finite value."""
        if value != value or abs(value) == float("inf"):
            found = self.pattern("nan" if value != value else "pos_inf")
            return self._signed(value, self._past() if found is None else found)
        min_exponent = 1 - self.bias
        exponent = max(frexp(value)[1] - 1, min_exponent) if value else min_exponent
        steps = round(ldexp(abs(value), self.mantissa - exponent))
        return self._signed(value, min((exponent - min_exponent << self.mantissa) + steps, self._past()))

    @property
    def largest(self) -> float:
        """The largest finite value."""
        special = self._past()
        return self.value(special if special not in (self.infinity, self.nan) else special - 1)

    def _past(self) -> int:
        """The pattern above the largest finite value."""
        special = [pattern for pattern in (self.infinity, self.nan) if pattern is not None]
        return min(special, default=(1 << self.width - self.signed) - 1)

    def _signed(self, value: float, pattern: int) -> int:
        return self._negative(pattern) if copysign(1.0, value) < 0 else pattern

    def _is_nan(self, fraction: int) -> bool:
        """Whether it is a NaN: the largest exponent with a fraction other than that of infinity, or the last fraction
        if there is no infinity.
        """
        has_infinity = self.infinity is not None and self.infinity != self.nan
        return fraction != 0 if has_infinity else fraction == (1 << self.mantissa) - 1


@dataclass(frozen=True)
class ElementType:
    """One row.

    ``bits`` of a value; ``register`` and ``memory``, the LLVM types in registers and of loads and stores; ``numpy``,
    the type of NumPy or ml_dtypes, or None; ``c``, of a parameter in C; ``c_kind``, of an element in launcher.hpp;
    ``struct``, the format letter of Python's module; ``tma``, the element of a tensor map, or None; ``ptx``, in the
    names of matrix instructions and conversions; ``unused``, the number of ignored low bits in memory; ``per_byte``,
    the elements per byte of an array; ``dlpack``, the DLDataTypeCode of types that NumPy has from ml_dtypes.
    """

    name: str
    bits: int
    register: str
    memory: str
    numpy: str | None
    c: str | None = "uint8_t"
    c_type_class: str | None = None
    struct: str | None = None
    tma: str | None = None
    ptx: str | None = None
    format: FloatFormat | None = None
    unused: int = 0
    per_byte: int = 1
    dlpack: int | None = None

    @cached_property
    def load_bits(self) -> int:
        """Bits of loads and stores of one element: at least a byte."""
        return int(self.memory[1:])

    def padding(self, name: str) -> int | None:
        """The bits in memory of a padding value of views; None if the type cannot represent it."""
        if name in ("none", "zero"):
            return 0
        found = None if self.format is None else self.format.pattern(name)
        return None if found is None else found << self.unused


def _integer(
    bits: int,
    c: str | None,
    c_kind: str | None = None,
    struct: str | None = None,
    tma: str | None = None,
    ptx: str | None = None,
) -> ElementType:
    memory, numpy = f"i{max(bits, 8)}", "bool" if bits == 1 else f"int{bits}"
    return ElementType(f"i{bits}", bits, "i1" if bits == 1 else memory, memory, numpy, c, c_kind, struct, tma, ptx)


# An infinity becomes NaN, as in NVIDIA's compiler.
FNV8 = FloatFormat(5, 3, 15, 0xFF, signed=False, infinity=0xFF)
_ROWS = (
    _integer(1, "uint8_t", "i1"),
    _integer(4, None),
    _integer(8, "int8_t", "i8", "b", "u8", "s8"),
    _integer(16, "int16_t", "i16", "h", "u16"),
    _integer(32, "int32_t", "i32", "i", "u32", "s32"),
    _integer(64, "int64_t", "i64", "q", "u64"),
    ElementType(
        "f16", 16, "half", "i16", "float16", "uint16_t", "f16", "e", "f16", "f16",
        FloatFormat(5, 10, 15, 0x7E00, infinity=0x7C00),
    ),
    ElementType(
        "bf16", 16, "bfloat", "i16", "bfloat16", "uint16_t", "bf16", None, "bf16", "bf16",
        FloatFormat(8, 7, 127, 0x7FC0, infinity=0x7F80), dlpack=4,
    ),
    ElementType(
        "f32", 32, "float", "i32", "float32", "float", "f32", "f", "f32", "f32",
        FloatFormat(8, 23, 127, 0x7FC00000, infinity=0x7F800000),
    ),
    # Represented as f32, whose lowest bits are ignored.
    ElementType(
        "tf32", 19, "float", "i32", "float32", "float", "f32", "f", "f32", "tf32",
        FloatFormat(8, 10, 127, 0x3FE00, infinity=0x3FC00), unused=13,
    ),
    ElementType(
        "f64", 64, "double", "i64", "float64", "double", "f64", "d", "f64", "f64",
        FloatFormat(11, 52, 1023, 0x7FF8 << 48, infinity=0x7FF0 << 48),
    ),
    ElementType(
        "f8E4M3FN", 8, "i8", "i8", "float8_e4m3fn", c_type_class="f8", tma="u8", ptx="e4m3", format=FloatFormat(4, 3, 7, 0x7F),
        dlpack=10,
    ),
    ElementType(
        "f8E5M2", 8, "i8", "i8", "float8_e5m2", c_type_class="f8", tma="u8", ptx="e5m2",
        format=FloatFormat(5, 2, 15, 0x7E, infinity=0x7C), dlpack=12,
    ),
    ElementType(
        "f8E8M0FNU", 8, "i8", "i8", "float8_e8m0fnu", c_type_class="f8", tma="u8", ptx="ue8m0",
        format=FloatFormat(8, 0, 127, 0xFF, signed=False, zero=False), dlpack=14,
    ),
    ElementType("fnv8E5M3FNU", 8, "i8", "i8", None, c_type_class="f8", tma="u8", format=FNV8),
    # No parameter has this type; two elements share a byte.
    ElementType(
        "f4E2M1FN", 4, "i8", "i8", "float4_e2m1fn", c=None, ptx="e2m1", format=FloatFormat(2, 1, 1, None), per_byte=2, dlpack=17,
    ),
)  # fmt: skip
ELEMENT_TYPES: dict[str, ElementType] = {row.name: row for row in _ROWS}

# Types of operands of matrix instructions only: 6-bit floats, and two 4-bit floats in a byte.
_OPERANDS = (
    ElementType("f6E2M3FN", 6, "i8", "i8", "float6_e2m3fn", c=None, ptx="e2m3", dlpack=15),
    ElementType("f6E3M2FN", 6, "i8", "i8", "float6_e3m2fn", c=None, ptx="e3m2", dlpack=16),
    ElementType("f4E2M1FNx2", 8, "i8", "i8", None, c=None),
)
OPERAND_TYPES: dict[str, ElementType] = ELEMENT_TYPES | {row.name: row for row in _OPERANDS}


class MapType(NamedTuple):
    """An element of a tensor map: its CUtensorMapDataType, and its bytes."""

    driver: str
    bytes: int


# By the names in launch manifests. The driver has no signed integers below 32 bits.
MAP_TYPES: dict[str, MapType] = {
    "i8": MapType("UINT8", 1), "u8": MapType("UINT8", 1), "i16": MapType("UINT16", 2), "u16": MapType("UINT16", 2),
    "i32": MapType("INT32", 4), "u32": MapType("UINT32", 4), "i64": MapType("INT64", 8), "u64": MapType("UINT64", 8),
    "f16": MapType("FLOAT16", 2), "bf16": MapType("BFLOAT16", 2), "f32": MapType("FLOAT32", 4),
    "tf32": MapType("TFLOAT32", 4), "f64": MapType("FLOAT64", 8),
}  # fmt: skip
