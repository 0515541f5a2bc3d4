"""The build cache: look up and store the outputs of steps. A failing cache slows a build down; it never breaks one.

Sound: a file is used only if its bytes have the digest that the record of this key lists, and the files of a step are
used all or not at all. Whoever can write to the store can still store wrong files with matching digests: share it only
with people and machines that you trust to build the artifacts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ....core.byte_sizes import size_text
from ....core.terminal import print_stderr
from .action_result import DamagedRecord, Digest, decode, encode
from .store import BLOBS, RESULTS, Store, StoreError, StoreInterrupted, StoreTooSlow

MAX_FAILURES = 3  # failures in a row, after which the cache is disabled for the rest of the build
RECORD_LIMIT = 1 << 20  # bytes; a record of a thousand files has 150 KiB


@dataclass
class Counts:
    """Statistics of one build. ``damaged`` steps are among the ``misses``; sizes are in bytes."""

    hits: int = 0
    misses: int = 0
    damaged: int = 0
    read: int = 0
    written: int = 0


@dataclass
class BuildCache:
    """The cache of one build over ``store``; with ``readonly`` it stores nothing. Thread-safe.

    ``warn`` receives one sentence at the first failure of the store, and one when the cache is disabled: after
    MAX_FAILURES in a row, or after one timeout.
    """

    store: Store
    readonly: bool = False
    warn: Callable[[str], None] = print_stderr
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self):
        self._lock = threading.Lock()
        self._reading = _FailureCounter(self, "read", "caching is disabled")
        self._writing = _FailureCounter(self, "write", "results are not cached")

    def find(self, key: str, names: Collection[str], *, counted: bool = True) -> dict[str, bytes] | None:
        """The output files ``names`` of the step ``key`` (64 hex digits); None if it must run.

        Entries that only lead to the result of a step are not ``counted``.
        """
        if self._reading.is_disabled:
            return None
        found, damaged = None, False
        try:
            found = self._read(key, names)
        except DamagedRecord:
            damaged = True
        except StoreError as error:
            self._reading.failed(error)
        else:
            self._reading.worked()
        with self._lock:
            self.counts.hits += counted and found is not None
            self.counts.misses += counted and found is None
            self.counts.damaged += damaged
            self.counts.read += sum(map(len, (found or {}).values()))
        return found

    def missed(self) -> None:
        """Count a step without an entry."""
        with self._lock:
            self.counts.misses += 1

    def keep(self, key: str, files: dict[str, bytes]) -> None:
        """Store the output of the step ``key``. The record is written last, when its blobs exist."""
        if self.readonly or self._writing.is_disabled or self._reading.is_disabled:
            return
        digests = {name: Digest.of(data) for name, data in files.items()}
        try:
            for name, data in files.items():
                self.store.write(BLOBS, digests[name].hash, data)
            self.store.write(RESULTS, key, encode(key, digests))
        except StoreError as error:
            self._writing.failed(error)
            return
        self._writing.worked()
        with self._lock:
            self.counts.written += sum(map(len, files.values()))

    def interrupt(self) -> None:
        """End requests of other threads: they find nothing, and nothing is stored after that."""
        self.store.interrupt()

    def summary(self) -> str:
        """One line for the end of the build; "" without lookups."""
        counts = self.counts
        steps = counts.hits + counts.misses
        if not steps:
            return ""
        damaged = f"; {counts.damaged} damaged, rebuilt" if counts.damaged else ""
        return (
            f"cache {self.store.location}: {counts.hits} of {steps} steps found ({100 * counts.hits / steps:.1f} %), "
            f"{size_text(counts.read)} read, {size_text(counts.written)} written{damaged}"
        )

    def _read(self, key: str, names: Collection[str]) -> dict[str, bytes] | None:
        record = self.store.read(RESULTS, key, RECORD_LIMIT)
        if record is None:
            return None
        digests = decode(key, record)
        if digests.keys() != set(names):
            raise DamagedRecord("entry lists different files")
        files = {}
        for name, digest in digests.items():
            data = self.store.read(BLOBS, digest.hash, digest.size)
            if data is None:
                return None
            if Digest.of(data) != digest:
                raise DamagedRecord("content hash mismatch")
            files[name] = data
        return files


class _FailureCounter:
    """Counts failures in a row of reading or writing, and disables it after MAX_FAILURES."""

    def __init__(self, cache: BuildCache, verb: str, consequence: str):
        self.cache, self.verb, self.consequence = cache, verb, consequence
        self.in_a_row, self.is_disabled, self.warned = 0, False, False

    def worked(self) -> None:
        self.in_a_row = 0

    def failed(self, error: StoreError) -> None:
        if (message := self._count(error)) is not None:
            location = self.cache.store.location
            self.cache.warn(f"warning[cache-failed]: cannot {self.verb} cache {location}: {error}; {message}")

    def _count(self, error: StoreError) -> str | None:
        """The consequence of the failure; None if it was reported already, or after an interrupt."""
        with self.cache._lock:
            if self.is_disabled or isinstance(error, StoreInterrupted):
                self.is_disabled = True
                return None
            self.in_a_row += 1
            first, self.warned = not self.warned, True
            if isinstance(error, StoreTooSlow):
                # Each further request would delay a step as long.
                self.is_disabled = True
                return f"for the rest of this build {self.consequence}"
            if self.in_a_row >= MAX_FAILURES:
                self.is_disabled = True
                return f"{MAX_FAILURES} failures in a row, so for the rest of this build {self.consequence}"
        if not first:
            return None
        return "the step runs instead" if self.verb == "read" else "the result is not cached"
