"""Streams, events and graphs of a device with synchronous launches. The fakes of frameworks derive from them."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from ..traceback_filter import shorten

_handles = itertools.count(1)


class _Here(threading.local):
    """The current stream and capture of a thread."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.capturing: Graph | None = None


_here = _Here()


class Stream:
    """A stream: it has a handle, and its work is always done."""

    def __init__(self, device: object = None, priority: int = 0, **_: object):
        self.number = next(_handles)
        self.priority = priority
        self._before: list[Stream | None] = []

    @property
    def cuda_stream(self) -> int:
        """The handle, as launchers of kernels take it."""
        return self.number

    ptr = cuda_stream

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def query(self) -> bool:
        """True: all work is done."""
        return True

    def is_capturing(self) -> bool:
        """Whether this thread captures its launches in a graph."""
        return _here.capturing is not None

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing: the stream's work is done."""

    def wait_event(self, event: Event) -> None:
        """Do nothing: the event is complete."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event, recorded at the current time."""
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
    """The current stream of a ``with`` statement, else the default stream."""
    return _here.stream or DEFAULT


class Event:
    """A point in time on this machine."""

    def __init__(self, *flags: object, **named: object):
        self._at: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Record the current time."""
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Do nothing: the event is complete."""

    def wait(self, stream: Stream | None = None) -> None:
        """Do nothing: the event is complete."""

    def query(self) -> bool:
        """Whether it is recorded."""
        return True

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds on this machine between the two: the emulator's time, which says nothing about a GPU.

        Raises RuntimeError unless both are recorded.
        """
        if self._at is None or end._at is None:
            raise RuntimeError("both events must be recorded before elapsed_time()")
        return 1e3 * (end._at - self._at)


class Graph:
    """The launches of a capture, which ``replay`` repeats."""

    def __init__(self, *flags: object, **named: object):
        self.steps: list[Callable[[], object]] = []

    def capture_begin(self, *flags: object, **named: object) -> None:
        """Record this thread's launches from now on instead of running them. Raises RuntimeError within another capture."""
        if _here.capturing is not None:
            raise RuntimeError("a graph capture is already in progress")
        self.steps.clear()
        _here.capturing = self

    def capture_end(self) -> None:
        """End the capture."""
        _here.capturing = None

    def replay(self) -> None:
        """Run the recorded launches, in order."""
        try:
            for step in self.steps:
                step()
        except Exception as error:
            shorten(error)
            raise

    def reset(self) -> None:
        """Discard the recorded launches."""
        self.steps.clear()

    def instantiate(self) -> None:
        """Do nothing: a graph can be replayed as it is."""


def capturing() -> Graph | None:
    """The graph that this thread captures."""
    return _here.capturing
