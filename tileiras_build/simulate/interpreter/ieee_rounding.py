"""Correctly rounded arithmetic of every float type, in every IEEE rounding mode.

Numbers of at most 24 bits are computed in float64: products and quotients of them round there without harm, and
sums are made harmless by rounding to odd first (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
proved algorithms using rounding to odd", IEEE Transactions on Computers, 2008). float64 itself is computed by NumPy
to nearest and with exact fractions in the other modes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from xdsl.ir import Attribute

from ...ir.dialects.cuda_tile.enums import RoundingMode
from .element_types import F32, F64, FORMATS, Format, from_float64, to_float64

EVEN, ZERO, DOWN, UP = (
    RoundingMode.NEAREST_EVEN,
    RoundingMode.ZERO,
    RoundingMode.NEGATIVE_INF,
    RoundingMode.POSITIVE_INF,
)
AWAY = RoundingMode.NEAREST_AWAY

ROUND_SCALED: dict[RoundingMode, Callable[[np.ndarray], np.ndarray]] = {
    EVEN: np.rint,
    ZERO: np.trunc,
    DOWN: np.floor,
    UP: np.ceil,
    AWAY: lambda scaled: np.copysign(np.floor(np.abs(scaled) + 0.5), scaled),
}


def quantize(values: np.ndarray, form: Format, mode: RoundingMode = EVEN, *, saturate: bool = False) -> np.ndarray:
    """float64 values rounded to what ``form`` can represent, still as float64.

    An overflow gives infinity (or NaN, or the largest value where the type has none of the former); the directed modes
    stop at the largest finite value on their side, ``saturate`` on both.
    """
    exponent = np.maximum(np.frexp(values)[1] - 1, form.min_exponent)
    shift = form.precision - 1 - exponent
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.ldexp(ROUND_SCALED[mode](np.ldexp(values, shift)), -shift)
    rounded = np.where(np.isfinite(values), rounded, values)
    rounded = np.copysign(rounded, values)
    return _handle_overflow(rounded, values, form, mode, saturate)


def _handle_overflow(rounded, values, form: Format, mode: RoundingMode, saturate: bool) -> np.ndarray:
    over = np.abs(rounded) > form.max_value
    if not over.any():
        return rounded
    finite = np.isfinite(values)
    stops = {ZERO: finite, DOWN: finite & (values > 0), UP: finite & (values < 0)}
    clamp = over & (True if saturate or not (form.has_infinity or form.has_nan) else stops.get(mode, False))
    beyond = np.inf if form.has_infinity else np.nan
    rounded = np.where(over & ~clamp, np.copysign(beyond, rounded), rounded)
    return np.where(clamp, np.copysign(form.max_value, rounded), rounded)


def round_to_odd(total: np.ndarray, error: np.ndarray) -> np.ndarray:
    """``total + error`` in float64 with an odd last bit unless exact, where ``total`` is the sum to nearest."""
    bits = np.asarray(total).view(np.int64)
    outward = np.signbit(error) == np.signbit(total)
    odd = np.where(outward, bits + 1, bits - 1)
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error) & (bits & 1 == 0)
    return np.where(inexact, odd, bits).view(np.float64)


def add_to_odd(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x + y in float64, rounded to odd (Knuth's TwoSum gives the error)."""
    total = x + y
    back = total - x
    return round_to_odd(total, (x - (total - back)) + (y - back))


def _signed_zero_sum(total: np.ndarray, mode: RoundingMode, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """IEEE 754: an exact zero sum of opposite signs is -0 when rounding down, else +0."""
    if mode is not DOWN:
        return total
    cancel = (total == 0) & ((np.signbit(x) != np.signbit(y)) | (x != 0))
    return np.where(cancel, -0.0, total)


def flush(values: np.ndarray) -> np.ndarray:
    """float32 denormals as zeros of the same sign (float32 or float64 array)."""
    return np.where(np.abs(values) < 2.0**-126, np.copysign(0, values), values).astype(values.dtype)


def _wide(kind: str, mode: RoundingMode, *values: np.ndarray) -> np.ndarray:
    """A float64 operation: by NumPy to nearest, else by exact fractions."""
    if mode is EVEN and kind in NEAREST:
        return NEAREST[kind](*values)
    arrays = np.broadcast_arrays(*values)
    flat = [_exact(kind, mode, *map(float, row)) for row in zip(*(array.ravel() for array in arrays))]
    return np.array(flat, np.float64).reshape(arrays[0].shape)


NEAREST = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt}
EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z,
}
SPECIAL = NEAREST | {"fma": lambda x, y, z: x * y + z}


def _exact(kind: str, mode: RoundingMode, *values: float) -> float:
    finite = all(map(math.isfinite, values))
    if not finite or (kind == "div" and values[1] == 0) or (kind == "sqrt" and values[0] <= 0):
        return float(SPECIAL[kind](*map(np.float64, values)))
    if kind == "sqrt":
        return _exact_sqrt(Fraction(values[0]), mode)
    exact = EXACT[kind](*map(Fraction, values))
    if exact == 0:
        return _exact_zero(kind, mode, values)
    return round_fraction(exact, mode)


def _exact_zero(kind: str, mode: RoundingMode, values: tuple[float, ...]) -> float:
    if kind in ("mul", "div"):
        return float(SPECIAL[kind](*map(np.float64, values)))
    first = values[0] * values[1] if kind == "fma" else values[0]
    if kind == "fma" and values[0] and values[1]:
        first = math.copysign(1, values[0]) * math.copysign(1, values[1])  # the product may underflow
    second = -values[1] if kind == "sub" else values[-1]
    signs = {math.copysign(1, first), math.copysign(1, second)}
    return math.copysign(0, signs.pop()) if len(signs) == 1 else (-0.0 if mode is DOWN else 0.0)


def _exact_sqrt(value: Fraction, mode: RoundingMode) -> float:
    """The root with 2^-1200 of error at most, which no float64 other than an exact root is as close to."""
    scale = 1 << 2400
    root = math.isqrt(value.numerator * scale // value.denominator)
    exact = root * root * value.denominator == value.numerator * scale
    return round_fraction(Fraction(2 * root + (not exact), 1 << 1201), mode)


def round_fraction(exact: Fraction, mode: RoundingMode) -> float:
    """A non-zero fraction rounded to float64."""
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, -1022) - 52)
    below, rest = divmod(magnitude, unit)
    negative = exact < 0
    half = unit / 2
    up = {
        EVEN: rest > half or (rest == half and below & 1),
        ZERO: False,
        DOWN: bool(rest) and negative,
        UP: bool(rest) and not negative,
    }[mode]
    rounded = (below + bool(up)) * unit
    if rounded >= Fraction(2) ** 1024:
        away = mode is EVEN or (mode is DOWN and negative) or (mode is UP and not negative)
        return math.copysign(math.inf if away else FORMATS[F64].max_value, -1 if negative else 1)
    return -float(rounded) if negative else float(rounded)


def _narrow_fma(mode: RoundingMode, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    product = x * y  # exact: 24 bits each
    return _signed_zero_sum(add_to_odd(product, z), mode, product, z)


NARROW: dict[str, Callable[..., np.ndarray]] = {
    "add": lambda mode, x, y: _signed_zero_sum(add_to_odd(x, y), mode, x, y),
    "sub": lambda mode, x, y: _signed_zero_sum(add_to_odd(x, -y), mode, x, -y),
    "mul": lambda mode, x, y: x * y,
    "div": lambda mode, x, y: x / y,
    "sqrt": lambda mode, x: np.sqrt(x),
    "fma": _narrow_fma,
}


def compute(kind: str, element_type: Attribute, mode: RoundingMode, flush_to_zero: bool, *values: np.ndarray):
    """``kind`` in "add", "sub", "mul", "div", "sqrt", "fma" of held floats, correctly rounded."""
    with np.errstate(all="ignore"):
        if element_type == F64:
            return _wide(kind, mode, *values)
        wide = [to_float64(value, element_type) for value in values]
        if flush_to_zero and element_type == F32:
            wide = [flush(value) for value in wide]
        exact = NARROW[kind](mode, *wide)
        rounded = from_float64(quantize(exact, FORMATS[element_type], mode), element_type)
        return flush(rounded) if flush_to_zero and element_type == F32 else rounded
