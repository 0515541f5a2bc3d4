"""Finds and keeps what steps make; a cache that fails makes a build slower, never wrong and never stopped.

Sound: a file is taken only if its bytes have the digest that the record of exactly this key lists, and a step's files
are taken all or not at all. Whoever may write to the store can still put wrong files there: share it with people
and machines that you would take the artifacts from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ....core.byte_sizes import size_text
from ....core.terminal import print_stderr
from .action_result import DamagedRecord, Digest, decode, encode
from .store import BLOBS, RESULTS, Store, StoreError, StoreInterrupted, StoreTooSlow

MAX_FAILURES = 3  # in a row, and the rest of the build goes without
RECORD_LIMIT = 1 << 20  # bytes; a record of a thousand files has 150 KiB


@dataclass
class Counts:
    """What a cache did in one build. ``damaged`` steps are among the ``misses``; sizes are in bytes."""

    hits: int = 0
    misses: int = 0
    damaged: int = 0
    read: int = 0
    written: int = 0


@dataclass
class BuildCache:
    """The cache of one build over ``store``; ``readonly`` ones keep nothing. Used by several threads at once.

    ``warn`` is given one sentence when the store fails for the first time, and one when it is given up: after FAILURES
    in a row, or one that took all the time that a request has.
    """

    store: Store
    readonly: bool = False
    warn: Callable[[str], None] = print_stderr
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self):
        self._lock = threading.Lock()
        self._reading = _FailureCounter(self, "read", "it builds without the cache")
        self._writing = _FailureCounter(self, "written", "it only reads")

    def find(self, key: str, names: Collection[str], *, counted: bool = True) -> dict[str, bytes] | None:
        """The files ``names`` that the step ``key`` (64 hex digits) made; None where it must run.

        What is no step's result, but leads to one, is not ``counted``.
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
        """Count a step that no entry leads to."""
        with self._lock:
            self.counts.misses += 1

    def keep(self, key: str, files: dict[str, bytes]) -> None:
        """Keep what the step ``key`` made. The record is written last: it promises the blobs."""
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
        """End what other threads ask of the store: they find nothing, and nothing is kept any more."""
        self.store.interrupt()

    def summary(self) -> str:
        """One line for the end of the build; "" where no step asked."""
        counts = self.counts
        steps = counts.hits + counts.misses
        if not steps:
            return ""
        damaged = f"; {counts.damaged} damaged, made anew" if counts.damaged else ""
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
            raise DamagedRecord("it lists other files")
        files = {}
        for name, digest in digests.items():
            data = self.store.read(BLOBS, digest.hash, digest.size)
            if data is None:
                return None
            if Digest.of(data) != digest:
                raise DamagedRecord("a file has other bytes")
            files[name] = data
        return files


class _FailureCounter:
    """Reading or writing: counts the failures in a row, and gives up after FAILURES of them."""

    def __init__(self, cache: BuildCache, verb: str, consequence: str):
        self.cache, self.verb, self.consequence = cache, verb, consequence
        self.in_a_row, self.is_disabled, self.warned = 0, False, False

    def worked(self) -> None:
        self.in_a_row = 0

    def failed(self, error: StoreError) -> None:
        if (message := self._count(error)) is not None:
            place = self.cache.store.location
            self.cache.warn(f"warning[cache-failed]: the cache {place} cannot be {self.verb}: {error}; {message}")

    def _count(self, error: StoreError) -> str | None:
        """What comes of the failure; None where that has been said, or nobody waits for it any more."""
        with self.cache._lock:
            if self.is_disabled or isinstance(error, StoreInterrupted):
                self.is_disabled = True
                return None
            self.in_a_row += 1
            first, self.warned = not self.warned, True
            if isinstance(error, StoreTooSlow):
                # The next one would hold a step up as long.
                self.is_disabled = True
                return f"for the rest of this build {self.consequence}"
            if self.in_a_row >= MAX_FAILURES:
                self.is_disabled = True
                return f"{MAX_FAILURES} failures in a row, so for the rest of this build {self.consequence}"
        if not first:
            return None
        return "the step is built instead" if self.verb == "read" else "the step is not kept"
