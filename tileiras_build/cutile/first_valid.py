"""``ct.tune`` where no clock tells of a GPU: the first configuration that compiles is taken, and every one is said to take 1 us."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import launching

if TYPE_CHECKING:
    from .session import Session

SAID = "tileiras_build: no GPU is timed: ct.tune takes the first configuration that compiles"
MICROSECONDS = 1.0
_told: set[int] = set()


def _untimed() -> Session | None:
    """What is enabled, if its device has no clock."""
    session = launching.session
    return session if session is not None and not session.device.timed else None


def make_benchmark(own: Callable[..., float]) -> Callable[..., float]:
    """The function that takes the place of ``own``, cuTile's _benchmark."""

    def benchmark(
        stream: object, grid: tuple[int, ...], kernel: Any, arguments: tuple[object, ...], *more: object
    ) -> float:
        """Microseconds of a launch; here the kernel is compiled, and all take the same time."""
        session = _untimed()
        if session is None:
            return own(stream, grid, kernel, arguments, *more)
        session.compile(kernel, arguments)
        if id(session) not in _told:
            _told.add(id(session))
            print(SAID, file=sys.stderr)
        return MICROSECONDS

    return benchmark


def make_payload(own: Callable[..., bytes | None]) -> Callable[..., bytes | None]:
    """The function that takes the place of ``own``, which prepares a launch for another process to time."""

    def export(*arguments: Any) -> bytes | None:
        """None: it is timed in this process."""
        return own(*arguments) if _untimed() is None else None

    return export
