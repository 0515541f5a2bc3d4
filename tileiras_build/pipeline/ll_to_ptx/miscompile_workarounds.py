"""Replace instructions that LLVM's back end, or libNVVM, miscompile by equivalent ones.

| instruction                         | its miscompilation (LLVM 22)                                           |
|-------------------------------------|------------------------------------------------------------------------|
| ``frem``                            | x - trunc(x / y) * y, wrong for a large quotient                       |
| ``fptosi``, ``fptoui`` to ``i1``    | a comparison with 0                                                    |
| ``sitofp i1`` to ``bfloat``         | 1 instead of -1                                                        |
| ``sitofp``, ``uitofp`` to ``bfloat``| through f32, rounded twice, on GPUs without this conversion            |
| ``llvm.ssub.sat.i16``               | ptxas negates in 32 bits what was compared in 16                       |

A module without any of these is unchanged; any other module is printed by LLVM and rewritten instruction by
instruction. Instructions that may be approximate (``afn``) are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ...target.targets import Target
from .frem_expansion import REMAINDERS, definition

NATIVE_BFLOAT = "bf16_native"  # includes conversions from integers
# Substrings without which a module need not be parsed.
_CANDIDATE = re.compile(
    r"\bfrem\b|\bfpto[su]i\b[^\n]*\bi1\b|\b[su]itofp\b[^\n]*\bbfloat\b|@llvm\.ssub\.sat\.(?:v\d+)?i16\b"
)
_MARKS = ("frem", "fpto", "itofp", "ssub.sat")
_NAME = r'%(?:[\w.$-]+|"[^"]*")'
_INSTRUCTION = re.compile(rf"^  ({_NAME}) = (frem|[su]itofp|fpto[su]i) (.*)$")
_CALL = re.compile(
    rf"^  ({_NAME}) = (?:\w+ )*?call [^@\n]*@llvm\.(ssub\.sat)\.(?:v\d+)?i16\((.*?)\)(?: #\d+)?((?:, ![^\n]*)?)$"
)
_TYPE = re.compile(r"(?:<(\d+) x (\w+)>|(\w+)) ")
_FLAG = re.compile(r"(nneg|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) ")
_APPROXIMATE = {"afn", "fast"}
LONG = "i64"
FLOAT_BITS, DOUBLE_BITS = 24, 53  # of an integer that the type holds exactly
_HALVES = ("half", "bfloat")


@dataclass
class _Instruction:
    """One instruction of the printed module, and the lines that replace it."""

    name: str
    flags: set[str]
    type: str  # element type of its operands
    count: int  # number of elements, 0 for a scalar
    operands: list[str]
    result: str  # element type of the result of a conversion
    tail: str  # its metadata
    number: int
    lines: list[str] = field(default_factory=list)

    def whole(self, element: str) -> str:
        """The vector type of ``element`` with the instruction's number of elements; ``element`` for a scalar."""
        return f"<{self.count} x {element}>" if self.count else element

    def constant(self, element: str, value: str) -> str:
        """A constant of that type, without the type."""
        return f"splat ({element} {value})" if self.count else value

    def add(self, text: str, last: bool = False) -> str:
        """Append a line; its value gets the instruction's name if it is the last one."""
        name = self.name if last else f"%tileiras.mended.{self.number}.{len(self.lines)}"
        self.lines.append(f"  {name} = {text}{self.tail}")
        return name


Workaround = Callable[[_Instruction, Target], bool]


def with_workarounds(text: str, target: Target, canonical: Callable[[str], str]) -> str:
    """Replace miscompiled instructions of a module; ``canonical`` returns the text as LLVM prints it."""
    if not any(mark in text for mark in _MARKS) or _CANDIDATE.search(text) is None:
        return text
    lines, needed = [], set()
    for number, line in enumerate(canonical(text).splitlines()):
        instruction = _read(line, number)
        if instruction is None or not _WORKAROUNDS[instruction[0]](instruction[1], target):
            lines.append(line)
            continue
        lines += instruction[1].lines
        needed |= {kind for kind in REMAINDERS if any(f"@{REMAINDERS[kind]}(" in one for one in instruction[1].lines)}
    return "\n".join([*lines, *map(definition, sorted(needed))]) + "\n"


