"""Whether this process, or this thread of it, may die of a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_may_crash: ContextVar[bool] = ContextVar("may_crash", default=False)


def may_crash() -> bool:
    """Whether somebody has said so."""
    return _may_crash.get()


def allow_crash() -> None:
    """This process, or this thread of it, may die of a call: it was started for that."""
    _may_crash.set(True)


@contextmanager
def crash_allowed() -> Iterator[None]:
    """For the time of a call the caller takes the risk."""
    token = _may_crash.set(True)
    try:
        yield
    finally:
        _may_crash.reset(token)
