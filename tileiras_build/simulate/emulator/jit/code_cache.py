"""Machine code that LLVM has made, kept for the next processes of this user (``persistent_cache.py``): they need no LLVM.

It is found by all that it comes from: the text of its IR, the CPU as LLVM names it and its features, LLVM, and the code here that
asks LLVM and links what it makes. What LLVM says of a CPU is kept, too, by what the CPU says of itself. Others than x86-64 under
Linux are not asked here, and so nothing of theirs is kept.
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
_process_start = time.time_ns()  # about when this process has read its code


class Host(NamedTuple):
    """This CPU as LLVM names it, its features, "+avx2,-sse4a", and the files that LLVM comes from, with their states."""

    name: str
    features: str
    files: list[list]

    def is_current(self) -> bool:
        """Whether LLVM is in the files that it was in."""
        return bool(self.files) and all(state and state == _state_of(file) for file, state in self.files)


@lru_cache
def host() -> Host:
    """What LLVM says of this CPU; LLVM is asked where no process before has noted it."""
    found = cached_host()
    if found is None:
        found = _query_llvm()
        store, key = user_cache(), _key_of_host()
        if store is not None and key is not None and found.is_current():
            store.keep(key, json.dumps(found).encode())
    return found


@lru_cache
def cached_host() -> Host | None:
    """What a process before has noted that LLVM says of this CPU."""
    store, key = user_cache(), _key_of_host()
    data = None if store is None or key is None else store.find(key)
    found = None if data is None else Host(*json.loads(data))
    return found if found is not None and found.is_current() else None


def load_code(text: str, name: str) -> LinkedCode | None:
    """The code of the function ``name`` of a text, if it is kept. LLVM is not asked."""
    store, cpu = user_cache(), cached_host() if host.cache_info().currsize == 0 else host()
    if store is None or cpu is None or not cpu.is_current():
        return None
    data = store.find(_key(text, name, cpu))
    return None if data is None else LinkedCode.unpacked(data)


def store_code(text: str, name: str, image: LinkedCode) -> None:
    """Keep it."""
    store = user_cache()
    if store is not None and _key_of_host() is not None and host().is_current():
        store.keep(_key(text, name, host()), image.packed())


def _key(text: str, name: str, cpu: Host) -> str:
    return cache_key("machine code", text, name, _key_of_host(), *cpu)


def read_count(what: str) -> int:
    """The number that processes before have noted of the machine code of this emulator, 0 where none has. LLVM is not asked."""
    store, key = user_cache(), _key_of_note(what)
    data = None if store is None or key is None else store.find(key)
    return 0 if data is None else int(data)


def write_count(what: str, number: int) -> None:
    """Note it, for the next processes. LLVM is not asked."""
    store, key = user_cache(), _key_of_note(what)
    if store is not None and key is not None:
        store.keep(key, b"%d" % number)


def _key_of_note(what: str) -> str | None:
    known = _key_of_host()
    return None if known is None else cache_key("note", what, known, _state_of_emulator())


@lru_cache
def _state_of_emulator() -> tuple:
    """What changes with any of its code."""
    root = Path(__file__).parents[1]
    return tuple(sorted((str(path.relative_to(root)), *_state_of(str(path))) for path in root.rglob("*.py")))


@lru_cache
def _key_of_host() -> str | None:
    """Of the CPU, of the place of LLVM, and of the code here; None where one of them is not known."""
    found, code, cpu = PathFinder.find_spec("llvmlite"), _code_here(), host_cpu_id()
    if found is None or not found.origin or code is None or cpu is None:
        return None
    return cache_key("CPU", os.path.abspath(found.origin), code, cpu)


def _code_here() -> str | None:
    """SHA-256 of the code on which it depends what is kept; None where that is not what this process runs."""
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
    """The files that this process has LLVM from."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
            found = {line.rstrip("\n").split(maxsplit=5)[-1] for line in lines if "llvm" in line.lower()}
    except OSError:
        return []
    return sorted(path for path in found if os.path.isabs(path))


def _state_of(file: str) -> list[int]:
    """When a file was written and changed, its size and its number; nothing where it is gone."""
    try:
        found = os.stat(file)
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]
