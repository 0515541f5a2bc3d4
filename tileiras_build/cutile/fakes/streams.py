"""Streams, events and graphs of a device whose launches are over when they return. Frameworks' stand-ins derive from them."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from ..traceback_filter import shorten

_numbers = itertools.count(1)


class _Here(threading.local):
    """What is current in a thread."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.capturing: Graph | None = None


_here = _Here()


class Stream:
    """A stream: it has a number, and nothing is ever left to wait for."""

    def __init__(self, device: object = None, priority: int = 0, **_: object):
        self.number = next(_numbers)
        self.priority = priority
        self._before: list[Stream | None] = []

    @property
    def cuda_stream(self) -> int:
        """The handle, as kernels' launchers want it."""
        return self.number

    ptr = cuda_stream

    def synchronize(self) -> None:
        """All work is done."""

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def is_capturing(self) -> bool:
        """Whether this thread notes its launches in a graph."""
        return _here.capturing is not None

    def wait_stream(self, stream: Stream) -> None:
        """Its work is done."""

    def wait_event(self, event: Event) -> None:
        """It has happened."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event that happens now."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._before.append(_here.stream)
        _here.stream = self
        return self

    def __exit__(self, *exception: object) -> None:
        _here.stream = self._before.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.number == self.number

    def __hash__(self) -> int:
        return self.number


class _Default(Stream):
    def __init__(self) -> None:
        super().__init__()
        self.number = 0


DEFAULT: Stream = _Default()


def current_stream() -> Stream:
    """The stream that a ``with`` statement has made current, else the default one."""
    return _here.stream or DEFAULT


class Event:
    """A point of time on this machine."""

    def __init__(self, *flags: object, **named: object):
        self._at: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """It happens now."""
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """It has happened."""

    def wait(self, stream: Stream | None = None) -> None:
        """It has happened."""

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds that this machine took between the two: the emulator's time, which says nothing about a GPU's.

        Raises RuntimeError where one has not happened.
        """
        if self._at is None or end._at is None:
            raise RuntimeError("both events must be recorded before elapsed_time()")
        return 1e3 * (end._at - self._at)


class Graph:
    """What was launched while it was captured, to be run again."""

    def __init__(self, *flags: object, **named: object):
        self.steps: list[Callable[[], object]] = []

    def capture_begin(self, *flags: object, **named: object) -> None:
        """From now on this thread's launches are noted, not run. RuntimeError inside another capture."""
        if _here.capturing is not None:
            raise RuntimeError("a graph capture is already in progress")
        self.steps.clear()
        _here.capturing = self

    def capture_end(self) -> None:
        """The end of ``capture_begin``."""
        _here.capturing = None

    def replay(self) -> None:
        """Run what was noted, in order."""
        try:
            for step in self.steps:
                step()
        except Exception as error:
            shorten(error)
            raise

    def reset(self) -> None:
        """Forget what was noted."""
        self.steps.clear()

    def instantiate(self) -> None:
        """It can be run as it is."""


def capturing() -> Graph | None:
    """The graph that this thread captures."""
    return _here.capturing
