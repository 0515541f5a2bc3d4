"""An executor in front of another: a step whose result the build cache has does not run.

The key of a step is the SHA-256 of what decides its bytes: the signature that SCons compares, and the contents of
the files that it reads. It holds no path and no machine, so every checkout of the same sources finds the same entries.
Not built on SCons' CacheDir: its keys hold each target's path, and an entry per file instead of per step.

What an export reads is known only when it has run. So it has two kinds of entry, as compiler caches have them: the first
key, of the file alone, leads to what earlier exports of it have read; the first of these records that holds here leads to
the kernels. An export that did what nobody can follow is not kept. What a compiler has said is kept with them: whoever
takes the result hears its warnings too.
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
from ..core.tracing.portable_paths import PortablePaths
from ..core.tracing.state_probe import Probe, Stamp, stamp
from ..pipeline.job import Job
from ..pipeline.stages import InputFile, Stage, load, source_digest
from ..workers.executor import Executor
from ..workers.executor.cache import BuildCache
from ..workers.executor.lazy_executor import LazyExecutor
from .export_step import CALL, EXPORT_CALL
from .stage_actions import stage_signature
from .tilecpp_step import STEP, TILECPP

if TYPE_CHECKING:
    from ..frontend.tilecpp.run_nvcc import Request
    from ..workers.executor.speculative_steps import Lookahead

VERSION = 3  # of what a key covers and of the files of an entry
MAX_CANDIDATES = 16  # records of one file; each is another state of what it reads
_RECORDS = "records"
_REMARKS = "remarks"


class Entry(Protocol):
    """What the cache keeps of one call."""

    def find(self, cache: BuildCache) -> object | None:
        """The result of the call, if the cache has it."""

    def keep(self, cache: BuildCache, made: Any) -> None:
        """Keep what the call has returned, if it is what these inputs make."""


class CachingExecutor:
    """Runs in the executor that ``make`` starts what ``cache`` does not have; starts none if it has everything."""

    def __init__(self, cache: BuildCache, make: Callable[[], Executor]):
        self.cache, self._thread = cache, threading.local()
        self._inner = LazyExecutor(make)

    def run(
        self, function: str, *arguments: Any, timeout: float | None = None, lookahead: Lookahead | None = None
    ) -> Any:
        """The function's result, from the cache where it has one. Raises what the inner executor raises."""
        entry = _entry(function, arguments)
        found = entry.find(self.cache) if entry else None
        self._thread.taken = found is not None
        if found is not None:
            return found
        made = self._inner.get().run(function, *arguments, timeout=timeout, lookahead=lookahead)
        # The key holds the code that was read; workers may have loaded another by now.
        if entry and installed().is_as_read():
            entry.keep(self.cache, made)
        return made

    @property
    def was_hit(self) -> bool:
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


def _entry(function: str, arguments: tuple) -> Entry | None:
    """The entry of a call; None for calls that are not cached."""
    try:
        return ENTRIES[function](*arguments) if function in ENTRIES else None
    except OSError:
        # An input that cannot be read: the call itself says so, with a location.
        return None


# ---- one stage of one kernel
@dataclass(frozen=True)
class LoweringEntry:
    """The files that one stage makes, by suffix; ``stamps`` are those of the tools that it runs, by path."""

    key: str
    suffixes: tuple[str, ...]
    stamps: dict[str, Stamp | None]

    def find(self, cache: BuildCache) -> dict[str, bytes] | None:
        """The files."""
        return cache.find(self.key, self.suffixes)

    def keep(self, cache: BuildCache, made: dict[str, bytes]) -> None:
        """Keep them, unless a tool is no longer the one that the key is of."""
        if all(stamp(path) == before for path, before in self.stamps.items()):
            cache.keep(self.key, made)


def _entry_of_lowering(data: bytes, source: str, target: str, job: Job, name: str, rows: tuple[Stage, ...]) -> Entry:
    """The entry of one stage of one kernel; ``name`` is for diagnostics only."""
    stage = rows[-1]
    asked = [file for file in stage.inputs if file.requested_by is None or load(file.requested_by)(data)]
    # Before the digests, which are those of the stamps or the entry is not kept.
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
    """The kernels of a Python file, by name, and the records of what its exports have read."""

    first_key: str
    names: tuple[str, ...]
    places: PortablePaths

    def find(self, cache: BuildCache) -> TracedResult | None:
        """The kernels, and the record that holds here."""
        comparison = Comparison(Probe(self.places))
        for record in self._records(cache):
            if comparison.first_change(record) is None:
                files = cache.find(self._key(record), (*self.names, _REMARKS))
                return self._found(files, _stamped(record, comparison.probe)) if files is not None else None
        cache.missed()
        return None

    def keep(self, cache: BuildCache, made: TracedResult) -> None:
        """Keep the kernels, unless what they were made from cannot be followed."""
        if made.record.untraced_actions or set(made.files) != set(self.names):
            return
        record = self._shared(cache, made)
        cache.keep(self._key(record), made.files | {_REMARKS: json.dumps(made.remarks).encode()})
        plain = _stamped(record, None)
        others = [record for record in self._records(cache) if record.digest() != plain.digest()]
        records = [record.to_bytes().decode() for record in (plain, *others[: MAX_CANDIDATES - 1])]
        cache.keep(self.first_key, {_RECORDS: json.dumps(records).encode()})

    def _shared(self, cache: BuildCache, made: TracedResult) -> DependencyRecord:
        """Its record; without where the project lies, where a project elsewhere that read the same has made the same bytes."""
        portable = _anywhere(made.record)
        if portable == made.record:
            return portable
        others = [record for record in self._records(cache) if _anywhere(record).digest() == portable.digest()]
        elsewhere = [record for record in others if record.digest() != made.record.digest()]
        same = any(self._made(cache, record) == made.files for record in elsewhere)
        return portable if same else made.record

    def _made(self, cache: BuildCache, record: DependencyRecord) -> dict[str, bytes] | None:
        """The kernels that an export with this record has made."""
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
    """The entry of the export of a Python file, which lies in the project ``root``."""
    if function != EXPORT_CALL:
        return None
    read = {os.path.relpath(path, root): hashlib.sha256(read_file(path)).hexdigest()}
    signature = {"stage": stage.name, "code": source_digest(stage)}
    return ExportEntry(_key("export", signature, sorted(names), read), names, PortablePaths(root))


def _entry_of_compiling(request: Request, root: str) -> Entry:
    """The entry of a CUDA Tile C++ file; other checkouts have it in other folders, and nvcc too."""
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
    """``record`` with this machine's stamps; without ``looking`` with none."""
    stamps = probe.stamps if probe else {}
    rows = [[_restamped(read, probe, stamps) for read in part] for part in record.blocks()]
    return DependencyRecord.of(rows[0], rows[1], record.untraced_actions)


def _restamped(read: Dependency, probe: Probe | None, stamps: dict) -> Dependency:
    if read.kind != "contents":
        return read
    return replace(read, stamp=stamps.get(probe.paths.path(read.name)) if probe else None)


# The functions whose results are cached, and what makes the entry of a call from its arguments.
ENTRIES: dict[str, Callable[..., Entry | None]] = {
    "tileiras_build.driver:lower": _entry_of_lowering,
    CALL: _entry_of_export,
    STEP: _entry_of_compiling,
}


def _key(*parts: object) -> str:
    text = json.dumps([VERSION, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
