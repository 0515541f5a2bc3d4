"""Conversions between floating-point formats, one element at a time.

A conversion goes over f32 unless LLVM converts in one step: every format here but f64 is exact in f32. The small
formats have hardware conversions on some SMs (``cvt_fp8``); elsewhere integer code rounds to nearest even and
saturates, as ``cvt.rn.satfinite`` does (PTX ISA, section "Data Movement and Conversion Instructions: cvt").
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from ...errors import Unsupported
from .builder import Builder, Value
from .kernel_emitter import KernelEmitter

Scalar = Callable[[Value], Value]

LLVM_FLOATS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
ROUNDING_SUFFIX = {"nearest_even": "rn", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp"}


@dataclass(frozen=True)
class SmallFloat:
    """A format of at most 8 bits with sign: exponent and mantissa widths, largest finite value, NaN bits (or None)."""

    name: str
    exponent: int
    mantissa: int
    bias: int
    largest: float
    nan: int | None

    @property
    def granule(self) -> float:
        """The smallest positive value: the spacing of the subnormal numbers."""
        return 2.0 ** (1 - self.bias - self.mantissa)


SMALL = {
    row.name: row
    for row in (
        SmallFloat("f8E4M3FN", 4, 3, 7, 448.0, 0x7F),
        SmallFloat("f8E5M2", 5, 2, 15, 57344.0, 0x7F),
        SmallFloat("f4E2M1FN", 2, 1, 1, 6.0, None),
        # Without a sign: what its place would hold is cut off.
        SmallFloat("fnv8E5M3FNU", 5, 3, 15, 114688.0, 0xFF),
    )
}
HARDWARE = {"f8E4M3FN": "e4m3x2", "f8E5M2": "e5m2x2"}


def float_literal(value: float) -> str:
    """An f32 constant: LLVM wants the bits of the equal double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def convert_float(e: KernelEmitter, source: str, target: str, mode: str) -> Scalar:
    """The conversion of one element from format ``source`` to ``target`` with rounding ``mode``."""
    if source == target:
        return lambda x: x
    if source in LLVM_FLOATS and target in LLVM_FLOATS:
        return _between_llvm_floats(e, source, target, mode)
    widen = _f64_to_odd_f32(e) if source == "f64" else _to_f32(e, source)
    narrow = _from_f32(e, target, mode)
    return lambda x: narrow(widen(x))


def _f64_to_odd_f32(e: KernelEmitter) -> Scalar:
    """f32 rounded to odd: an inexact result has its last bit set, so that rounding it again rounds as if once.

    (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.)
    """
    b = e.b

    def scalar(x: Value) -> Value:
        cut = b.pure(f"call float @llvm.nvvm.d2f.rz(double {x})")
        inexact = b.pure(f"fcmp une double {b.pure(f'fpext float {cut} to double')}, {x}")
        odd = b.pure(f"or i32 {b.pure(f'bitcast float {cut} to i32')}, {b.pure(f'zext i1 {inexact} to i32')}")
        return b.pure(f"bitcast i32 {odd} to float")

    return scalar


def _between_llvm_floats(e: KernelEmitter, source: str, target: str, mode: str) -> Scalar:
    b, a, z = e.b, LLVM_FLOATS[source], LLVM_FLOATS[target]
    if {source, target} == {"f16", "bf16"}:
        narrow = _between_llvm_floats(e, "f32", target, mode)
        return lambda x: narrow(b.pure(f"fpext {a} {x} to float"))
    if WIDTH[target] > WIDTH[source]:
        return lambda x: b.pure(f"fpext {a} {x} to {z}")
    if mode in ("nearest_even", "full", "approx"):
        return lambda x: b.pure(f"fptrunc {a} {x} to {z}")
    return _rounded_narrowing(e, source, target, ROUNDING_SUFFIX[mode])


