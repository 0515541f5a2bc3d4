"""The Python that a kernel's instructions become, compiled: what takes one process a while the next ones find (``user_cache.py``).

A kernel has one record, found by its PTX and by the Python that compiles: code for each text that was compiled, by its digest. So it is
nothing to a record how the emulator makes texts.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
import time
from functools import cached_property
from types import CodeType

from ....core.user_cache import cache_key, user_cache

MIN_COMPILE_SECONDS = 0.002  # seconds of compiling that a record saves; less is less than what it takes to write one
MAX_FUNCTIONS = 1024  # functions of a record


class PythonCodeCache:
    """The code of the functions of one kernel of a PTX text."""

    def __init__(self, ptx: str, entry: str):
        self._ptx, self._entry = ptx, entry
        self._used: dict[bytes, CodeType] = {}
        self._seconds = 0.0  # of compiling what is not kept

    @cached_property
    def _key(self) -> str:
        return cache_key("translations", sys.version, sys.flags.optimize, self._entry, self._ptx)

    @cached_property
    def _cached(self) -> dict[bytes, CodeType]:
        store = user_cache()
        data = None if store is None else store.find(self._key)
        return {} if data is None else marshal.loads(data)

    def code(self, source: str, file: str) -> CodeType:
        """What Python makes of a text that tracebacks call ``file``."""
        digest = hashlib.sha256(f"{file}\0{source}".encode()).digest()
        found = self._cached.get(digest)
        if found is None:
            start = time.process_time()
            found = compile(source, file, "exec")
            self._seconds += time.process_time() - start
        self._used[digest] = found
        return found

    def store(self) -> None:
        """Keep what was compiled for the next processes, if it took them long."""
        store = user_cache()
        if self._seconds < MIN_COMPILE_SECONDS or store is None:
            return
        every = self._cached | self._used
        store.keep(self._key, marshal.dumps(every if len(every) <= MAX_FUNCTIONS else self._used))
        self._seconds = 0.0
