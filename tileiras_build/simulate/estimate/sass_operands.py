"""Parses the operands of SASS instructions as nvdisasm prints them.

The forms: registers ``R2``, ``UR4``, ``P0``, ``UP1`` (``RZ``, ``URZ``, ``PT`` and ``UPT`` are constant), signs ``-``, ``~``, ``!``
and absolute-value bars before them, suffixes (``R2.64``, ``R3.H1_H1``), immediates, constants of a bank
``c[0x0][0x160]`` and ``c[0x0][R2+0x10]``, memory operands ``[R2.64+0x10]`` and ``desc[UR4][R2.64]``, special registers ``SR_TID.X``,
labels `` `(.L_x_1)``.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from functools import lru_cache

ZERO = 255  # the number of RZ and URZ
TRUE = 7  # the number of PT and UPT

REGISTER, UNIFORM, PREDICATE, UNIFORM_PREDICATE = "register", "uniform", "predicate", "uniform predicate"
PROGRAM_COUNTER = "program counter"  # of returns: two words
NUMBER, CONSTANT, MEMORY, SPECIAL, LABEL, OTHER = "number", "constant", "memory", "special", "label", "other"

_NAMED = re.compile(r"^(U?)(R|P)(\d+|Z|T)((?:\.\w+)*)$")
_PROGRAM_COUNTER = {"Rpc.LO": 0, "Rpc.HI": 1}
_CONSTANT = re.compile(r"^cx?\[([^\]]+)\]\[([^\]]*)\]((?:\.\w+)*)$")
_MEMORY = re.compile(r"^(\w*)(?:\[([^\]]*)\])?\[([^\]]*)\]((?:\.\w+)*)$")
_INTEGER = re.compile(r"^-?0x[0-9a-f]+$")  # nvdisasm prints integers in hexadecimal, and floats in decimal
_FLOAT = re.compile(r"^-?\d+\.?\d*(e[+-]?\d+)?$|^[+-](INF|QNAN|SNAN)$")
_SPLIT = re.compile(r",(?![^\[({]*[\])}])")


@dataclass(frozen=True)
class Operand:
    """One operand.

    ``number``: of a register; the value of an immediate, as 32 bits for a float; the offset added to ``parts``, the
    registers of an address. ``text`` is the name of a special register or label, or the address space before a bracket
    ("gdesc", "tmem", …); ``bank`` is the bank of a constant. ``selected`` are the suffixes.
    """

    kind: str
    number: int = 0
    negated: bool = False
    inverted: bool = False
    absolute: bool = False
    selected: tuple[str, ...] = ()
    parts: tuple[Operand, ...] = ()
    text: str = ""
    bank: Operand | None = None

    @property
    def is_register(self) -> bool:
        """Whether it is a register of a thread or a uniform one."""
        return self.kind in (REGISTER, UNIFORM, PROGRAM_COUNTER)

    @property
    def is_predicate(self) -> bool:
        """Whether it is a predicate of a thread or a uniform one."""
        return self.kind in (PREDICATE, UNIFORM_PREDICATE)


def read_operands(text: str) -> tuple[Operand, ...]:
    """The operands after a mnemonic; commas in brackets do not separate operands."""
    return tuple(read_operand(part.strip()) for part in _SPLIT.split(text) if part.strip())


@lru_cache(maxsize=65536)
def read_operand(text: str) -> Operand:
    """One operand; an unknown form is an ``OTHER``."""
    bare = text.lstrip("-~!|+")
    signs = text[: len(text) - len(bare)]
    bare = bare.replace("|", "")
    if not signs.strip("+-") and (number := _number(text)) is not None:
        return Operand(NUMBER, number)
    inverted = "~" in signs or "!" in signs
    return replace(_plain(bare), negated="-" in signs, inverted=inverted, absolute="|" in text)


def _plain(text: str) -> Operand:
    """An operand without signs."""
    if named := _NAMED.match(text):
        kind = {"R": REGISTER, "P": PREDICATE, "UR": UNIFORM, "UP": UNIFORM_PREDICATE}[named[1] + named[2]]
        number = {"Z": ZERO, "T": TRUE}.get(named[3])
        return Operand(kind, int(named[3]) if number is None else number, selected=_points(named[4]))
    if text in _PROGRAM_COUNTER:
        return Operand(PROGRAM_COUNTER, _PROGRAM_COUNTER[text])
    if constant := _CONSTANT.match(text):
        parts, offset = _address(constant[2])
        bank = read_operand(constant[1])
        return Operand(CONSTANT, offset, selected=_points(constant[3]), parts=parts, bank=bank)
    if memory := _MEMORY.match(text):
        parts, offset = _address(memory[3])
        return Operand(MEMORY, offset, selected=_points(memory[4]), parts=parts, text=memory[1])
    if text.startswith("SR"):
        return Operand(SPECIAL, text=text)
    return Operand(LABEL if text.startswith("`") else OTHER, text=text.strip("`()"))


def _address(text: str) -> tuple[tuple[Operand, ...], int]:
    """The registers of an address expression, and its constant offset."""
    terms = [read_operand(term) for term in re.sub(r"(?<=.)-0x", "+-0x", text).split("+") if term]
    offset = sum(term.number for term in terms if term.kind == NUMBER)
    return tuple(term for term in terms if term.kind != NUMBER), offset


def _points(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(".") if part and part != "reuse")


def _number(text: str) -> int | None:
    if _INTEGER.match(text):
        return int(text, 0)
    if not _FLOAT.match(text):
        return None
    value = float(text.replace("QNAN", "nan").replace("SNAN", "nan"))
    # An immediate out of the range of f32 is the upper word of a double.
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return struct.unpack("<Q", struct.pack("<d", value))[0] >> 32
