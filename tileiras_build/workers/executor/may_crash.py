"""Whether this process, or this thread of it, may die of a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_expendable: ContextVar[bool] = ContextVar("is_expendable", default=False)


def is_expendable() -> bool:
    """Whether somebody has said so."""
    return _is_expendable.get()


def make_expendable() -> None:
    """This process, or this thread of it, may die of a call: it was started for that."""
    _is_expendable.set(True)


@contextmanager
def expendable() -> Iterator[None]:
    """For the time of a call the caller takes the risk."""
    token = _is_expendable.set(True)
    try:
        yield
    finally:
        _is_expendable.reset(token)
