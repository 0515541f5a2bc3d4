"""Whether this process, or this thread, may crash in a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_may_crash: ContextVar[bool] = ContextVar("may_crash", default=False)


def may_crash() -> bool:
    """Whether a crash is allowed."""
    return _may_crash.get()


def allow_crash() -> None:
    """Allow crashes of this process, or of a call in this thread: it was started for that."""
    _may_crash.set(True)


@contextmanager
def crash_allowed() -> Iterator[None]:
    """Allow crashes within the block."""
    token = _may_crash.set(True)
    try:
        yield
    finally:
        _may_crash.reset(token)
