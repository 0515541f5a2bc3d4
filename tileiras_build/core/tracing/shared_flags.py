"""Flags in memory that a traced process shares with the listener of its system calls."""

from __future__ import annotations

import mmap


class SharedFlags:
    """Flags that a process sets for the listener of its system calls, in shared memory."""

    def __init__(self) -> None:
        self._bytes = mmap.mmap(-1, 2)

    @property
    def is_silent(self) -> bool:
        """Whether the process itself records its present reads."""
        return self._bytes[0] != 0

    @is_silent.setter
    def is_silent(self, value: bool) -> None:
        self._bytes[0] = value

    @property
    def tolerates_runs(self) -> bool:
        """Whether it has run a program whose result is irrelevant."""
        return self._bytes[1] != 0

    @tolerates_runs.setter
    def tolerates_runs(self, value: bool) -> None:
        self._bytes[1] = value
