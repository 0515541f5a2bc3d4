"""Conversions between floating-point formats, one element at a time.

A conversion goes over f32 unless LLVM converts in one step: every format here but f64 is exact in f32. The small
formats have hardware conversions on some SMs (``cvt_fp8``); elsewhere integer code rounds to nearest even and
saturates, as ``cvt.rn.satfinite`` does (PTX ISA, section "Data Movement and Conversion Instructions: cvt").
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from ....core.errors import Unsupported
from ....ir.casting import unwrap
from ....ir.dialects.nvvm import arithmetic, target_independent_intrinsics
from ....ir.dialects.nvvm.attrs import RoundingAttr
from ....ir.dialects.nvvm.ops_packed_arith import ConvertFromF32x2Op, ConvertToF16x2Op
from ....target.element_types import ELEMENT_TYPES
from ...common.llvm_type_constructors import BFLOAT, DOUBLE, FLOAT, FLOATS, HALF, I1, I8, I16, I32, vector
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter

Scalar = Callable[[Value], Value]

LLVM_FLOATS = {name: FLOATS[ELEMENT_TYPES[name].register] for name in ("f16", "bf16", "f32", "f64")}
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


# Encoding of NaN by ``cvt`` for types with several. For the type without a sign, the sign bit is cut off.
_NANS = {"f8E5M2": 0x7F}


def _small(name: str) -> SmallFloat:
    form = unwrap(ELEMENT_TYPES[name].format)
    return SmallFloat(name, form.exponent, form.mantissa, form.bias, form.largest, _NANS.get(name, form.nan))


SMALL = {name: _small(name) for name in ("f8E4M3FN", "f8E5M2", "f4E2M1FN", "fnv8E5M3FNU")}
HARDWARE = {name: unwrap(ELEMENT_TYPES[name].ptx) for name in ("f8E4M3FN", "f8E5M2")}
NEAREST = RoundingAttr(StringAttr("rn"))
# Bits of f32: infinity, the canonical NaN, the sign, the tf32 mask, and 2 ** -127, a subnormal number.
INFINITY_BITS, NAN_BITS, SIGN_MASK, TF32_MASK = 0x7F800000, 0x7FC00000, -1 << 31, -1 << 13
SMALLEST_SCALE_BITS = 0x400000
E5M2_INFINITY = 0x7C


def convert_float(e: KernelEmitter, source: str, target: str, mode: str) -> Scalar:
    """The conversion of an element from format ``source`` to ``target`` with rounding ``mode``."""
    if source == target:
        return lambda x: x
    if source in LLVM_FLOATS and target in LLVM_FLOATS:
        return _between_llvm_floats(e.b, source, target, mode)
    widen = _f64_to_odd_f32(e.b) if source == "f64" else _to_f32(e, source)
    narrow = _from_f32(e, target, mode)
    return lambda x: narrow(widen(x))


def _f64_to_odd_f32(b: InstructionBuilder) -> Scalar:
    """f32 rounded to odd: an inexact result has its last bit set, so that rounding it again rounds as if once.

    (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.)
    """

    def scalar(x: Value) -> Value:
        cut = b.issue(arithmetic.DoubleToFloatOp, x, type=FLOAT, rounding="rz")
        inexact = b.compare_floats("une", b.cast("fpext", cut, DOUBLE), x)
        return with_last_bit(b, cut, inexact)

    return scalar


def with_last_bit(b: InstructionBuilder, value: Value, inexact: Value) -> Value:
    """An f32 with its last bit set where it is inexact."""
    return b.bitcast(b.or_(b.bitcast(value, I32), b.cast("zext", inexact, I32)), FLOAT)


def _is_nan(b: InstructionBuilder, x: Value) -> Value:
    return b.compare_floats("uno", x, b.float_constant(0.0, FLOAT))


def _between_llvm_floats(b: InstructionBuilder, source: str, target: str, mode: str) -> Scalar:
    a, z = LLVM_FLOATS[source], LLVM_FLOATS[target]
    if {source, target} == {"f16", "bf16"}:
        narrow = _between_llvm_floats(b, "f32", target, mode)
        return lambda x: narrow(b.cast("fpext", x, FLOAT))
    if z.bitwidth > a.bitwidth:
        return lambda x: b.cast("fpext", x, z)
    if mode in ("nearest_even", "full", "approx"):
        return lambda x: b.cast("fptrunc", x, z)
    return _rounded_narrowing(b, source, target, ROUNDING_SUFFIX[mode])


def _rounded_narrowing(b: InstructionBuilder, source: str, target: str, suffix: str) -> Scalar:
    if (source, target) == ("f64", "bf16"):
        # Rounding twice in one direction is rounding once.
        first, second = (_rounded_narrowing(b, *pair, suffix) for pair in (("f64", "f32"), ("f32", "bf16")))
        return lambda x: second(first(x))
    if target == "bf16" and suffix in ("rm", "rp"):
        return _directed_bf16(b, suffix)
    register = FLOAT if target == "f32" else I16

    def scalar(x: Value) -> Value:
        raw = b.issue(arithmetic.NarrowFloatOp, x, type=register, rounding=suffix, target=target)
        return b.bitcast(raw, LLVM_FLOATS[target])

    return scalar


def _directed_bf16(b: InstructionBuilder, suffix: str) -> Scalar:
    """Round up or down to bf16, for which PTX has no conversion.

    The upper half of the f32, plus one where nonzero bits are cut off on that side of zero.
    """
    away = 0 if suffix == "rp" else 1

    def scalar(x: Value) -> Value:
        bits = b.bitcast(x, I32)
        cut = b.compare("ne", b.and_(bits, 0xFFFF), 0)
        sided = b.compare("eq", b.shift(bits, -31), away)
        number = b.compare_floats("ord", x, b.float_constant(0.0, FLOAT))
        one = b.cast("zext", b.and_(cut, sided, I1), I32)
        upper = b.add(b.shift(bits, -16), one)
        kept = b.select(number, upper, 0x7FFF, I32)
        return b.bitcast(b.cast("trunc", kept, I16), BFLOAT)

    return scalar


# ---- to f32 --------------------------------------------------------------------------------------
def _to_f32(e: KernelEmitter, source: str) -> Scalar:
    if source in ("f32", "tf32"):
        return lambda x: x
    if source in LLVM_FLOATS:
        return _between_llvm_floats(e.b, source, "f32", "nearest_even")
    if source in HARDWARE and "cvt_fp8" in e.target.capabilities:
        return _hardware_fp8_to_f32(e.b, HARDWARE[source])
    if source in SMALL:
        return _small_to_f32(e.b, SMALL[source])
    if source == "f8E8M0FNU":
        return _scale_to_f32(e.b)
    raise Unsupported("float-format", f"no conversion from {source}", remedy="see float_conversions.py")


def _hardware_fp8_to_f32(b: InstructionBuilder, format: str) -> Scalar:
    properties: dict[str, Attribute] = {"srcTy": StringAttr(format)}

    def scalar(x: Value) -> Value:
        pair = b.pure(ConvertToF16x2Op, (b.cast("zext", x, I16, I8),), vector(2, HALF), properties, format)
        return b.cast("fpext", b.element(pair, 0), FLOAT)

    return scalar


def _small_to_f32(b: InstructionBuilder, row: SmallFloat) -> Scalar:
    """The bits moved to the top of an f32's fields, then scaled: subnormals come out right as f32 subnormals do."""
    magnitude = (1 << (row.exponent + row.mantissa)) - 1

    def scalar(x: Value) -> Value:
        wide = b.cast("zext", x, I32, I8)
        low = b.and_(wide, magnitude)
        small = b.bitcast(b.shift(low, 23 - row.mantissa), FLOAT)
        scale = b.float_constant(2.0 ** (127 - row.bias), FLOAT)
        value = b.bitcast(b.binary("fmul", small, scale, FLOAT), I32)
        if row.name == "f8E5M2":
            special = b.compare("uge", low, E5M2_INFINITY)
            value = b.select(special, _special_e5m2(b, low), value, I32)
        elif row.nan is not None:
            value = b.select(b.compare("eq", low, row.nan), NAN_BITS, value, I32)
        sign = b.shift(b.and_(wide, magnitude + 1), 31 - row.exponent - row.mantissa)
        return b.bitcast(b.or_(value, sign), FLOAT)

    return scalar


