"""Calls that may wait for ever, each under one deadline for all of it and until the build ends.

Libraries bound each wait at most: a server that sends a byte a second exceeds no timeout of a socket, and the system's
resolver of names has a patience of its own. So a call runs in a thread that may be left behind: its caller waits for the
answer, until its time is over or the build ends, whatever the call itself waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

IDLE_SECONDS = 30.0  # seconds; a thread that has had no call for so long ends
T = TypeVar("T")


class Interrupted(Exception):
    """The build is ending."""


class DeadlineCalls:
    """Makes calls for several threads at once, and ends the waiting of all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[Future] = set()
        self._idle: list[SimpleQueue] = []
        self._ended = False

    def run(self, call: Callable[[], T], seconds: float) -> T:
        """What ``call()`` returns or raises; raises TimeoutError when ``seconds`` are over, and Interrupted."""
        answer: Future[T] = Future()
        with self._lock:
            if self._ended:
                raise Interrupted
            self._waiting.add(answer)
            calls = self._idle.pop() if self._idle else self._start()
        calls.put((call, answer))
        try:
            return answer.result(seconds)
        finally:
            with self._lock:
                self._waiting.discard(answer)

    def interrupt(self) -> None:
        """Every call raises Interrupted, from now on and for good."""
        with self._lock:
            self._ended = True
            waiting = list(self._waiting)
        for answer in waiting:
            with suppress(InvalidStateError):
                answer.set_exception(Interrupted())

    def _start(self) -> SimpleQueue:
        calls: SimpleQueue = SimpleQueue()
        threading.Thread(target=self._serve, args=(calls,), name="tileiras-calls", daemon=True).start()
        return calls

    def _serve(self, calls: SimpleQueue) -> None:
        while (item := self._next(calls)) is not None:
            call, answer = item
            result, error = None, None
            try:
                result = call()
            except BaseException as raised:
                error = raised
            with self._lock:
                self._idle.append(calls)
            # Who has asked may have stopped waiting.
            with suppress(InvalidStateError):
                answer.set_result(result) if error is None else answer.set_exception(error)
            del item, call, answer, result, error

    def _next(self, calls: SimpleQueue) -> tuple[Callable, Future] | None:
        """The next call for a thread; None where it is to end."""
        while True:
            try:
                return calls.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if calls in self._idle:
                        self._idle.remove(calls)
                        return None
