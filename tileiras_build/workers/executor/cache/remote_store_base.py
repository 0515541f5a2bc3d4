"""The base of remote stores: one client for all threads; requests have a time limit, and end with the build."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from ..calls_with_deadline import DeadlineCalls, Interrupted
from .store import StoreInterrupted, StoreTooSlow

TIMEOUT = 10.0  # seconds for a request, from the name lookup to the last byte of the response
MIN_SPEED = 1 << 20  # bytes per second; the additional time for a large record
T = TypeVar("T")
Client = TypeVar("Client")


class RemoteStore(ABC, Generic[Client]):
    """A store whose requests run in threads that can be abandoned (see ``calls_with_deadline.py``)."""

    def __init__(self, timeout: float):
        self._timeout, self._calls = timeout, DeadlineCalls()
        self._connecting = threading.Lock()
        self._client: Client | None = None

    def interrupt(self) -> None:
        """End all requests; called from another thread."""
        self._calls.interrupt()

    @abstractmethod
    def _connect(self) -> Client:
        """The client. Libraries are imported here because a null build makes no requests. Raises StoreError."""

    def _connected(self) -> Client:
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _request(self, request: Callable[[float], T], size: int) -> T:
        """The result of ``request(seconds)``, which transfers ``size`` bytes; raises StoreTooSlow, StoreInterrupted."""
        seconds = self._timeout + size / MIN_SPEED
        try:
            return self._calls.run(lambda: request(seconds), seconds)
        except Interrupted:
            raise StoreInterrupted("the build is ending") from None
        except TimeoutError:
            raise StoreTooSlow(f"timed out after {seconds:.0f} s") from None
