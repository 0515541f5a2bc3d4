"""Marks memory that a script allocates without values, for the check of uninitialized memory."""

from __future__ import annotations

from ...simulate.emulator.sanitizers.initcheck import fill_unwritten

_marks = False


def mark(wanted: bool) -> None:
    """Enable or disable marking of further allocations."""
    global _marks
    _marks = wanted


def allocated(address: int, size: int) -> None:
    """Mark an array as unwritten."""
    if _marks:
        fill_unwritten(address, size)
