"""The printf output of kernels.

The order of output by several threads is unspecified (CUDA C++ Programming Guide, "Formatted Output"). The emulator writes
complete lines, so that calls by other threads do not split the line of a thread.
"""

from __future__ import annotations

import sys


class PrintfOutput:
    """Buffers the output of the threads of a batch until lines are complete."""

    def __init__(self) -> None:
        self._unfinished: dict[int, str] = {}

    def add(self, thread: int, text: str) -> None:
        """Add output of the thread with index ``thread`` in the batch."""
        lines, newline, rest = (self._unfinished.pop(thread, "") + text).rpartition("\n")
        sys.stdout.write(lines + newline)
        if rest:
            self._unfinished[thread] = rest

    def finish(self) -> None:
        """Write incomplete lines at the end of the batch."""
        sys.stdout.write("".join(self._unfinished.values()))
        self._unfinished.clear()
