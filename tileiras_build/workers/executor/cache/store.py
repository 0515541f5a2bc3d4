"""Stores: where a build cache keeps its records (``places.open_store`` makes the one that ``cache=`` names)."""

from __future__ import annotations

from typing import Protocol

RESULTS, BLOBS = "ac", "cas"  # the two kinds of record


class StoreError(Exception):
    """The store did not answer, or not as agreed; the text says why, in words for the user."""


class StoreTooSlow(StoreError):
    """The store has not answered within the time of one request: another would only cost as much again."""


class StoreInterrupted(StoreError):
    """The build is ending."""


class Store(Protocol):
    """Records of bytes by kind and name (64 hex digits); used by several threads at once."""

    location: str  # what diagnostics call it

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, or None where there is none. One of more than ``limit`` bytes comes cut off after ``limit`` + 1.

        Raises StoreError.
        """

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Keep a record, in the place of an older one. Raises StoreError."""

    def interrupt(self) -> None:
        """End all requests, from another thread than theirs: they and all later ones raise StoreInterrupted."""
