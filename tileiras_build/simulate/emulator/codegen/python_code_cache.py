"""A persistent cache of the Python bytecode generated for a kernel, shared between processes (``persistent_cache.py``).

A kernel has one record, keyed by its PTX and the version of Python. It maps the digest of each generated source to its
bytecode, so it stays valid when the emulator changes the sources that it generates.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
import time
from functools import cached_property
from types import CodeType

from ....core.persistent_cache import cache_key, user_cache

MIN_COMPILE_SECONDS = 0.002  # seconds of compilation from which writing a record pays off
MAX_FUNCTIONS = 1024  # functions in a record


class PythonCodeCache:
    """The bytecode of the functions of one kernel."""

    def __init__(self, ptx: str, entry: str):
        self._ptx, self._entry = ptx, entry
        self._used: dict[bytes, CodeType] = {}
        self._seconds = 0.0  # spent on compilations that are not stored yet

    @cached_property
    def _key(self) -> str:
        return cache_key("translations", sys.version, sys.flags.optimize, self._entry, self._ptx)

    @cached_property
    def _cached(self) -> dict[bytes, CodeType]:
        store = user_cache()
        data = None if store is None else store.find(self._key)
        return {} if data is None else marshal.loads(data)

    def code(self, source: str, file: str) -> CodeType:
        """The compiled source; ``file`` is its name in tracebacks."""
        digest = hashlib.sha256(f"{file}\0{source}".encode()).digest()
        found = self._cached.get(digest)
        if found is None:
            start = time.process_time()
            found = compile(source, file, "exec")
            self._seconds += time.process_time() - start
        self._used[digest] = found
        return found

    def store(self) -> None:
        """Store the compiled code for later processes if compilation took long enough."""
        store = user_cache()
        if self._seconds < MIN_COMPILE_SECONDS or store is None:
            return
        every = self._cached | self._used
        store.keep(self._key, marshal.dumps(every if len(every) <= MAX_FUNCTIONS else self._used))
        self._seconds = 0.0
