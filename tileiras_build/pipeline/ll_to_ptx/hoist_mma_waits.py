"""Wait for wgmma where a loop ends, above the integer computations of that block.

LLVM sinks addresses that only the code after a loop needs to the block where the loop ends, above the wait for its last MMAs. ptxas
then takes the accumulators as read before that wait, and serializes all MMAs of the kernel (its remark C7514).
Reordering is sound: an earlier wait is a stronger one, and the computations write other registers than MMAs.
"""

from __future__ import annotations

import re

from .hoist_setmaxnreg import OF_ALL_TYPES

WAIT = "\twgmma.wait_group.sync.aligned 0;"
BEGIN, END = "\t// begin inline asm", "\t// end inline asm"
_LABEL = re.compile(r"(\$\w+):")
# Integer instructions that only write registers, and line directives.
_INTEGER = re.compile(rf"\t(?:\.loc\b|(?:{OF_ALL_TYPES})(?!\S*\.b?f(?:16|32|64))\.)")


def hoist_mma_waits(ptx: str) -> str:
    """The program with each wait for all MMAs at the start of its block, where only integer computations are above it."""
    if WAIT not in ptx:
        return ptx
    lines: list[str] = []
    for line in ptx.split("\n"):
        lines.append(line)
        if lines[-3:] == [BEGIN, WAIT, END]:
            _hoist_last(lines)
    return "\n".join(lines)


def _hoist_last(lines: list[str]) -> None:
    """Move the wait at the end of ``lines`` to the start of its block."""
    place = len(lines) - 3
    while place and _INTEGER.match(lines[place - 1]):
        place -= 1
    label = _LABEL.match(lines[place - 1])
    if label is not None:
        wait = lines[-3:]
        del lines[-3:]
        lines[place:place] = wait
