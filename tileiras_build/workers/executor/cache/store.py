"""Stores: where a build cache keeps its records (``open_store.py`` creates the store of ``cache=``)."""

from __future__ import annotations

from typing import Protocol

RESULTS, BLOBS = "ac", "cas"  # the two kinds of record


class StoreError(Exception):
    """The store did not respond, or not as specified; the text is for the user."""


class StoreTooSlow(StoreError):
    """The store exceeded the time limit of one request: another would take as long."""


class StoreInterrupted(StoreError):
    """The build is ending."""


class Store(Protocol):
    """Records of bytes by kind and name (64 hex digits); used by several threads at once."""

    location: str  # its name in diagnostics

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, or None if there is none. A record of more than ``limit`` bytes is truncated to ``limit`` + 1.

        Raises StoreError.
        """

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Store a record, replacing an older one. Raises StoreError."""

    def interrupt(self) -> None:
        """End all requests, called from another thread: they and all later ones raise StoreInterrupted."""
