"""An executor that is started on first use, and only once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...core.errors import InternalError
from . import Executor


class LazyExecutor:
    """The executor that ``make(*arguments)`` starts; after a failure every later use raises the same error."""

    def __init__(self, make: Callable[..., Executor], executor: Executor | None = None):
        self.started, self._make = executor, make
        self._refusal: Exception | None = None
        self._starting, self._changed = False, threading.Condition()

    def get(self, *arguments: object) -> Executor:
        """The executor; the first call's arguments start it. Raises what ``make`` raised, or InternalError."""
        with self._changed:
            if not (self._starting or self.started or self._refusal):
                self._starting = True
                # In a thread that can be abandoned: a server may never respond.
                threading.Thread(target=self._start, args=arguments, name="tileiras-start", daemon=True).start()
            self._changed.wait_for(lambda: self.started or self._refusal)
            if self.started is not None:
                return self.started
            # The start or an interrupt ends the wait.
            raise self._refusal or InternalError("executor-start", "failed to start the executor")

    def _start(self, *arguments: object) -> None:
        made = refusal = None
        try:
            made = self._make(*arguments)
        except Exception as error:
            refusal = error
        with self._changed:
            late = self._refusal is not None
            if not late:
                self.started, self._refusal = made, refusal
            self._changed.notify_all()
        if late and made is not None:
            made.close()

    def interrupt(self) -> None:
        """End all calls and the wait for the start; called from another thread."""
        with self._changed:
            self._refusal = InternalError("interrupted", "the build was interrupted")
            self._changed.notify_all()
        getattr(self.started, "interrupt", lambda: None)()

    def close(self) -> None:
        """End all workers."""
        if self.started is not None:
            self.started.close()

    def summary(self) -> str:
        """A line for the end of the build; "" without an executor."""
        return getattr(self.started, "summary", str)()
