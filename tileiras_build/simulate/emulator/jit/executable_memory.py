"""Maps native code into this process: pages that may be executed and no longer written (x86-64 under Linux)."""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from functools import lru_cache

IS_SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"
_code_pages: list[mmap.mmap] = []  # keeps the mapped pages alive


def map_code(code: bytes) -> int | None:
    """The address of an executable copy of ``code``; None where the system forbids executing written pages."""
    try:
        memory = mmap.mmap(-1, len(code), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError:
        return None
    memory.write(code)
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if _protect()(place, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    _code_pages.append(memory)
    return place


@lru_cache
def _protect():
    function = ctypes.CDLL(None).mprotect
    function.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return function
