"""The record of a successful build: every file that it read or wrote, by stat, in groups by the source that it belongs to.

The first group belongs to all kernels; a file of several sources is in the group of each. So a null build compares two
arrays, an incremental build replaces the groups of the sources that it has built, and no file needs a list of owners.

The file: a digest of the rest; two sizes; the paths; a JSON head; five integers for each path. With a library of 100,000
files each loop over the paths takes 10 to 20 ms, and to stat them half a second.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from ...core.file_io import write_files
from ...core.tracing.dependency_state import stamp

Files = Mapping[
    str, Iterable[int] | None
]  # path -> the five fields of ``fs_queries.stat_state``; None: there is no file
Owners = Mapping[str, Set[str]]  # path -> the sources that the file belongs to; of others it belongs to all kernels
ABSENT = (0, 0, -1, 0, 0)
_WIDTH, _SIZE = len(ABSENT), 2  # integers of a state, and the index of the size
_ALL = ""  # the group of the files of all kernels
_MAX_SHARERS = 32  # maximum of sources of a file; a file of more belongs to all
_DIGEST_BYTES, _SIZE_BYTES = 32, 8  # bytes of the digest, and of each size (of the paths, of the head)
_PATH_SEPARATOR = "\0"
_LAYOUT = b"sizes, paths, head, states by group"  # hashed with the contents: a file with another layout is invalid


@dataclass(frozen=True)
class FullGraph:
    """Information on all kernels for a run of some: their names by the path of their source, and the number of cubins."""

    sources: dict[str, list[str]]
    cubins: int


@dataclass(frozen=True)
class BuildRecord:
    """``head`` describes the run's command line and the queries of its build scripts; ``groups`` are the counts of paths
    of all kernels and of each source, in the order of ``paths``. ``full_graph`` is None if only a run of all is possible.
    """

    head: dict
    paths: list[str]
    states: array
    groups: dict[str, int]
    full_graph: FullGraph | None

    def _spans(self) -> Iterator[tuple[str, int, int]]:
        """Each group with the indices of its first path and of the one after its last."""
        bounds = pairwise(accumulate(self.groups.values(), initial=0))
        return ((source, start, end) for source, (start, end) in zip(self.groups, bounds, strict=True))

    def changed_sources(self) -> frozenset[str] | None:
        """The sources whose files have changed since; None if all kernels must be checked.

        The removal of a source may affect the build scripts in any way.
        """
        now, found = _states_of(self.paths), set()
        if now == self.states:
            return frozenset()
        for source, start, end in self._spans():
            if _slice(now, start, end) != _slice(self.states, start, end):
                is_removed = self.paths[start] == source and now[start * _WIDTH + _SIZE] == ABSENT[_SIZE]
                if source == _ALL or is_removed:
                    return None
                found.add(source)
        return frozenset(found) if self.full_graph is not None else None

    def present(self, paths: Set[str]) -> set[str]:
        """The given ``paths`` that existed."""
        sizes = self.states[_SIZE::_WIDTH]
        return {path for path, size in zip(self.paths, sizes, strict=True) if path in paths and size != ABSENT[_SIZE]}

    def with_subset(self, sources: Set[str], head: dict, files: Files, owners: Owners) -> BuildRecord:
        """The record after a run of the kernels of these sources, which visited ``files``; the rest is unchanged."""
        assert self.full_graph is not None, "the record has no full graph"
        spans = {source: (start, end) for source, start, end in self._spans()}
        new = _grouped(files, owners, self.full_graph)
        of_all = self._files(*spans[_ALL]) | new.pop(_ALL)
        of_all |= {path: files[path] for path in of_all.keys() & files.keys()}
        changed = {_ALL: of_all}
        for source in sources | new.keys():
            kept = self._files(*spans[source]) if source in spans and source not in sources else {}
            found = kept | new.get(source, {})
            changed[source] = {path: state for path, state in found.items() if path not in of_all}
        made = _Parts()
        for source in dict.fromkeys([*spans, *changed]):
            if source in changed:
                made.add(source, changed[source], _flat(changed[source].values()))
            else:
                start, end = spans[source]
                made.add(source, self.paths[start:end], _slice(self.states, start, end))
        return BuildRecord(head, made.paths, made.states, made.groups, self.full_graph)

    def _files(self, start: int, end: int) -> dict[str, Iterable[int] | None]:
        """The paths of a group with their states."""
        return {self.paths[at]: _slice(self.states, at, at + 1) for at in range(start, end)}


class _Parts:
    """The paths and the states of groups, one after the other."""

    def __init__(self):
        self.paths: list[str] = []
        self.states, self.groups = array("q"), dict[str, int]()

    def add(self, source: str, paths: Collection[str], states: array) -> None:
        """Append a group; a group of no files is left out, except that of all kernels."""
        if paths or source == _ALL:
            self.groups[source] = len(paths)
            self.paths += paths
            self.states += states


def record_of(head: dict, files: Files, owners: Owners, full_graph: FullGraph | None) -> BuildRecord:
    """The record of a run of all kernels; ``owners`` are the sources that each path belongs to, if any."""
    made = _Parts()
    for source, found in _grouped(files, owners, full_graph).items():
        made.add(source, found, _flat(found.values()))
    return BuildRecord(head, made.paths, made.states, made.groups, full_graph)


def _grouped(files: Files, owners: Owners, full_graph: FullGraph | None) -> dict[str, dict[str, Iterable[int] | None]]:
    """The files of all kernels, and of each source, the source itself first."""
    groups: dict[str, dict[str, Iterable[int] | None]] = {_ALL: {}}
    known = full_graph.sources.keys() if full_graph is not None else set()
    for path, state in files.items():
        mine = known & owners.get(path, set())
        for source in mine if 0 < len(mine) <= _MAX_SHARERS else (_ALL,):
            groups.setdefault(source, {})[path] = state
    for source, found in groups.items():
        if source in found:
            groups[source] = {source: found[source]} | found
    return groups


def _flat(states: Iterable[Iterable[int] | None]) -> array:
    return array("q", [number for state in states for number in state or ABSENT])


def _slice(states: array, start: int, end: int) -> array:
    return states[start * _WIDTH : end * _WIDTH]


def _states_of(paths: Iterable[str]) -> array:
    """The states of files as they are now."""
    found = array("q")
    for path in paths:
        found.extend(stamp(path) or ABSENT)
    return found


def write(path: Path, record: BuildRecord) -> None:
    """Write a record."""
    graph = record.full_graph
    head = record.head | {
        "groups": record.groups,
        "full_graph": None if graph is None else {"sources": graph.sources, "cubins": graph.cubins},
    }
    text, head_text = _encode(_PATH_SEPARATOR.join(record.paths)), _encode(json.dumps(head))
    sizes = b"".join(len(part).to_bytes(_SIZE_BYTES, "big") for part in (text, head_text))
    parts = (sizes, text, head_text, record.states.tobytes())
    write_files({path: b"".join((_digest(*parts), *parts))})


def read(path: Path) -> BuildRecord | None:
    """The record in a file; None where it is absent or damaged."""
    try:
        # Do not block on a pipe in its place.
        data = memoryview(path.read_bytes()) if path.is_file() else memoryview(b"")
    except OSError:
        return None
    if _digest(data[_DIGEST_BYTES:]) != data[:_DIGEST_BYTES]:
        return None
    start = _DIGEST_BYTES + 2 * _SIZE_BYTES
    head_at = start + int.from_bytes(data[_DIGEST_BYTES : _DIGEST_BYTES + _SIZE_BYTES], "big")
    states_at = head_at + int.from_bytes(data[_DIGEST_BYTES + _SIZE_BYTES : start], "big")
    text, states = data[start:head_at], array("q")
    states.frombytes(data[states_at:])
    head = json.loads(_decode(data[head_at:states_at]))
    groups, graph = head.pop("groups"), head.pop("full_graph")
    paths = _decode(text).split(_PATH_SEPARATOR) if text else []
    return BuildRecord(head, paths, states, groups, FullGraph(**graph) if graph else None)


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(_LAYOUT)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _decode(data: memoryview) -> str:
    return str(data, "utf-8", "surrogateescape")
