"""Calls that may block forever, each with one deadline, and ended with the build.

Libraries limit at most each wait: a server that sends a byte per second exceeds no socket timeout, and the system's name
resolver has its own timeouts. Therefore a call runs in a thread that can be abandoned: its caller waits for the result until
the deadline or the end of the build.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

IDLE_SECONDS = 30.0  # seconds; a thread without calls for so long ends
T = TypeVar("T")


class Interrupted(Exception):
    """The build is ending."""


class DeadlineCalls:
    """Runs calls for several threads at once, and can end the waiting of all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[Future] = set()
        self._idle: list[SimpleQueue] = []
        self._ended = False

    def run(self, call: Callable[[], T], seconds: float) -> T:
        """The result of ``call()``; raises TimeoutError after ``seconds``, and Interrupted."""
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
        """Every call raises Interrupted, now and later."""
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
            # The caller may have stopped waiting.
            with suppress(InvalidStateError):
                answer.set_result(result) if error is None else answer.set_exception(error)
            del item, call, answer, result, error

    def _next(self, calls: SimpleQueue) -> tuple[Callable, Future] | None:
        """The next call for a thread; None if the thread must end."""
        while True:
            try:
                return calls.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if calls in self._idle:
                        self._idle.remove(calls)
                        return None