def _special_e5m2(b: InstructionBuilder, low: Value) -> Value:
    """Map infinity, which has a zero mantissa, and NaN, which becomes canonical."""
    return b.select(b.compare("eq", low, E5M2_INFINITY), INFINITY_BITS, NAN_BITS, I32)


def _scale_to_f32(b: InstructionBuilder) -> Scalar:
    """ue8m0 is a bare exponent: 2 ** (x - 127); 255 is NaN and 0 the subnormal 2 ** -127."""

    def scalar(x: Value) -> Value:
        wide = b.cast("zext", x, I32, I8)
        normal = b.shift(wide, 23)
        value = b.select(b.compare("eq", wide, 0), SMALLEST_SCALE_BITS, normal, I32)
        value = b.select(b.compare("eq", wide, 0xFF), NAN_BITS, value, I32)
        return b.bitcast(value, FLOAT)

    return scalar


# ---- from f32 ------------------------------------------------------------------------------------
def _from_f32(e: KernelEmitter, target: str, mode: str) -> Scalar:
    if target == "f32":
        return lambda x: x
    if target == "tf32":
        return _f32_to_tf32(e, mode)
    if target in LLVM_FLOATS:
        return _between_llvm_floats(e.b, "f32", target, mode)
    if target in HARDWARE and "cvt_fp8" in e.target.capabilities:
        return _hardware_f32_to_fp8(e.b, HARDWARE[target])
    if target in SMALL:
        return _f32_to_small(e.b, SMALL[target])
    if target == "f8E8M0FNU":
        return _f32_to_scale(e.b, mode)
    raise Unsupported("float-format", f"no conversion to {target}", remedy="see float_conversions.py")


