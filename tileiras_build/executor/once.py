"""An executor that is started at first need, and only once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..errors import TileirasError
from . import Executor


class Once:
    """The executor that ``make(*arguments)`` starts; after a refusal every later need is refused at once, with the same words."""

    def __init__(self, make: Callable[..., Executor], executor: Executor | None = None):
        self.started, self._make = executor, make
        self._refusal: TileirasError | None = None
        self._starting = threading.Lock()

    def get(self, *arguments: object) -> Executor:
        """The executor; the first call's arguments start it. Raises what ``make`` raised."""
        with self._starting:
            if self._refusal is not None:
                raise self._refusal
            if self.started is None:
                self.started = self._start(arguments)
            return self.started

    def _start(self, arguments: tuple) -> Executor:
        try:
            return self._make(*arguments)
        except TileirasError as error:
            self._refusal = error
            raise

    def interrupt(self) -> None:
        """End all calls, from another thread than theirs."""
        getattr(self.started, "interrupt", lambda: None)()

    def close(self) -> None:
        """End all workers."""
        if self.started is not None:
            self.started.close()

    def summary(self) -> str:
        """A line for the end of the build; "" where there is nothing to say."""
        return getattr(self.started, "summary", str)()