def _read(line: str, number: int) -> tuple[str, _Instruction] | None:
    """The instruction on a line, if it may need a workaround."""
    if (match := _INSTRUCTION.match(line)) is not None:
        name, kind, rest = match.groups()
        parts = _parts(rest)
        flags = set()
        while (flag := _FLAG.match(parts[0])) is not None:
            flags.add(flag[1])
            parts[0] = parts[0][flag.end() :]
        operands = [part for part in parts if not part.startswith("!")]
    elif (match := _CALL.match(line)) is not None:
        name, kind, rest, tail = match.groups()
        flags, operands, parts = set(), _parts(rest), _parts(tail.removeprefix(", ")) if tail else []
        operands[1] = _TYPE.sub("", operands[1], count=1)
    else:
        return None
    type = _TYPE.match(operands[0])
    if type is None:
        return None
    operands[0], _, to = operands[0][type.end() :].partition(" to ")
    tail = "".join(f", {part}" for part in parts if part.startswith("!dbg"))
    element = type[2] or type[3]
    made = _Instruction(name, flags, element, int(type[1] or 0), operands, to.strip("<>").split(" ")[-1], tail, number)
    return kind, made


def _parts(text: str) -> list[str]:
    """The parts between commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += letter in "<([{"
        depth -= letter in ">)]}"
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


# Replacements ---------------------------------------------------------------------------------------------------------


def _remainder(op: _Instruction, target: Target) -> bool:
    """A call of C's fmod for each element; halves are computed in f32, in which the result is exact."""
    if op.flags & _APPROXIMATE or op.type not in (*_HALVES, *REMAINDERS):
        return False
    if not op.count:
        _remainder_of(op, op.operands[0], op.operands[1], last=True)
        return True
    whole, current = op.whole(op.type), "poison"
    for lane in range(op.count):
        a, b = (op.add(f"extractelement {whole} {operand}, i64 {lane}") for operand in op.operands)
        value = _remainder_of(op, a, b, last=False)
        current = op.add(f"insertelement {whole} {current}, {op.type} {value}, i64 {lane}", last=lane + 1 == op.count)
    return True


def _remainder_of(op: _Instruction, a: str, b: str, last: bool) -> str:
    kind = "float" if op.type in _HALVES else op.type
    if op.type in _HALVES:
        a, b = (op.add(f"fpext {op.type} {operand} to float") for operand in (a, b))
    call = f"call {kind} @{REMAINDERS[kind]}({kind} {a}, {kind} {b})"
    if op.type in _HALVES:
        return op.add(f"fptrunc float {op.add(call)} to {op.type}", last)
    return op.add(call, last)


def _float_to_i1(op: _Instruction, target: Target, predicate: str, bound: str) -> bool:
    """A comparison with the only nonzero value of an i1."""
    if op.result != "i1":
        return False
    constant = op.constant(op.type, bound)
    op.add(f"fcmp {predicate} {op.whole(op.type)} {op.operands[0]}, {constant}", last=True)
    return True


def _signed_to_bit(op: _Instruction, target: Target) -> bool:
    return _float_to_i1(op, target, "ole", "-1.0")


def _unsigned_to_bit(op: _Instruction, target: Target) -> bool:
    return _float_to_i1(op, target, "oge", "1.0")


def _signed_to_float(op: _Instruction, target: Target) -> bool:
    return _to_bfloat(op, target, "sitofp")


def _unsigned_to_float(op: _Instruction, target: Target) -> bool:
    return _to_bfloat(op, target, "uitofp")