NARROWING_ASM = {
    ("f64", "f32"): ("cvt.{r}.f32.f64", "=f,d", "float"),
    ("f64", "f16"): ("cvt.{r}.f16.f64", "=h,d", "i16"),
    ("f32", "f16"): ("cvt.{r}.f16.f32", "=h,f", "i16"),
    ("f32", "bf16"): ("cvt.{r}.bf16.f32", "=h,f", "i16"),
}
NARROWING_TYPES = {"f64": "double", "f32": "float"}


def _rounded_narrowing(e: KernelEmitter, source: str, target: str, suffix: str) -> Scalar:
    if (source, target) == ("f64", "bf16"):
        # Rounding twice in one direction is rounding once.
        first, second = (_rounded_narrowing(e, *pair, suffix) for pair in (("f64", "f32"), ("f32", "bf16")))
        return lambda x: second(first(x))
    if target == "bf16" and suffix in ("rm", "rp"):
        return _directed_bf16(e, suffix)
    b, (text, constraints, result) = e.b, NARROWING_ASM[source, target]
    text = text.format(r=suffix)

    def scalar(x: Value) -> Value:
        raw = b.pure(f'call {result} asm "{text} $0, $1;", "{constraints}"({NARROWING_TYPES[source]} {x})')
        return raw if result == "float" else b.pure(f"bitcast i16 {raw} to {LLVM_FLOATS[target]}")

    return scalar


def _directed_bf16(e: KernelEmitter, suffix: str) -> Scalar:
    """Up or down: PTX has no such conversion. The upper half of the f32, one more where bits are cut on that side of zero."""
    b = e.b
    away = 0 if suffix == "rp" else 1

    def scalar(x: Value) -> Value:
        bits = b.pure(f"bitcast float {x} to i32")
        cut = b.pure(f"icmp ne i32 {b.pure(f'and i32 {bits}, 65535')}, 0")
        sided = b.pure(f"icmp eq i32 {b.pure(f'lshr i32 {bits}, 31')}, {away}")
        number = b.pure(f"fcmp ord float {x}, 0.0")
        away_from_it = b.pure(f"and i1 {cut}, {sided}")
        one = b.pure(f"zext i1 {away_from_it} to i32")
        upper = b.pure(f"add i32 {b.pure(f'lshr i32 {bits}, 16')}, {one}")
        kept = b.pure(f"select i1 {number}, i32 {upper}, i32 32767")
        return b.pure(f"bitcast i16 {b.pure(f'trunc i32 {kept} to i16')} to bfloat")

    return scalar


# ---- to f32 --------------------------------------------------------------------------------------
def _to_f32(e: KernelEmitter, source: str) -> Scalar:
    if source in ("f32", "tf32"):
        return lambda x: x
    if source in LLVM_FLOATS:
        return _between_llvm_floats(e, source, "f32", "nearest_even")
    if source in HARDWARE and "cvt_fp8" in e.target.capabilities:
        return _hardware_fp8_to_f32(e, HARDWARE[source])
    if source in SMALL:
        return _small_to_f32(e, SMALL[source])
    if source == "f8E8M0FNU":
        return _scale_to_f32(e)
    raise Unsupported("float-format", f"no conversion from {source}", remedy="see float_conversions.py")


def _hardware_fp8_to_f32(e: KernelEmitter, format: str) -> Scalar:
    b = e.b

    def scalar(x: Value) -> Value:
        pair = b.pure(f"call <2 x half> @llvm.nvvm.{format}.to.f16x2.rn(i16 {b.pure(f'zext i8 {x} to i16')})")
        return b.pure(f"fpext half {b.pure(f'extractelement <2 x half> {pair}, i32 0')} to float")

    return scalar


