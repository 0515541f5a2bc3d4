"""What stores elsewhere have in common: one client for all threads; a request has so long, and ends with the build."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from ..calls_with_deadline import DeadlineCalls, Interrupted
from .store import StoreInterrupted, StoreTooSlow

TIMEOUT = 10.0  # seconds for a request, from the look-up of the host's name to the last byte of the answer
MIN_SPEED = 1 << 20  # bytes a second; what a large record may take besides
T = TypeVar("T")
Client = TypeVar("Client")


class RemoteStore(ABC, Generic[Client]):
    """A store whose requests are made by threads that may be left behind (``calls_with_deadline.py`` says why)."""

    def __init__(self, timeout: float):
        self._timeout, self._calls = timeout, DeadlineCalls()
        self._connecting = threading.Lock()
        self._client: Client | None = None

    def interrupt(self) -> None:
        """End all requests, from another thread than theirs."""
        self._calls.interrupt()

    @abstractmethod
    def _connect(self) -> Client:
        """What makes the requests. Libraries are imported here: a build that has nothing to do makes none. Raises StoreError."""

    def _connected(self) -> Client:
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _request(self, request: Callable[[float], T], size: int) -> T:
        """What ``request(seconds)`` returns or raises, which moves ``size`` bytes; raises StoreTooSlow, StoreInterrupted."""
        seconds = self._timeout + size / MIN_SPEED
        try:
            return self._calls.run(lambda: request(seconds), seconds)
        except Interrupted:
            raise StoreInterrupted("the build is ending") from None
        except TimeoutError:
            raise StoreTooSlow(f"timed out after {seconds:.0f} s") from None
