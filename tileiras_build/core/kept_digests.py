"""Digests of large files, which processes keep for later ones: LLVM's library has 179 MB, and each fork server and each worker
of a cluster needs its digest.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress

LARGE = 1 << 20  # bytes: finding the digest of a smaller file takes as long as reading the file
# ns: a file that changed more recently may change again without a new time, on any file system.
_SETTLED = 2_000_000_000
_stat = os.stat  # the tracer replaces it


def large_file_digest(path: str, read: Callable[[str], str]) -> str:
    """``read(path)``, or its result of an earlier process if the file's state is the same; raises what ``read`` raises."""
    state = _settled_state(path)
    if state is None:
        return read(path)
    store = key = None
    # A traced program may have replaced functions of ``os``; then the cache may fail in any way.
    with suppress(Exception):
        from .persistent_cache import cache_key, user_cache

        store, key = user_cache(), cache_key("digest of a file", os.path.abspath(path), state)
        if store is not None and (kept := store.find(key)) is not None:
            return kept.decode()
    digest = read(path)
    if store is not None and key is not None and _settled_state(path) == state:
        with suppress(Exception):
            store.keep(key, digest.encode())
    return digest


def _settled_state(path: str) -> tuple[int, ...] | None:
    """What changes with the contents of a large file; None of other files, and if it may change without a trace."""
    try:
        found = _stat(path)
    except (OSError, ValueError):
        return None
    is_settled = found.st_ctime_ns < time.time_ns() - _SETTLED
    if not is_settled or found.st_size < LARGE or not stat.S_ISREG(found.st_mode):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev
