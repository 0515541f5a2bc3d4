"""Floating-point literals in the text form that LLVM and MLIR print (llvm::APFloat::toString).

MLIR prints six significant digits if they read back as the same value, else enough digits for the format,
else the bits in hexadecimal.
"""

from __future__ import annotations

import math
from fractions import Fraction

from xdsl.ir import Attribute

from tileiras_build.ir.bytecode.float_bits import float_bits, float_value
from tileiras_build.ir.dialects.cuda_tile.attrs import DTYPE_NAMES
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS, BY_NAME
from tileiras_build.target.element_types import ELEMENT_TYPES

SHORT_DIGITS = 6
MAX_PADDING = 3  # zeros of padding in the long form; more need an exponent
# Bits of the significand, including the implicit one.
PRECISION = {type: form.precision for name, type in BY_NAME.items() if (form := ELEMENT_TYPES[name].format) is not None}


def _decimal(value: float, digits: int) -> tuple[str, int]:
    """The first ``digits`` decimal digits of a positive value and the exponent of the last: "15", -1 is 1.5."""
    fraction = Fraction(value)
    twos = fraction.denominator.bit_length() - 1
    significand, exponent = fraction.numerator * 5**twos, -twos
    # APFloat drops digits in bulk before it rounds, so a tie may go down.
    surplus = (significand.bit_length() - (digits * 196 + 58) // 59) * 59 // 196
    if surplus > 0:
        significand //= 10**surplus
        exponent += surplus
    text = str(significand)
    if len(text) > digits:
        exponent += len(text) - digits
        text = str(int(text[:digits]) + (text[digits] >= "5"))
    stripped = text.rstrip("0")
    return stripped, exponent + len(text) - len(stripped)


def _exponent_form(value: float) -> str:
    digits, exponent = _decimal(value, SHORT_DIGITS)
    exponent += len(digits) - 1
    return f"{digits[0]}.{digits[1:]:0<{SHORT_DIGITS}}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _long_form(value: float, type: Attribute) -> str | None:
    """Enough digits for the format; None for an integer, which would not read back as a float."""
    digits, exponent = _decimal(value, 2 + PRECISION[type] * 59 // 196)
    leading = exponent + len(digits) - 1
    scientific = exponent > MAX_PADDING if exponent >= 0 else leading < -MAX_PADDING
    if exponent >= 0 and len(digits) + exponent > 2 + PRECISION[type] * 59 // 196:
        scientific = True
    if scientific:
        return f"{digits[0]}.{digits[1:] or '0'}E{'-' if leading < 0 else '+'}{abs(leading)}"
    if exponent >= 0:
        return None
    if leading < 0:
        return "0." + digits.rjust(-exponent, "0")
    return f"{digits[: leading + 1]}.{digits[leading + 1 :]}"


def float_text(bits: int, type: Attribute) -> str:
    """The literal of a bit pattern of a float type."""
    bits &= (1 << BITS[type]) - 1
    if type not in DTYPE_NAMES:
        return f"0x{bits:X}"
    value = float_value(bits, type)
    if not math.isfinite(value):
        return f"0x{bits:X}"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0.000000e+00"
    short = sign + _exponent_form(abs(value))
    if float_bits(float(short), type) == bits:
        return short
    long = _long_form(abs(value), type)
    return f"0x{bits:X}" if long is None else sign + long
