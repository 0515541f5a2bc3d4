"""The record of a step's reads: rows of kind, name and state, as text.

A record is two blocks of JSON, one line each: the reads of the step itself, then those of the libraries that were
loaded before it. The second is the same text for all steps of a build, so that it is compared once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from .dependency_state import Probe, Stamp

VERSION = 1
SUFFIX = ".reads"  # of files with a record
_dumps = json.dumps  # the program may replace it


@dataclass(frozen=True, slots=True)
class Dependency:
    """One read: its kind (one of ``dependency_state.PROBES``), its name, its state, and its stamp if it has contents."""

    kind: str
    name: str
    state: str
    stamp: Stamp | None = None

    def to_json(self) -> list:
        """The read as a row of JSON."""
        return [self.kind, self.name, self.state, *([list(self.stamp)] if self.stamp else [])]

    @classmethod
    def from_json(cls, row: list) -> Dependency:
        """The read of a row; raises ValueError or TypeError for an invalid row."""
        kind, name, state, *stamp = row
        if not all(isinstance(text, str) for text in (kind, name, state)):
            raise ValueError("not a row")
        return cls(kind, name, state, tuple(stamp[0]) if stamp else None)

    def is_current(self, probe: Probe) -> bool:
        """Whether the state is unchanged."""
        return probe.state(self.kind, self.name, (self.stamp, self.state) if self.stamp else None) == self.state


@dataclass(frozen=True)
class DependencyRecord:
    """``reads`` are the step's own, ``libraries`` those of previously loaded libraries, as text.

    ``untraced_actions`` describes actions with unobservable dependencies; a step with any has no valid record.
    """

    reads: tuple[Dependency, ...]
    libraries: str = "[]"
    untraced_actions: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Serialize the record."""
        head = {
            "version": VERSION,
            "unfollowed": self.untraced_actions,
            "reads": [read.to_json() for read in self.reads],
        }
        return f"{_dumps(head)}\n{self.libraries}\n".encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> DependencyRecord | None:
        """Parse a record; None if ``data`` is not one of this version."""
        try:
            first, libraries, _ = data.decode().split("\n")
            head = json.loads(first)
            if head["version"] != VERSION:
                return None
            reads = tuple(map(Dependency.from_json, head["reads"]))
            _parse(libraries)
            return cls(reads, libraries, tuple(map(str, head["unfollowed"])))
        except (ValueError, TypeError, KeyError):
            return None

    def all_reads(self) -> Iterator[Dependency]:
        """The step's own reads, then the libraries'."""
        yield from self.reads
        yield from _parse(self.libraries)

    @classmethod
    def of(
        cls, reads: Iterable[Dependency], libraries: Iterable[Dependency], unfollowed: tuple[str, ...] = ()
    ) -> DependencyRecord:
        """A record of these rows."""
        return cls(tuple(reads), render_block(libraries), unfollowed)

    def blocks(self) -> tuple[tuple[Dependency, ...], tuple[Dependency, ...]]:
        """The step's own reads, and the libraries'."""
        return self.reads, _parse(self.libraries)

    def digest(self) -> str:
        """SHA-256 (hex) over all reads, without stamps."""
        return hashlib.sha256((_states(self.reads) + _states_of_block(self.libraries)).encode()).hexdigest()


class ReadsChanged(Exception):
    """A read of a step changed before the step ended: the argument describes it, in a few words."""

    ends_worker = True  # the process has loaded an outdated state


@dataclass(frozen=True)
class TracedResult:
    """The outputs of a step, files by name, and the record of its reads; ``remarks`` are lines for the user."""

    files: dict[str, bytes]
    record: DependencyRecord
    remarks: tuple[str, ...] = ()


def render_block(reads: Iterable[Dependency]) -> str:
    """The text of ``DependencyRecord.libraries``."""
    return _dumps([read.to_json() for read in reads])


@lru_cache(maxsize=64)
def _parse(block: str) -> tuple[Dependency, ...]:
    return tuple(map(Dependency.from_json, json.loads(block)))


@lru_cache(maxsize=64)
def _states_of_block(block: str) -> str:
    return _states(_parse(block))


def _states(reads: Iterable[Dependency]) -> str:
    return _dumps([(read.kind, read.name, read.state) for read in reads])


class Comparison:
    """Compares records with the present state; reads that several records share are compared once."""

    def __init__(self, probe: Probe):
        self.probe = probe
        self._blocks: dict[str, Dependency | None] = {}

    def first_change(self, record: DependencyRecord) -> str | None:
        """The first change since the record, in a few words; None if all reads are unchanged."""
        if record.untraced_actions:
            return f"{record.untraced_actions[0]}, which cannot be traced"
        changed = self._first(record.reads) or self._first_of_block(record.libraries)
        return describe(changed) if changed else None

    def _first_of_block(self, block: str) -> Dependency | None:
        if block not in self._blocks:
            self._blocks[block] = self._first(_parse(block))
        return self._blocks[block]

    def _first(self, reads: Iterable[Dependency]) -> Dependency | None:
        return next((read for read in reads if not read.is_current(self.probe)), None)


_DESCRIPTIONS = {
    "contents": "{} changed",
    "type": "{} was created or deleted",
    "stat": "{} changed (content or mtime)",
    "link": "link {} has another target",
    "names": "the files in {} changed",
    "candidates": "module {} now resolves to another file",
    "among": "files searched for in {} changed",
    "program": "program {} now resolves to another path",
    "shadows": "modules in {} shadow standard ones",
    "distributions": "the packages in {} changed",
    "startup": "Python startup files (.pth) in {} changed",
    "variable": "the variable {} changed",
    "environment": "the environment changed{}",
    "path": "sys.path changed{}",
    "machine": "the machine's {} changed",
    "place": "the project was moved{}",
}


def describe(read: Dependency) -> str:
    """Describe a change of a read, in a few words."""
    name = read.name.rpartition("//")[0] if read.kind == "among" else read.name
    shown = name.removeprefix("#/").replace("//", "/")
    if name.startswith("#/"):
        shown = shown.lstrip("/") or "."
    return _DESCRIPTIONS[read.kind].format(shown)
