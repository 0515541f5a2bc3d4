"""The store of ``cache=``: a folder, a server, or an object store."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from ....core.errors import InvalidInput
from .store import Store

_REMEDY = "use a folder, or http://host:port/path, or s3://bucket/path"


def open_store(text: str, base: str | os.PathLike = ".") -> Store:
    """The store called ``text``: an http(s) address, one of an object store, or a folder (relative to ``base``).

    Does not connect to a server yet. Raises InvalidInput: cache-value for an invalid ``text``, cache-missing if a library is not
    installed.
    """
    protocol = text.partition("://")[0].lower()
    if "://" in text and protocol in ("http", "https"):
        from .http_store import HttpStore

        return HttpStore(_checked_address(text))
    if "://" in text:
        from .object_store import PROTOCOLS, ObjectStore, check_library

        if protocol in PROTOCOLS:
            check_library(text)
            return ObjectStore(text)
        raise InvalidInput("cache-value", f"invalid cache={text}: unsupported protocol", remedy=_REMEDY)
    folder = Path(base, os.path.expanduser(text))
    if folder.exists() and not folder.is_dir():
        raise InvalidInput("cache-value", f"cache={text} is a file", remedy=_REMEDY)
    from .folder_store import FolderStore

    return FolderStore(folder)


def _checked_address(text: str) -> str:
    try:
        parts = urlsplit(text)
        if parts.hostname and (parts.port is None or parts.port > 0) and not parts.query and not parts.fragment:
            return text
        reason = "missing host, or has a query"
    except ValueError as error:
        reason = str(error)
    raise InvalidInput("cache-value", f"invalid URL cache={text}: {reason}", remedy=_REMEDY)