def _to_bfloat(op: _Instruction, target: Target, kind: str) -> bool:
    bits = int(op.type.removeprefix("i"))
    if op.result != "bfloat" or (bits == 1 and kind == "uitofp"):
        return False
    if bits == 1:
        values = (f"{op.whole('bfloat')} {op.constant('bfloat', value)}" for value in ("-1.0", "0.0"))
        op.add(f"select {op.whole('i1')} {op.operands[0]}, {', '.join(values)}", last=True)
        return True
    if bits <= 16 or bits > 64 or target.has(NATIVE_BFLOAT):
        return False
    type, value = (op.type, op.operands[0]) if bits <= DOUBLE_BITS else (LONG, _stored_format(op, kind))
    double = op.add(f"{kind} {op.whole(type)} {value} to {op.whole('double')}")
    # On the bits: LLVM does not recognize that the conversion before was exact, and would merge both conversions.
    pattern = op.add(f"bitcast {op.whole('double')} {double} to {op.whole(LONG)}")
    odd = _round_to_odd(op, LONG, pattern, DOUBLE_BITS - FLOAT_BITS)
    rounded = op.add(f"bitcast {op.whole(LONG)} {odd} to {op.whole('double')}")
    op.add(f"fptrunc {op.whole('double')} {rounded} to {op.whole('bfloat')}", last=True)
    return True


def _round_to_odd(op: _Instruction, integer: str, value: str, lost: int) -> str:
    """An integer without its last bits, rounded to odd."""
    type = op.whole(integer)
    constant = lambda number: op.constant(integer, str(number))
    kept = op.add(f"and {type} {value}, {constant(-(1 << lost))}")
    rest = op.add(f"and {type} {value}, {constant((1 << lost) - 1)}")
    is_lost = op.add(f"icmp ne {type} {rest}, {constant(0)}")
    bit = op.add(f"select {op.whole('i1')} {is_lost}, {type} {constant(1 << lost)}, {type} {constant(0)}")
    return op.add(f"or {type} {kept}, {bit}")


def _stored_format(op: _Instruction, kind: str) -> str:
    """An integer that is exact in a double and rounds to fewer bits as the given one does."""
    type, value = op.whole(LONG), op.operands[0]
    if op.type != LONG:
        value = op.add(f"{'sext' if kind == 'sitofp' else 'zext'} {op.whole(op.type)} {value} to {type}")
    constant = lambda number: op.constant(LONG, str(number))
    odd = _round_to_odd(op, LONG, value, 64 - DOUBLE_BITS)
    # Integers of at most 53 bits are unchanged: offset by 2^53 if signed, they are below 2^54.
    signed = kind == "sitofp"
    moved = op.add(f"add {type} {value}, {constant(1 << DOUBLE_BITS)}") if signed else value
    small = op.add(f"icmp ult {type} {moved}, {constant(1 << (DOUBLE_BITS + signed))}")
    return op.add(f"select {op.whole('i1')} {small}, {type} {value}, {type} {odd}")


def _saturated(op: _Instruction, target: Target) -> bool:
    """Subtract in 32 bits, then clamp to 16 bits. (LLVM canonicalizes two bounds back to ``ssub.sat``.)"""
    wide, narrow = op.whole("i32"), op.whole("i16")
    a, b = (op.add(f"sext {narrow} {operand} to {wide}") for operand in op.operands)
    difference = op.add(f"sub nsw {wide} {a}, {b}")
    low = op.add(f"trunc {wide} {difference} to {narrow}")
    again = op.add(f"sext {narrow} {low} to {wide}")
    beyond = op.add(f"icmp ne {wide} {again}, {difference}")
    sign = op.add(f"ashr {wide} {difference}, {op.constant('i32', '31')}")
    end = op.add(f"xor {wide} {sign}, {op.constant('i32', '32767')}")
    held = op.add(f"trunc {wide} {end} to {narrow}")
    op.add(f"select {op.whole('i1')} {beyond}, {narrow} {held}, {narrow} {low}", last=True)
    return True


_WORKAROUNDS: dict[str, Workaround] = {
    "frem": _remainder,
    "fptosi": _signed_to_bit,
    "fptoui": _unsigned_to_bit,
    "sitofp": _signed_to_float,
    "uitofp": _unsigned_to_float,
    "ssub.sat": _saturated,
}
