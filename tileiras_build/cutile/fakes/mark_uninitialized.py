"""Memory that a script allocates without values: with the check of uninitialised memory it is marked as such."""

from __future__ import annotations

from ...simulate.emulator.sanitizers.initcheck import fill_unwritten

_marks = False


def mark(wanted: bool) -> None:
    """Whether what is allocated from now on is marked."""
    global _marks
    _marks = wanted


def allocated(address: int, size: int) -> None:
    """Memory that nobody has written yet."""
    if _marks:
        fill_unwritten(address, size)
