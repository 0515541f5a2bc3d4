"""What kernels print.

Threads print in no order that the instruction set gives (CUDA C++ Programming Guide, "Formatted Output"). The order here is one in
which the lines of a thread stay together, though its calls, of which one may print a part of a line, take turns with others'.
"""

from __future__ import annotations

import sys


class PrintfOutput:
    """Texts of the threads of one batch of CTAs, whose lines are written once they are complete."""

    def __init__(self) -> None:
        self._unfinished: dict[int, str] = {}

    def add(self, thread: int, text: str) -> None:
        """``thread``, by its number in the batch, has printed ``text``."""
        lines, newline, rest = (self._unfinished.pop(thread, "") + text).rpartition("\n")
        sys.stdout.write(lines + newline)
        if rest:
            self._unfinished[thread] = rest

    def finish(self) -> None:
        """Nobody prints any more: write what ends without a newline."""
        sys.stdout.write("".join(self._unfinished.values()))
        self._unfinished.clear()
