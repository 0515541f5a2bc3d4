"""A persistent cache of native code compiled by LLVM (``persistent_cache.py``): later processes do not import LLVM.

The key consists of the IR, LLVM's name of the CPU and its features, the version of LLVM, and the code of the emulator that
compiles and links. LLVM's description of the CPU is cached as well, keyed by CPUID. The cache supports x86-64 Linux only.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from ....core.persistent_cache import cache_key, user_cache
from .elf_linker import LinkedCode
from .host_cpu import host_cpu_id

_CODE = ("executable_memory.py", "host_cpu.py", "llvm_jit.py", "code_cache.py", "elf_linker.py")
_process_start = time.time_ns()  # about the time at which this process loaded its code


class Host(NamedTuple):
    """LLVM's name of this CPU, its features ("+avx2,-sse4a"), and the state of LLVM's library files."""

    name: str
    features: str
    files: list[list]

    def is_current(self) -> bool:
        """Whether LLVM's library files are unchanged."""
        return bool(self.files) and all(state and state == _state_of(file) for file, state in self.files)


@lru_cache
def host() -> Host:
    """LLVM's description of this CPU, from the cache if possible."""
    found = cached_host()
    if found is None:
        found = _query_llvm()
        store, key = user_cache(), _key_of_host()
        if store is not None and key is not None and found.is_current():
            store.keep(key, json.dumps(found).encode())
    return found


@lru_cache
def cached_host() -> Host | None:
    """The cached description of this CPU, if any."""
    store, key = user_cache(), _key_of_host()
    data = None if store is None or key is None else store.find(key)
    found = None if data is None else Host(*json.loads(data))
    return found if found is not None and found.is_current() else None


def load_code(text: str, name: str) -> LinkedCode | None:
    """The cached code of function ``name`` of an IR text, if any. Does not import LLVM."""
    store, cpu = user_cache(), cached_host() if host.cache_info().currsize == 0 else host()
    if store is None or cpu is None or not cpu.is_current():
        return None
    data = store.find(_key(text, name, cpu))
    return None if data is None else LinkedCode.unpacked(data)


def store_code(text: str, name: str, image: LinkedCode) -> None:
    """Store the code of function ``name`` of an IR text."""
    store = user_cache()
    if store is not None and _key_of_host() is not None and host().is_current():
        store.keep(_key(text, name, host()), image.packed())


def _key(text: str, name: str, cpu: Host) -> str:
    return cache_key("machine code", text, name, _key_of_host(), *cpu)


def read_count(what: str) -> int:
    """A persistent counter of this version of the emulator; 0 if unset. Does not import LLVM."""
    store, key = user_cache(), _key_of_note(what)
    data = None if store is None or key is None else store.find(key)
    return 0 if data is None else int(data)


def write_count(what: str, number: int) -> None:
    """Store a persistent counter. Does not import LLVM."""
    store, key = user_cache(), _key_of_note(what)
    if store is not None and key is not None:
        store.keep(key, b"%d" % number)


def _key_of_note(what: str) -> str | None:
    known = _key_of_host()
    return None if known is None else cache_key("note", what, known, _state_of_emulator())


@lru_cache
def _state_of_emulator() -> tuple:
    """A state that changes with any of the emulator's code."""
    root = Path(__file__).parents[1]
    return tuple(sorted((str(path.relative_to(root)), *_state_of(str(path))) for path in root.rglob("*.py")))


@lru_cache
def _key_of_host() -> str | None:
    """The cache key of the CPU, the location of LLVM and the emulator's code; None if one is unknown."""
    found, code, cpu = PathFinder.find_spec("llvmlite"), _code_here(), host_cpu_id()
    if found is None or not found.origin or code is None or cpu is None:
        return None
    return cache_key("CPU", os.path.abspath(found.origin), code, cpu)


def _code_here() -> str | None:
    """SHA-256 of the code that cached results depend on; None if the files differ from the loaded code."""
    digest = hashlib.sha256()
    for name in _CODE:
        path = Path(__file__).with_name(name)
        try:
            if max(path.stat().st_mtime_ns, path.stat().st_ctime_ns) >= _process_start:
                return None
            digest.update(path.read_bytes())
        except OSError:
            return None
    return digest.hexdigest()


def _query_llvm() -> Host:
    from llvmlite import binding as llvm

    files = [[file, _state_of(file)] for file in _libraries()]
    return Host(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), files)


def _libraries() -> list[str]:
    """The files from which this process has loaded LLVM."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
            found = {line.rstrip("\n").split(maxsplit=5)[-1] for line in lines if "llvm" in line.lower()}
    except OSError:
        return []
    return sorted(path for path in found if os.path.isabs(path))


def _state_of(file: str) -> list[int]:
    """Modification and change time, size and inode of a file; empty if it is missing."""
    try:
        found = os.stat(file)
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]
