"""An executor in front of another: a step whose result the build cache has does not run.

The key of a step is the SHA-256 of what decides its bytes: the signature that SCons compares, and the contents of
the files that it reads. It holds no path and no machine, so every checkout of the same sources finds the same entries.
Not built on SCons' CacheDir: its keys hold each target's path, and an entry per file instead of per step.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from functools import cache

from ..executor import Executor
from ..executor.cache import BuildCache
from ..executor.once import Once
from ..files import file_digest, read_file
from ..pipeline.job import Job
from ..pipeline.stages import Stage, load, source_digest
from .actions import stage_signature

VERSION = 1  # of what a key covers and of the files of an entry


class CachingExecutor:
    """Runs in the executor that ``make`` starts what ``cache`` does not have; starts none if it has everything."""

    def __init__(self, cache: BuildCache, make: Callable[[], Executor]):
        self.cache, self._thread = cache, threading.local()
        self._inner = Once(make)

    def run(self, function: str, *arguments: object, timeout: float | None = None) -> object:
        """The function's result, from the cache where it has one. Raises what the inner executor raises."""
        entry = _entry(function, arguments)
        found = entry and self.cache.find(*entry)
        self._thread.taken = found is not None
        if found is not None:
            return found
        made = self._inner.get().run(function, *arguments, timeout=timeout)
        if entry:
            self.cache.keep(entry[0], made)
        return made

    @property
    def taken(self) -> bool:
        """Whether the cache answered this thread's last call."""
        return getattr(self._thread, "taken", False)

    def interrupt(self) -> None:
        """End all calls, and what they wait for."""
        self.cache.interrupt()
        self._inner.interrupt()

    def close(self) -> None:
        """End all workers."""
        self._inner.close()

    def summary(self) -> str:
        """What the cache did, and the inner executor, a line each; "" if nothing was asked."""
        lines = [self.cache.summary(), self._inner.summary()]
        return "\n".join(filter(None, lines))


def _entry(function: str, arguments: tuple) -> tuple | None:
    """The key and the names of a call's files; None for calls that are not cached."""
    try:
        return ENTRIES[function](*arguments) if function in ENTRIES else None
    except OSError:
        # An input that cannot be read: the call itself says so, with a location.
        return None


def _entry_of_lower(data: bytes, source: str, target: str, job: Job, name: str, rows: tuple[Stage, ...]):
    """The key of one stage of one kernel, and the suffixes of the files it makes; ``name`` is for diagnostics only."""
    stage = rows[-1]
    asked = [file for file in stage.inputs if file.asked_by is None or load(file.asked_by)(data)]
    inputs = {file.option: file_digest(getattr(job, file.option)) for file in asked}
    signature = _signature(stage, stage.job(job))
    return _key(signature, source, hashlib.sha256(data).hexdigest(), inputs), (stage.suffix, *stage.side_products)


def _entry_of_export(stage: Stage, path: str, names: tuple[str, ...], root: str):
    """The key of the bytecode of a Python file's kernels, and their names.

    Debug information names the file relative to ``root``; what the file imports decides the bytes as well.
    """
    from ..bytecode.export import find_imports

    files = [path, *sorted(map(str, find_imports(path)))]
    read = {os.path.relpath(file, root): hashlib.sha256(read_file(file)).hexdigest() for file in files}
    return _key({"stage": stage.name, "code": source_digest(stage)}, sorted(names), read, {}), names


# The functions whose results are cached: their arguments to (key, names of the files in the result).
ENTRIES = {
    "tileiras_build.driver:lower": _entry_of_lower,
    "tileiras_build.scons_tool.actions:export_named": _entry_of_export,
}


@cache
def _signature(stage: Stage, job: Job) -> dict:
    return stage_signature(stage, job)


def _key(*parts: object) -> str:
    text = json.dumps([VERSION, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
