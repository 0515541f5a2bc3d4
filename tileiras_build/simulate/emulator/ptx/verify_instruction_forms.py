"""Verifies that instructions match a row of ``ptx/instruction_forms.py``, before any other analysis.

An instruction is matched as text: its modifiers, and a short signature of each operand. Results are cached by this text.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ..errors import UnsupportedInstruction
from .ast import (
    SINK,
    Address,
    Arguments,
    Immediate,
    Instruction,
    Name,
    Negated,
    Pair,
    Register,
    Special,
    Variable,
    Vector,
)
from .instruction_forms import FORMS, OPERANDS, TYPES

_ANY = r"(?:(?!(?:block_scale|sp|red|bulk|tensor|multicast::cluster)\.)[A-Za-z0-9_:]+\.)*"  # modifiers that select no other row
_BITS = {1: "p", 128: "Q"}  # widths of registers with a signature of their own
_NAMED = re.compile(r"<(\w+)>")


def verify_instruction(ins: Instruction) -> None:
    """Raise UnsupportedInstruction if an instruction matches no row."""
    modifiers = "".join(f"{word}." for word in ins.mods)
    what = _explain_mismatch(ins.op, modifiers, tuple(map(operand_signature, ins.args)))
    if what is None:
        return
    raise UnsupportedInstruction(f"line {ins.line}: {what}: {ins.text}")


def operand_signature(operand: object) -> str:
    """The signature of an operand: p, r or Q for a register, i or f a literal, s a special register, n a name, ``_`` the sink."""
    if isinstance(operand, Register):
        return _BITS.get(operand.bits, "r")
    return _SHAPES[type(operand)](operand)


def _address_signature(operand: Address) -> str:
    extra = "".join(f":{operand_signature(part)}" for part in operand.extra)
    return f"[{operand_signature(operand.base)}{extra}]"


_SHAPES = {
    Immediate: lambda operand: "i" if operand.type == "int" else "f",
    Special: lambda operand: "s",
    Name: lambda operand: "n",
    Variable: lambda operand: "n",
    type(SINK): lambda operand: "_",
    Negated: lambda operand: f"!{operand_signature(operand.operand)}",
    Pair: lambda operand: f"{operand_signature(operand.first)}|{operand_signature(operand.second)}",
    Vector: lambda operand: "".join(map(operand_signature, operand.items)).join(
        "{}" if len(operand.items) != 1 else ("", "")
    ),
    Arguments: lambda operand: "(" + ",".join(map(operand_signature, operand.items)) + ")",
    Address: _address_signature,
}


@lru_cache(maxsize=4096)
def _explain_mismatch(op: str, modifiers: str, shapes: tuple[str, ...]) -> str | None:
    rows = _form_patterns().get(op)
    if rows is None:
        return f"unsupported instruction {op!r}"
    possible = [operands for words, operands in rows if words.fullmatch(modifiers)]
    if not possible:
        return f"unsupported form .{modifiers[:-1]} of {op}" if modifiers else f"the type of {op} is missing"
    text = "".join(f" {one}" for one in shapes)
    if any(_pattern(operands).fullmatch(text) for operands in possible):
        return None
    return f"the operands of {op} are {' or '.join(dict.fromkeys(map(_describe_operands, possible)))}"


@cache
def _form_patterns() -> dict[str, list[tuple[re.Pattern[str], str]]]:
    """Opcode -> its forms: the pattern of the modifiers, the operands."""
    found: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for opcodes, forms in FORMS.items():
        rows = [(_modifiers(words), operands.strip()) for words, _, operands in (_split(form) for form in forms)]
        found.update(dict.fromkeys(opcodes.split(), rows))
    return found


def _split(form: str) -> tuple[str, str, str]:
    """Split into modifiers and operands at the last colon that is not part of a modifier."""
    at = re.search(r"(?<!:):(?!:)", form).start()
    return form[:at], ":", form[at + 1 :]


def _modifiers(text: str) -> re.Pattern[str]:
    return re.compile("".join(_group(group.strip()) for group in text.split("/")))


def _group(text: str) -> str:
    if text in ("", "..."):
        return _ANY if text else ""
    how = text[0] if text[0] in "?*" else ""
    words = _NAMED.sub(lambda found: TYPES[found[1]], text[len(how) :]).split()
    return f"(?:(?:{'|'.join(map(re.escape, words))})\\.){how}"


@cache
def _pattern(operands: str) -> re.Pattern[str]:
    letters = operands.split()
    parts = [f"(?: (?:{OPERANDS[letter[0]][0]})){letter[1:]}" for letter in letters]
    return re.compile("".join(parts))


def _describe_operands(operands: str) -> str:
    words = [f"{'perhaps ' * ('?' in letter)}{OPERANDS[letter[0]][1]}" for letter in operands.split()]
    return ", ".join(words) or "no operands"