def _f32_to_tf32(e: KernelEmitter, mode: str) -> Scalar:
    """tf32 keeps 10 mantissa bits: the low 13 bits of the f32 are rounded away and zero.

    ptxas expands ``cvt.rna`` into integer instructions, and a NaN with a small payload becomes infinity.
    """
    b = e.b
    if mode != "nearest_away" and "cvt_tf32_rn" in e.target.capabilities:
        return _hardware_f32_to_tf32(b, ROUNDING_SUFFIX[mode])

    def rounded(bits: Value) -> Value:
        if mode == "zero":
            return bits
        return b.add(bits, 1 << 12) if mode == "nearest_away" else _half_added(b, bits, 13)

    def scalar(x: Value) -> Value:
        kept = b.bitcast(b.and_(rounded(b.bitcast(x, I32)), TF32_MASK), FLOAT)
        # A NaN keeps its bits: then ptxas predicates the rounding and needs no select.
        return b.select(_is_nan(b, x), x, kept, FLOAT)

    return scalar


def _hardware_f32_to_tf32(b: InstructionBuilder, suffix: str) -> Scalar:
    return lambda x: b.bitcast(b.issue(arithmetic.NarrowFloatOp, x, type=I32, rounding=suffix, target="tf32"), FLOAT)


def _half_added(b: InstructionBuilder, bits: Value, drop: int) -> Value:
    """Add half an ulp of the result, less the tie bit: truncating ``drop`` bits then rounds to nearest even."""
    tie = b.and_(b.shift(bits, -drop), 1)
    return b.add(b.add(bits, (1 << (drop - 1)) - 1), tie)


def _hardware_f32_to_fp8(b: InstructionBuilder, format: str) -> Scalar:
    properties: dict[str, Attribute] = {"dstTy": StringAttr(format), "rnd": NEAREST}

    def scalar(x: Value) -> Value:
        pair = b.pure(ConvertFromF32x2Op, (b.float_constant(0.0, FLOAT), b.of(x, FLOAT)), I16, properties, format)
        return b.cast("trunc", pair, I8)

    return scalar


def _f32_to_small(b: InstructionBuilder, row: SmallFloat) -> Scalar:
    """Round to nearest even and saturate."""
    sign_bit = row.exponent + row.mantissa

    def scalar(x: Value) -> Value:
        magnitude = b.issue(target_independent_intrinsics.FAbsOp, x, type=FLOAT)
        clamped = b.issue(
            target_independent_intrinsics.MinNumOp, magnitude, b.float_constant(row.largest, FLOAT), type=FLOAT
        )
        value = _rounded_small(b, row, clamped)
        if row.nan is not None:
            value = b.select(_is_nan(b, x), row.nan, value, I32)
        sign = b.shift(b.and_(b.bitcast(x, I32), SIGN_MASK), sign_bit - 31)
        return b.cast("trunc", b.or_(value, sign), I8)

    return scalar


def _rounded_small(b: InstructionBuilder, row: SmallFloat, clamped: Value) -> Value:
    """The bits of an f32 magnitude within the range of a small format.

    Normal values: add half an ulp (less the tie bit) to the bits and rebase the exponent.
    Subnormal numbers: adding 2**23 granules makes the f32 adder round to a whole number of granules.
    """
    drop = 23 - row.mantissa
    smallest_normal, magic = 2.0 ** (1 - row.bias), row.granule * 2.0**23
    rounded = _half_added(b, b.bitcast(clamped, I32), drop)
    normal = b.sub(b.shift(rounded, -drop), (127 - row.bias) << row.mantissa)
    shifted = b.bitcast(b.binary("fadd", clamped, b.float_constant(magic, FLOAT), FLOAT), I32)
    subnormal = b.sub(shifted, struct.unpack("<I", struct.pack("<f", magic))[0])
    is_normal = b.compare_floats("oge", clamped, b.float_constant(smallest_normal, FLOAT))
    return b.select(is_normal, normal, subnormal, I32)


def _f32_to_scale(b: InstructionBuilder, mode: str) -> Scalar:
    """The exponent field, plus one where rounding up (positive_inf) or to nearest requires it."""
    increment = {"zero": 0, "positive_inf": 0x7FFFFF}.get(mode, 0x3FFFFF)

    def scalar(x: Value) -> Value:
        bits = b.and_(b.bitcast(x, I32), 0x7FFFFFFF)
        raised = b.shift(b.binary("add", bits, increment, I32), -23)
        # Values up to the smallest scale are not rounded up.
        raised = b.select(b.compare("ule", bits, SMALLEST_SCALE_BITS), 0, raised, I32)
        finite = b.issue(target_independent_intrinsics.UMinOp, raised, 254, type=I32)
        value = b.select(_is_nan(b, x), 0xFF, finite, I32)
        return b.cast("trunc", value, I8)

    return scalar
