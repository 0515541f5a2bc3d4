"""Conversions between element types, and between values and their bytes."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute

from ...ir.dialects.cuda_tile.element_types import BITS
from ...ir.dialects.cuda_tile.enums import Signedness
from ...ir.dialects.cuda_tile.ops_conversion import (
    BitcastOp,
    ExtIOp,
    FToFOp,
    FToIOp,
    IntToPtrOp,
    IToFOp,
    PackOp,
    PtrToIntOp,
    PtrToPtrOp,
    TruncIOp,
    UnpackOp,
)
from ...ir.dialects.cuda_tile.ops_shape import OffsetOp
from .element_types import (
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F8E8M0,
    F64,
    FNV8,
    FORMATS,
    element_of,
    from_bit_patterns,
    from_float64,
    from_value_bits,
    pointee_of,
    storage_bits,
    to_bit_patterns,
    to_float64,
    unsigned_dtype,
    value_bits,
)
from .ieee_rounding import add_to_odd, quantize
from .integer_ops import OVERFLOW_FLAGS, to_int64, wrap
from .interpreter_errors import make_fault
from .randomize_unspecified_values import ulp_of
from .tile_block_interpreter import Frame, handles

SIGNED = Signedness.SIGNED
# The narrow types saturate, as the PTX conversions to them do (PTX ISA, "cvt": .satfinite is their only form).
SATURATING = {F8E4M3, F8E5M2, F8E8M0, F4E2M1, FNV8}


def _types(op) -> tuple[Attribute, Attribute]:
    return element_of(op.operands[0]), element_of(op.results[0])


@handles(BitcastOp)
def bitcast(frame: Frame, op: BitcastOp):
    before, after = _types(op)
    return from_value_bits(value_bits(frame.get(op.source), before), after)


@handles(PtrToPtrOp)
def retype_pointer(frame: Frame, op):
    return frame.operands(op)[0]


@handles(PtrToIntOp)
def pointer_to_integer(frame: Frame, op):
    return np.asarray(frame.operands(op)[0]).view(np.int64)


@handles(IntToPtrOp)
def integer_to_pointer(frame: Frame, op):
    return np.asarray(frame.operands(op)[0]).view(np.uint64)


@handles(OffsetOp)
def offset(frame: Frame, op: OffsetOp):
    pointer, count = frame.operands(op)
    bits = storage_bits(pointee_of(op.ptr))
    steps = to_int64(count, element_of(op.offset), True) * np.int64(bits)
    if np.any(steps & 7):
        raise make_fault(
            op,
            "inside-byte",
            f"{count} elements of {bits} bits are not a whole number of bytes",
            remedy="advance by an even number of elements",
        )
    return pointer + (steps >> 3).view(np.uint64)


@handles(ExtIOp)
def extend(frame: Frame, op: ExtIOp):
    before, after = _types(op)
    return wrap(to_int64(frame.get(op.from_), before, op.signedness.data is SIGNED), after)


@handles(TruncIOp)
def truncate(frame: Frame, op: TruncIOp):
    before, after = _types(op)
    source = frame.get(op.from_)
    result = wrap(to_int64(source, before, False), after)
    for signed in OVERFLOW_FLAGS[op.overflow.data]:
        lost = to_int64(result, after, signed) != to_int64(source, before, signed)
        result = frame.choice.fill_unspecified(result, lost)
    return result


@handles(IToFOp)
def integer_to_float(frame: Frame, op: IToFOp):
    before, after = _types(op)
    number = np.asarray(to_int64(frame.get(op.from_), before, op.signedness.data is SIGNED))
    upper, lower = number >> number.dtype.type(32), number & number.dtype.type(0xFFFFFFFF)
    high, low = upper.astype(np.float64) * 2.0**32, lower.astype(np.float64)
    if after == F64:
        return high + low
    exact = add_to_odd(high, low)
    if after in SATURATING:  # specified as infinity or NaN, which the type lacks; the hardware saturates
        rounded = quantize(exact, FORMATS[after], saturate=True)
        return frame.choice.fill_unspecified(from_float64(rounded, after), np.abs(exact) > FORMATS[after].max_value)
    return from_float64(quantize(exact, FORMATS[after]), after)


@handles(FToIOp)
def float_to_integer(frame: Frame, op: FToIOp):
    """Toward zero; NaN and out-of-range values are unspecified, or clamped if saturating.

    To i1: whether the number differs from zero, which cuTile's front end relies on (its ``astype(bool_)``).
    """
    before, after = _types(op)
    if BITS[after] == 1:
        return to_float64(frame.get(op.from_), before) != 0
    signed, bits = op.signedness.data is SIGNED, BITS[after]
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if signed else (0.0, 2.0**bits)
    whole = np.trunc(to_float64(frame.get(op.from_), before))
    under, over, unordered = whole < low, whole >= high, np.isnan(whole)
    outside = under | over | unordered
    fits = np.where(outside, 0.0, whole)
    result = fits.astype(np.int64 if signed else np.uint64)
    if "saturating" in op.properties:
        result = frame.choice.fill_unspecified(result, unordered)
        result = np.where(under, result.dtype.type(int(low)), result)
        result = np.where(over, result.dtype.type(int(high) - 1), result)
        return wrap(result, after)
    return frame.choice.fill_unspecified(wrap(result, after), outside)


@handles(FToFOp)
def float_to_float(frame: Frame, op: FToFOp):
    before, after = _types(op)
    wide, form, mode = to_float64(frame.get(op.from_), before), FORMATS[after], op.rounding_mode.data
    if after == F64:
        return wide
    saturate = after in SATURATING
    rounded = quantize(
        np.where(np.isinf(wide) & saturate, np.copysign(2.0**200, wide), wide), form, mode, saturate=saturate
    )
    if after == F8E8M0:  # it has no zero: the smallest power of two replaces it
        rounded = np.where(np.abs(rounded) < 2.0**-127, 2.0**-127, rounded)
    if frame.is_inexact(op.from_):  # an earlier error can change the rounding
        rounded = frame.choice.perturb(rounded, np.where(rounded == wide, 0, ulp_of(rounded, form)), after)
    result = from_float64(rounded, after)
    open_ = np.isnan(wide) if not form.has_nan else np.zeros(np.shape(wide), bool)
    if not form.signed:
        open_ = open_ | (np.signbit(wide) & ~np.isnan(wide))
    return frame.choice.fill_unspecified(result, open_)


def to_bytes(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """A one-dimensional tile as its bytes, low elements and low bits first."""
    if BITS[element_type] == 1:
        return np.packbits(values, bitorder="little")
    words = np.ascontiguousarray(to_bit_patterns(values, element_type))
    if BITS[element_type] == 4:
        return words[0::2] | words[1::2] << 4
    return words.view(np.uint8)


def from_bytes(data: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The one-dimensional tile in bytes; see ``to_bytes``."""
    if BITS[element_type] == 1:
        return np.unpackbits(data, bitorder="little").astype(bool)
    if BITS[element_type] == 4:
        return from_bit_patterns(np.stack([data & 15, data >> 4], 1).reshape(-1).astype(np.uint8), element_type)
    return from_bit_patterns(
        np.ascontiguousarray(data).view(unsigned_dtype(storage_bits(element_type) // 8)), element_type
    )


@handles(PackOp)
def pack(frame: Frame, op: PackOp):
    return to_bytes(frame.get(op.source), element_of(op.source)).view(np.int8)


@handles(UnpackOp)
def unpack(frame: Frame, op: UnpackOp):
    return from_bytes(np.ascontiguousarray(frame.get(op.source)).view(np.uint8), element_of(op.result))
