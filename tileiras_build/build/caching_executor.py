"""An executor that wraps another: a step whose result is in the build cache does not run.

The key of a step is the SHA-256 of all that determines its output: the signature that SCons compares, and the contents of
the files that it reads. It contains no path and no host name, so all checkouts of the same sources share entries.
SCons' CacheDir is not used: its keys contain each target's path, and it has an entry per file instead of per step.

What an export reads is known only after it has run. So exports have two kinds of entries, as in compiler caches: the first
key, of the file alone, maps to the dependency records of earlier exports; the first record that matches the current state
maps to the kernels. An export with untraceable actions is not cached. Compiler warnings are stored with the result, and
printed again with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from ..core.code_digest import installed
from ..core.file_io import file_digest, read_file
from ..core.tracing.dependency_record import Comparison, Dependency, DependencyRecord, TracedResult
from ..core.tracing.dependency_state import Probe, Stamp, stamp
from ..core.tracing.portable_paths import PortablePaths
from ..pipeline.export_calls import EXPORT_CALL
from ..pipeline.job import Job
from ..pipeline.stages import InputFile, Stage, load, source_digest
from ..workers.executor import Executor
from ..workers.executor.cache import BuildCache
from ..workers.executor.lazy_executor import LazyExecutor
from .python_to_bytecode_step import CALL
from .stage_actions import stage_signature
from .tilecpp_step import STEP, TILECPP

if TYPE_CHECKING:
    from ..frontend.tilecpp.run_nvcc import Request
    from ..workers.executor.speculative_steps import Lookahead

VERSION = 3  # of what a key covers and of the files of an entry
MAX_CANDIDATES = 16  # records per file; each is another state of its dependencies
_RECORDS = "records"
_REMARKS = "remarks"


class Entry(Protocol):
    """The cache's view of one call."""

    def find(self, cache: BuildCache) -> object | None:
        """The result of the call, if it is cached."""

    def keep(self, cache: BuildCache, made: Any) -> None:
        """Store the result of the call, if it is a function of the inputs."""


class CachingExecutor:
    """Runs what ``cache`` does not have in the executor that ``make`` starts; starts none if the cache has everything."""

    def __init__(self, cache: BuildCache, make: Callable[[], Executor]):
        self.cache, self._thread = cache, threading.local()
        self._inner = LazyExecutor(make)

    def run(
        self, function: str, *arguments: Any, timeout: float | None = None, lookahead: Lookahead | None = None
    ) -> Any:
        """The function's result, from the cache if possible. Raises the errors of the inner executor."""
        entry = _entry(function, arguments)
        found = entry.find(self.cache) if entry else None
        self._thread.taken = found is not None
        if found is not None:
            return found
        made = self._inner.get().run(function, *arguments, timeout=timeout, lookahead=lookahead)
        # The key covers the code on disk; workers may have loaded another version.
        if entry and installed().is_as_read():
            entry.keep(self.cache, made)
        return made

    @property
    def was_hit(self) -> bool:
        """Whether this thread's last call was a cache hit."""
        return getattr(self._thread, "taken", False)

    def interrupt(self) -> None:
        """End all calls, and what they wait for."""
        self.cache.interrupt()
        self._inner.interrupt()

    def close(self) -> None:
        """End all workers."""
        self._inner.close()

    def summary(self) -> str:
        """The statistics of the cache and of the inner executor, a line each; "" without calls."""
        lines = [self.cache.summary(), self._inner.summary()]
        return "\n".join(filter(None, lines))


def _entry(function: str, arguments: tuple) -> Entry | None:
    """The entry of a call; None for calls that are not cached."""
    try:
        return ENTRIES[function](*arguments) if function in ENTRIES else None
    except OSError:
        # An unreadable input: the call itself reports it, with a location.
        return None


# ---- one stage of one kernel
@dataclass(frozen=True)
class LoweringEntry:
    """The files that one stage makes, by suffix; ``stamps`` are the stat states of the tools that it runs, by path."""

    key: str
    suffixes: tuple[str, ...]
    stamps: dict[str, Stamp | None]

    def find(self, cache: BuildCache) -> dict[str, bytes] | None:
        """The files."""
        return cache.find(self.key, self.suffixes)

    def keep(self, cache: BuildCache, made: dict[str, bytes]) -> None:
        """Store them, unless a tool has changed since the key was computed."""
        if all(stamp(path) == before for path, before in self.stamps.items()):
            cache.keep(self.key, made)


def _entry_of_lowering(data: bytes, source: str, target: str, job: Job, name: str, rows: tuple[Stage, ...]) -> Entry:
    """The entry of one stage of one kernel; ``name`` is for diagnostics only."""
    stage = rows[-1]
    asked = [file for file in stage.inputs if file.requested_by is None or load(file.requested_by)(data)]
    # Before the digests: if a tool changes in between, the entry is not stored.
    stamps = {_path(job, file): stamp(_path(job, file)) for file in asked}
    inputs = {file.option: file_digest(_path(job, file)) for file in asked}
    signature = _signature(stage, stage.job(job))
    key = _key(signature, source, hashlib.sha256(data).hexdigest(), inputs)
    return LoweringEntry(key, (stage.suffix, *stage.side_outputs), stamps)


