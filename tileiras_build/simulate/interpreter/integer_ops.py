"""Integer arithmetic: two's complement of the element's width, signed or unsigned as the operation specifies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from ...ir.dialects.cuda_tile.element_types import BITS
from ...ir.dialects.cuda_tile.enums import ComparisonPredicate, IntegerOverflow, RoundingMode, Signedness
from ...ir.dialects.cuda_tile.op_base import TileOperation
from ...ir.dialects.cuda_tile.ops_integer import (
    AbsIOp,
    AddIOp,
    AndIOp,
    CmpIOp,
    DivIOp,
    MaxIOp,
    MinIOp,
    MulhiIOp,
    MulIOp,
    NegIOp,
    OrIOp,
    RemIOp,
    ShLIOp,
    ShRIOp,
    SubIOp,
    XOrIOp,
)
from .element_types import element_of, from_value_bits, value_bits
from .tile_block_interpreter import Frame, handles

SIGNED = Signedness.SIGNED


def to_int64(values: np.ndarray, element_type: Attribute, signed: bool) -> np.ndarray:
    """The values as int64 (signed) or uint64 (unsigned); the only bit of i1 is its sign bit."""
    bits = BITS[element_type]
    words = value_bits(np.asarray(values), element_type)
    if bits < 64:
        words = words & np.uint64((1 << bits) - 1)
    if not signed:
        return words
    shift = np.int64(64 - bits)
    return (words.view(np.int64) << shift) >> shift


def wrap(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """Integers of an element type: the lowest bits of int64 or uint64 values."""
    bits = BITS[element_type]
    words = np.asarray(values).astype(np.uint64) if np.asarray(values).dtype != np.int64 else values.view(np.uint64)
    return from_value_bits(words & np.uint64((1 << bits) - 1), element_type)


def to_python(value: np.ndarray, element_type: Attribute, signed: bool) -> int:
    """A scalar integer as a Python int."""
    return int(to_int64(value, element_type, signed))


def element(op) -> Attribute:
    return element_of(op.operands[0])


def integer_operands(frame: Frame, op, signed: bool) -> list[np.ndarray]:
    """The operands as int64 or uint64."""
    return [np.asarray(to_int64(value, element(op), signed)) for value in frame.operands(op)]


def _is_signed(op) -> bool:
    return op.signedness.data is SIGNED


# Whether an operation's exact result overflows, computed with Python integers for these operations only.
def _overflows(op, exact: Callable, operands: list[np.ndarray], signed: bool) -> np.ndarray:
    bits = BITS[element(op)]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    result = exact(*(operand.astype(object) for operand in operands))
    return np.asarray((np.asarray(result) < low) | (np.asarray(result) > high), bool)


OVERFLOW_FLAGS = {
    IntegerOverflow.NONE: (),
    IntegerOverflow.NSW: (True,),
    IntegerOverflow.NUW: (False,),
    IntegerOverflow.NW: (True, False),
}
WRAPPING: dict[type, Callable] = {
    AddIOp: lambda x, y: x + y,
    SubIOp: lambda x, y: x - y,
    MulIOp: lambda x, y: x * y,
    NegIOp: lambda x: -x,
}


@handles(*WRAPPING)
def wrapping_op(frame: Frame, op):
    """Addition and similar operations modulo 2^bits; overflow despite an overflow flag makes the element unspecified."""
    exact = WRAPPING[type(op)]
    result = wrap(exact(*integer_operands(frame, op, True)), element(op))
    for signed in OVERFLOW_FLAGS[op.overflow.data]:
        if type(op) is NegIOp and not signed:
            continue
        result = frame.choice.fill_unspecified(
            result, _overflows(op, exact, integer_operands(frame, op, signed), signed)
        )
    return result


BITWISE = {AndIOp: np.bitwise_and, OrIOp: np.bitwise_or, XOrIOp: np.bitwise_xor}


@handles(*BITWISE)
def bitwise(frame: Frame, op):
    return wrap(BITWISE[type(op)](*integer_operands(frame, op, False)), element(op))


@handles(AbsIOp)
def absolute(frame: Frame, op):
    return wrap(np.abs(integer_operands(frame, op, True)[0]), element(op))


@handles(MulhiIOp)
def multiply_high(frame: Frame, op):
    x, y = integer_operands(frame, op, False)
    bits = BITS[element(op)]
    if bits < 64:
        return wrap((x * y) >> np.uint64(bits), element(op))
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    middle = (x >> half) * (y & low) + ((x & low) * (y & low) >> half)
    other = (x & low) * (y >> half) + (middle & low)
    return wrap((x >> half) * (y >> half) + (middle >> half) + (other >> half), element(op))


EXTREMA = {MaxIOp: np.maximum, MinIOp: np.minimum}


@handles(*EXTREMA)
def extremum(frame: Frame, op):
    return wrap(EXTREMA[type(op)](*integer_operands(frame, op, _is_signed(op))), element(op))


COMPARISONS = {
    ComparisonPredicate.EQUAL: np.equal,
    ComparisonPredicate.NOT_EQUAL: np.not_equal,
    ComparisonPredicate.LESS_THAN: np.less,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: np.less_equal,
    ComparisonPredicate.GREATER_THAN: np.greater,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: np.greater_equal,
}


@handles(CmpIOp)
def compare(frame: Frame, op):
    return np.asarray(COMPARISONS[op.comparison_predicate.data](*integer_operands(frame, op, _is_signed(op))))


def _divide_magnitudes(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Quotient and remainder of the magnitudes as uint64, whether the quotient is negative, where y is zero."""
    zero = y == 0
    negative = (x < 0) != (y < 0)
    words = [value.astype(np.uint64) for value in (x, y)]
    large, small = (np.where(value < 0, np.uint64(0) - word, word) for value, word in zip((x, y), words))
    small = np.where(zero, np.uint64(1), small)
    return large // small, large % small, negative, zero