def _small_to_f32(e: KernelEmitter, row: SmallFloat) -> Scalar:
    """The bits moved to the top of an f32's fields, then scaled: subnormals come out right as f32 subnormals do."""
    b, magnitude = e.b, (1 << (row.exponent + row.mantissa)) - 1
    scale = float_literal(2.0 ** (127 - row.bias))

    def scalar(x: Value) -> Value:
        wide = b.pure(f"zext i8 {x} to i32")
        low = b.pure(f"and i32 {wide}, {magnitude}")
        small = b.pure(f"bitcast i32 {b.pure(f'shl i32 {low}, {23 - row.mantissa}')} to float")
        value = b.pure(f"bitcast float {b.pure(f'fmul float {small}, {scale}')} to i32")
        if row.name == "f8E5M2":
            special = b.pure(f"icmp uge i32 {low}, 124")
            infinite = _special_e5m2(e, low)
            value = b.pure(f"select i1 {special}, i32 {infinite}, i32 {value}")
        elif row.nan is not None:
            special = b.pure(f"icmp eq i32 {low}, {row.nan}")
            value = b.pure(f"select i1 {special}, i32 2143289344, i32 {value}")
        sign = b.pure(f"shl i32 {b.pure(f'and i32 {wide}, {magnitude + 1}')}, {31 - row.exponent - row.mantissa}")
        return b.pure(f"bitcast i32 {b.pure(f'or i32 {value}, {sign}')} to float")

    return scalar


def _special_e5m2(e: KernelEmitter, low: Value) -> Value:
    """Infinity keeps its zero mantissa, NaN becomes the canonical one."""
    b = e.b
    is_infinite = b.pure(f"icmp eq i32 {low}, 124")
    return b.pure(f"select i1 {is_infinite}, i32 2139095040, i32 2143289344")


def _scale_to_f32(e: KernelEmitter) -> Scalar:
    """ue8m0 is a bare exponent: 2 ** (x - 127); 255 is NaN and 0 the subnormal 2 ** -127."""
    b = e.b

    def scalar(x: Value) -> Value:
        wide = b.pure(f"zext i8 {x} to i32")
        normal = b.pure(f"shl i32 {wide}, 23")
        value = b.pure(f"select i1 {b.pure(f'icmp eq i32 {wide}, 0')}, i32 4194304, i32 {normal}")
        value = b.pure(f"select i1 {b.pure(f'icmp eq i32 {wide}, 255')}, i32 2143289344, i32 {value}")
        return b.pure(f"bitcast i32 {value} to float")

    return scalar


# ---- from f32 ------------------------------------------------------------------------------------
def _from_f32(e: KernelEmitter, target: str, mode: str) -> Scalar:
    if target == "f32":
        return lambda x: x
    if target == "tf32":
        return _f32_to_tf32(e, mode)
    if target in LLVM_FLOATS:
        return _between_llvm_floats(e, "f32", target, mode)
    if target in HARDWARE and "cvt_fp8" in e.target.capabilities:
        return _hardware_f32_to_fp8(e, HARDWARE[target])
    if target in SMALL:
        return _f32_to_small(e, SMALL[target])
    if target == "f8E8M0FNU":
        return _f32_to_scale(e, mode)
    raise Unsupported("float-format", f"no conversion to {target}", remedy="see float_conversions.py")


def _f32_to_tf32(e: KernelEmitter, mode: str) -> Scalar:
    """tf32 keeps 10 mantissa bits: the low 13 bits of the f32 are rounded away and zero."""
    b = e.b
    if mode == "zero":
        return lambda x: b.pure(f"bitcast i32 {_masked(b, x, -8192)} to float")

    def scalar(x: Value) -> Value:
        bits = b.pure(f"bitcast float {x} to i32")
        if mode == "nearest_away":
            rounded = b.pure(f"add i32 {bits}, 4096")
        else:
            odd = b.pure(f"and i32 {b.pure(f'lshr i32 {bits}, 13')}, 1")
            rounded = b.pure(f"add i32 {b.pure(f'add i32 {bits}, 4095')}, {odd}")
        kept = b.pure(f"bitcast i32 {b.pure(f'and i32 {rounded}, -8192')} to float")
        return b.pure(f"select i1 {b.pure(f'fcmp uno float {x}, 0.0')}, float {x}, float {kept}")

    return scalar


