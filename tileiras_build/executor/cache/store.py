"""Stores: where a build cache keeps its records. ``open_store`` makes the one that ``cache=`` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from ...errors import InvalidInput

RESULTS, BLOBS = "ac", "cas"  # the two kinds of record
_REMEDY = "use a folder, or http://host:port/path"


class StoreError(Exception):
    """The store did not answer, or not as agreed; the text says why, in words for the user."""


class StoreTooSlow(StoreError):
    """The store has not answered within the time of one request: another would only cost as much again."""


class StoreInterrupted(StoreError):
    """The build is ending."""


class Store(Protocol):
    """Records of bytes by kind and name (64 hex digits); used by several threads at once."""

    place: str  # what diagnostics call it

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, or None where there is none. One of more than ``limit`` bytes comes cut off after ``limit`` + 1.

        Raises StoreError.
        """

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Keep a record, in the place of an older one. Raises StoreError."""

    def interrupt(self) -> None:
        """End all requests, from another thread than theirs: they and all later ones raise StoreInterrupted."""


def open_store(text: str, base: str | os.PathLike = ".") -> Store:
    """The store called ``text``: an http(s) address, or a folder (relative to ``base``).

    Nothing is asked of a server yet. Raises InvalidInput[cache-place] where ``text`` is neither.
    """
    if text.partition("://")[0].lower() in ("http", "https"):
        from .http_store import HttpStore

        return HttpStore(_checked_address(text))
    if "://" in text:
        raise InvalidInput("cache-place", f"cache={text} is neither a folder nor an HTTP server", remedy=_REMEDY)
    folder = Path(base, os.path.expanduser(text))
    if folder.exists() and not folder.is_dir():
        raise InvalidInput("cache-place", f"cache={text} is a file", remedy=_REMEDY)
    from .folder_store import FolderStore

    return FolderStore(folder)


def _checked_address(text: str) -> str:
    try:
        parts = urlsplit(text)
        if parts.hostname and (parts.port is None or parts.port > 0) and not parts.query and not parts.fragment:
            return text
        reason = "it lacks a host, or has a query"
    except ValueError as error:
        reason = str(error)
    raise InvalidInput("cache-place", f"cache={text} is not the address of a server: {reason}", remedy=_REMEDY)
