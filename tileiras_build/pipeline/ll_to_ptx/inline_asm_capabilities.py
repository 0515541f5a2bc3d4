"""Find the instructions in inline assembly, and the capability that each needs (``target/isa/ptx_instructions.py``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ...target.capabilities import CAPABILITIES
from ...target.isa.ptx_instructions import ASSEMBLY, SPECIAL_REGISTERS
from ...target.targets import Target

_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPELLED = re.compile(r"(?:^|[\s;{}:])([a-z]\w*(?:\.[\w:]+)+)", re.MULTILINE)
_NAME = r"[\w$%]+(?:\{:uid\}\w*)?"
# Tokens before an instruction: blocks that open or close, labels, the predicate.
_LEAD = re.compile(rf"(?:[\s{{}}]+|{_NAME}\s*:(?!:)|@!?{_NAME})*")
_BRACKETS = {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}
_ROWS: dict[str, tuple[tuple[frozenset[str], str | None], ...]] = {}
for _name, _need in ASSEMBLY.items():
    _first, *_others = _name.split(".")
    _ROWS[_first] = (*_ROWS.get(_first, ()), (frozenset(_others), _need))
_BY_COUNT = {name.partition("/")[0] for name in _ROWS if "/" in name}


def needs_checking(templates: Iterable[str], target: Target) -> bool:
    """Whether ``faults`` may find something: a fast test that also matches names in operands."""
    text = _plain("\n".join(templates))
    names = set(_SPELLED.findall(text))
    rows = [_needs(name) for name in names]
    if not all(known and target.capabilities.issuperset(found) for _, known, found in rows):
        return True
    counted = any(first in _BY_COUNT for first, _, _ in rows)
    return counted or any(register in text for register in SPECIAL_REGISTERS)


def faults(template: str, target: Target) -> Iterator[tuple[str, str | None]]:
    """(instruction, required capability that the GPU lacks; None for an unknown instruction).

    Of several missing capabilities, the one that the fewest GPUs have.
    """
    for name, operands in instructions(template):
        known, found = needs(name, operands)
        if not known:
            yield name, None
        elif missing := [need for need in reversed(found) if not target.has(need)]:
            yield name, min(missing, key=lambda need: len(CAPABILITIES[need]))


def instructions(template: str) -> list[tuple[str, str]]:
    """(name, operands) of the instructions of a template, as quoted in LLVM IR; without directives."""
    bare = (_LEAD.sub("", part, count=1) for part in _plain(template).split(";"))
    named = (part.split(None, 1) for part in bare if part and part[0] not in ".$")
    return [(words[0], words[1] if len(words) > 1 else "") for words in named if words]


def _plain(template: str) -> str:
    """A template without escapes and comments."""
    text = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), template) if "\\" in template else template
    return _COMMENT.sub(" ", text) if "/" in text else text


def needs(name: str, operands: str = "") -> tuple[bool, tuple[str, ...]]:
    """(known, capabilities) of an instruction."""
    first, known, found = _needs(name)
    if first in _BY_COUNT:
        found += _constraints_hold(_ROWS.get(f"{first}/{_count(operands)}", ()), ())
    if "%" in operands:
        found += tuple(need for register, need in SPECIAL_REGISTERS.items() if register in operands)
    return known, found


@lru_cache(maxsize=4096)
def _needs(name: str) -> tuple[str, bool, tuple[str, ...]]:
    first, *others = name.split(".")
    return first, first in _ROWS, tuple(dict.fromkeys(_constraints_hold((*_ROWS["*"], *_ROWS.get(first, ())), others)))


def _constraints_hold(rows: tuple, tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(need for parts, need in rows if need is not None and parts.issubset(tokens))


def _count(operands: str) -> int:
    """The number of operands; commas inside brackets do not separate operands."""
    depth, commas = 0, 0
    for character in operands:
        depth += _BRACKETS.get(character, 0)
        commas += character == "," and not depth
    return commas + bool(operands.strip())
