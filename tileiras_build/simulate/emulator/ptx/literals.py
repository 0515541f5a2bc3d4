"""Literals of PTX (PTX ISA 9.0, section 4.5): 64-bit integers, and floats in decimal or as hexadecimal bits.

All functions raise ValueError with a message for invalid text.
"""

from __future__ import annotations

import re
import struct

from .ast import Immediate

_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"0([fFdD])([0-9a-fA-F]+)")
_DIGITS = {"f": (8, "f32"), "d": (16, "f64")}
_MAX_DIGITS = 80  # more than a 64-bit integer has in binary
_BASES = {"0x": 16, "0b": 2}


def integer(text: str) -> int:
    """A signed or unsigned integer that fits into 64 bits."""
    found = _INTEGER.fullmatch(text)
    if found is None or len(text) > _MAX_DIGITS:
        raise ValueError(f"cannot read the number {text[:40]!r}")
    digits = found[2]
    base = _BASES.get(digits[:2].lower(), 8 if digits[0] == "0" else 10)
    value = int(digits, base) * (-1 if found[1] == "-" else 1)
    if not -(1 << 63) <= value < 1 << 64:
        raise ValueError(f"the number {text!r} does not fit 64 bits")
    return value


def count(text: str, maximum: int) -> int:
    """A count of at most ``maximum``."""
    value = integer(text.strip())
    if not 0 <= value <= maximum:
        raise ValueError(f"{text.strip()} exceeds the maximum of {maximum}")
    return value


def number(text: str) -> Immediate:
    """An immediate operand, which starts with a digit or a sign."""
    if found := _HEXADECIMAL.fullmatch(text):
        digits, kind = _DIGITS[found[1].lower()]
        if len(found[2]) != digits:
            raise ValueError(f"the number {text[:40]!r} needs {digits} digits")
        return Immediate(kind, int(found[2], 16))
    if not _FLOAT.fullmatch(text) or _INTEGER.fullmatch(text):
        return Immediate("int", integer(text))
    return Immediate("f64", struct.unpack("<Q", struct.pack("<d", float(text)))[0])


def scalar_bytes(text: str, type_: str, width: int) -> bytes:
    """The bytes of an element of an initializer."""
    found = number(text)
    if type_ == "f32" and found.type == "f64":
        value = struct.unpack("<d", struct.pack("<Q", found.value))[0]
        try:
            return struct.pack("<f", value)
        except OverflowError:
            raise ValueError(f"the number {text[:40]!r} does not fit f32") from None
    if type_ in ("f32", "f64") and found.type == "int":
        return struct.pack("<f" if type_ == "f32" else "<d", float(found.value))
    return (found.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
