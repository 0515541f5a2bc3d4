"""Counts what Python does, so that a test can bound work without a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TooMuchWork(AssertionError):
    """More calls than a test allows: raised inside the work, which would otherwise never end."""


def calls_of(work: Callable[[], T], limit: int | None = None) -> tuple[T, int]:
    """What ``work`` returns, and how many calls of Python and C functions it makes; TooMuchWork after ``limit``."""
    count = 0

    def look(frame, event: str, argument) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1
            if limit is not None and count > limit:
                raise TooMuchWork(f"more than {limit} calls")

    sys.setprofile(look)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return result, count
