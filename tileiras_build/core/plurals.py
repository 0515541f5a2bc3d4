"""``count_text``: a count with its noun in messages."""

from __future__ import annotations


def count_text(count: int, noun: str) -> str:
    """``count`` of ``noun``, a noun with a regular plural: "1 step", "2 steps"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