@handles(DivIOp)
def divide(frame: Frame, op: DivIOp):
    signed, bits = _is_signed(op), BITS[element(op)]
    x, y = integer_operands(frame, op, signed)
    quotient, rest, negative, undefined = _divide_magnitudes(x, y)
    up = {RoundingMode.ZERO: False, RoundingMode.POSITIVE_INF: ~negative, RoundingMode.NEGATIVE_INF: negative}
    quotient = quotient + ((rest != 0) & up[op.rounding.data]).astype(np.uint64)
    result = np.where(negative, np.uint64(0) - quotient, quotient)
    if signed:
        undefined = undefined | ((x == -(1 << bits - 1)) & (y == -1))
    return frame.choice.fill_unspecified(wrap(result, element(op)), undefined)


@handles(RemIOp)
def remainder(frame: Frame, op: TileOperation):
    signed = _is_signed(op)
    x, y = integer_operands(frame, op, signed)
    _, rest, _, undefined = _divide_magnitudes(x, y)
    if signed:  # the minimum divided by -1: the quotient overflows
        undefined = undefined | ((x == -(1 << BITS[element(op)] - 1)) & (y == -1))
    return frame.choice.fill_unspecified(wrap(np.where(x < 0, np.uint64(0) - rest, rest), element(op)), undefined)


@handles(ShLIOp)
def shift_left(frame: Frame, op: Any):
    x, amount = integer_operands(frame, op, False)
    bits = BITS[element(op)]
    beyond = amount >= bits
    amount = np.where(beyond, np.uint64(0), amount)
    result = wrap(x << amount, element(op))
    for signed in OVERFLOW_FLAGS[op.overflow.data]:
        number = integer_operands(frame, op, signed)[0]
        back = to_int64(result, element(op), signed) >> amount.astype(number.dtype)
        beyond = beyond | (back != number)
    return frame.choice.fill_unspecified(result, beyond)


@handles(ShRIOp)
def shift_right(frame: Frame, op: TileOperation):
    x = integer_operands(frame, op, _is_signed(op))[0]
    amount = integer_operands(frame, op, False)[1]
    beyond = amount >= BITS[element(op)]
    amount = np.where(beyond, np.uint64(0), amount)
    return frame.choice.fill_unspecified(wrap(x >> amount.astype(x.dtype), element(op)), beyond)