def _masked(b: Builder, x: Value, mask: int) -> Value:
    bits = b.pure(f"bitcast float {x} to i32")
    return b.pure(f"and i32 {bits}, {mask}")


def _hardware_f32_to_fp8(e: KernelEmitter, format: str) -> Scalar:
    b = e.b

    def scalar(x: Value) -> Value:
        pair = b.pure(f"call i16 @llvm.nvvm.ff.to.{format}.rn(float 0.0, float {x})")
        return b.pure(f"trunc i16 {pair} to i8")

    return scalar


def _f32_to_small(e: KernelEmitter, row: SmallFloat) -> Scalar:
    """Round to nearest even and saturate.

    Normal numbers: add half a unit in the last kept place (less the tie bit) to the bits and rebase the exponent.
    Subnormal numbers: adding 2**23 granules makes the f32 adder round to a whole number of granules.
    """
    b, drop = e.b, 23 - row.mantissa
    smallest_normal, magic = 2.0 ** (1 - row.bias), row.granule * 2.0**23
    rebase = (127 - row.bias) << row.mantissa

    def scalar(x: Value) -> Value:
        magnitude = b.pure(f"call float @llvm.fabs.f32(float {x})")
        clamped = b.pure(f"call float @llvm.minnum.f32(float {magnitude}, float {float_literal(row.largest)})")
        bits = b.pure(f"bitcast float {clamped} to i32")
        tie = b.pure(f"and i32 {b.pure(f'lshr i32 {bits}, {drop}')}, 1")
        rounded = b.pure(f"add i32 {b.pure(f'add i32 {bits}, {(1 << (drop - 1)) - 1}')}, {tie}")
        normal = b.pure(f"sub i32 {b.pure(f'lshr i32 {rounded}, {drop}')}, {rebase}")
        shifted = b.pure(f"bitcast float {b.pure(f'fadd float {clamped}, {float_literal(magic)}')} to i32")
        magic_bits = struct.unpack("<I", struct.pack("<f", magic))[0]
        subnormal = b.pure(f"sub i32 {shifted}, {magic_bits}")
        is_normal = b.pure(f"fcmp oge float {clamped}, {float_literal(smallest_normal)}")
        value = b.pure(f"select i1 {is_normal}, i32 {normal}, i32 {subnormal}")
        if row.nan is not None:
            value = b.pure(f"select i1 {b.pure(f'fcmp uno float {x}, 0.0')}, i32 {row.nan}, i32 {value}")
        sign_bit = row.exponent + row.mantissa
        sign = b.pure(f"lshr i32 {_masked(b, x, -2147483648)}, {31 - sign_bit}")
        return b.pure(f"trunc i32 {b.pure(f'or i32 {value}, {sign}')} to i8")

    return scalar


def _f32_to_scale(e: KernelEmitter, mode: str) -> Scalar:
    """The exponent field; rounding up (positive_inf) or to nearest adds one where the mantissa asks for it."""
    b = e.b
    increment = {"zero": 0, "positive_inf": 0x7FFFFF}.get(mode, 0x3FFFFF)
    # 2 ** -127, the smallest scale, is a subnormal number of f32: nothing up to it is raised.
    smallest = 0x400000

    def scalar(x: Value) -> Value:
        bits = b.pure(f"and i32 {b.pure(f'bitcast float {x} to i32')}, 2147483647")
        raised = b.pure(f"lshr i32 {b.pure(f'add i32 {bits}, {increment}')}, 23")
        raised = b.pure(f"select i1 {b.pure(f'icmp ule i32 {bits}, {smallest}')}, i32 0, i32 {raised}")
        finite = b.pure(f"call i32 @llvm.umin.i32(i32 {raised}, i32 254)")
        value = b.pure(f"select i1 {b.pure(f'fcmp uno float {x}, 0.0')}, i32 255, i32 {finite}")
        return b.pure(f"trunc i32 {value} to i8")

    return scalar