def _path(job: Job, file: InputFile) -> str:
    return str(getattr(job, file.option))


@cache
def _signature(stage: Stage, job: Job) -> dict:
    return stage_signature(stage, job)


# ---- the kernels of a Python file
@dataclass(frozen=True)
class ExportEntry:
    """The kernels of a Python file, by name, and the dependency records of its exports."""

    first_key: str
    names: tuple[str, ...]
    places: PortablePaths

    def find(self, cache: BuildCache) -> TracedResult | None:
        """The kernels, and the record that matches the current state."""
        comparison = Comparison(Probe(self.places))
        for record in self._records(cache):
            if comparison.first_change(record) is None:
                files = cache.find(self._key(record), (*self.names, _REMARKS))
                return self._found(files, _stamped(record, comparison.probe)) if files is not None else None
        cache.missed()
        return None

    def keep(self, cache: BuildCache, made: TracedResult) -> None:
        """Store the kernels, unless the export had untraceable actions."""
        if made.record.untraced_actions or set(made.files) != set(self.names):
            return
        record = self._shared(cache, made)
        cache.keep(self._key(record), made.files | {_REMARKS: json.dumps(made.remarks).encode()})
        plain = _stamped(record, None)
        others = [record for record in self._records(cache) if record.digest() != plain.digest()]
        records = [record.to_bytes().decode() for record in (plain, *others[: MAX_CANDIDATES - 1])]
        cache.keep(self.first_key, {_RECORDS: json.dumps(records).encode()})

    def _shared(self, cache: BuildCache, made: TracedResult) -> DependencyRecord:
        """Its record; without the project's path if a project elsewhere with the same inputs has the same output."""
        portable = _anywhere(made.record)
        if portable == made.record:
            return portable
        others = [record for record in self._records(cache) if _anywhere(record).digest() == portable.digest()]
        elsewhere = [record for record in others if record.digest() != made.record.digest()]
        same = any(self._made(cache, record) == made.files for record in elsewhere)
        return portable if same else made.record

    def _made(self, cache: BuildCache, record: DependencyRecord) -> dict[str, bytes] | None:
        """The kernels of an export with this record."""
        files = cache.find(self._key(record), (*self.names, _REMARKS), counted=False)
        return {name: files[name] for name in self.names} if files is not None else None

    def _found(self, files: dict[str, bytes], record: DependencyRecord) -> TracedResult:
        remarks = tuple(map(str, json.loads(files[_REMARKS])))
        return TracedResult({name: files[name] for name in self.names}, record, remarks)

    def _records(self, cache: BuildCache) -> list[DependencyRecord]:
        found = cache.find(self.first_key, (_RECORDS,), counted=False)
        try:
            texts = json.loads(found[_RECORDS]) if found else []
            records = [DependencyRecord.from_bytes(text.encode()) for text in texts]
        except (ValueError, TypeError, AttributeError):
            return []
        return [record for record in records if record is not None]

    def _key(self, record: DependencyRecord) -> str:
        return _key(self.first_key, sorted(self.names), record.digest())


def _entry_of_export(function: str, root: str, stage: Stage, path: str, names: tuple[str, ...], *_) -> Entry | None:
    """The entry of the export of a Python file in the project ``root``."""
    if function != EXPORT_CALL:
        return None
    read = {os.path.relpath(path, root): hashlib.sha256(read_file(path)).hexdigest()}
    signature = {"stage": stage.name, "code": source_digest(stage)}
    return ExportEntry(_key("export", signature, sorted(names), read), names, PortablePaths(root))


def _entry_of_compiling(request: Request, root: str) -> Entry:
    """The entry of a CUDA Tile C++ file; the paths of the file and of nvcc differ between checkouts."""
    places, path = PortablePaths(root), os.path.join(root, request.path)
    options = [
        request.sm,
        request.flags,
        request.instantiate,
        request.nvcc and places.name(os.path.realpath(request.nvcc)),
    ]
    read = {os.path.relpath(path, root): hashlib.sha256(read_file(path)).hexdigest()}
    return ExportEntry(_key("tilecpp", source_digest(TILECPP), options, read), (TILECPP.suffix,), places)


def _anywhere(record: DependencyRecord) -> DependencyRecord:
    return replace(record, reads=tuple(read for read in record.reads if read.kind != "place"))


def _stamped(record: DependencyRecord, probe: Probe | None) -> DependencyRecord:
    """``record`` with this machine's stat states; with none unless ``looking``."""
    stamps = probe.stamps if probe else {}
    rows = [[_restamped(read, probe, stamps) for read in part] for part in record.blocks()]
    return DependencyRecord.of(rows[0], rows[1], record.untraced_actions)


def _restamped(read: Dependency, probe: Probe | None, stamps: dict) -> Dependency:
    if read.kind != "contents":
        return read
    return replace(read, stamp=stamps.get(probe.paths.path(read.name)) if probe else None)


# The functions whose results are cached, and the factory of an entry from a call's arguments.
ENTRIES: dict[str, Callable[..., Entry | None]] = {
    "tileiras_build.driver:lower": _entry_of_lowering,
    CALL: _entry_of_export,
    STEP: _entry_of_compiling,
}


def _key(*parts: object) -> str:
    text = json.dumps([VERSION, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
