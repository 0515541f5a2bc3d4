"""Have warps take more registers before they compute anything for the work that needs them.

LLVM computes what does not change in a loop as early as it may: in front of ``setmaxnreg.inc``, which is the first thing that
partitions do. What lives there across that instruction must be in the registers that all threads started with; ptxas then spills it
where the loop wants those. Neither instruction minds the other: one changes how many registers there are, the other what
is in some of them (PTX ISA 9.0, section 9.7.20.5, setmaxnreg).
"""

from __future__ import annotations

import re

SETMAXNREG = "setmaxnreg.inc"
# Instructions that only write registers: nobody waits for them.
_PLAIN = re.compile(
    r"\t(?:abs|add|and|bfe|bfi|cvt|cvta|fma|ld\.param|lop3|mad|max|min|mov|mul|neg|not|or|prmt|selp|setp|shf|shl|shr|sub|xor)\."
)


def hoist_setmaxnreg(ptx: str) -> str:
    """The same program, with each grant above the plain instructions of its block."""
    if SETMAXNREG not in ptx:
        return ptx
    lines: list[str] = []
    for line in ptx.split("\n"):
        place = len(lines)
        while SETMAXNREG in line and place and _PLAIN.match(lines[place - 1]):
            place -= 1
        lines.insert(place, line)
    return "\n".join(lines)
