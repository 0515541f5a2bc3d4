"""Hoist ``setmaxnreg.inc`` above the computations of its block.

LLVM hoists loop invariants above ``setmaxnreg.inc``, the first instruction of a warp partition. Values that are live
across it must fit in the registers that all threads start with, so ptxas would spill them. Reordering is sound: one
instruction changes the number of registers, the others write some of them (PTX ISA 9.0, section 9.7.20.5, setmaxnreg).
"""

from __future__ import annotations

import re

SETMAXNREG = "setmaxnreg.inc"
# Instructions that only write registers, without side effects.
OF_ALL_TYPES = "add|and|bfe|bfi|cvt|lop3|mad|max|min|mov|mul|neg|not|or|prmt|selp|setp|shf|shl|shr|sub|xor"
_PLAIN = re.compile(rf"\t(?:abs|cvta|fma|ld\.param|{OF_ALL_TYPES})\.")


def hoist_setmaxnreg(ptx: str) -> str:
    """The program with each ``setmaxnreg.inc`` above the pure instructions of its block."""
    if SETMAXNREG not in ptx:
        return ptx
    lines: list[str] = []
    for line in ptx.split("\n"):
        place = len(lines)
        while SETMAXNREG in line and place and _PLAIN.match(lines[place - 1]):
            place -= 1
        lines.insert(place, line)
    return "\n".join(lines)
