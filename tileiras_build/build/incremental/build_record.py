"""The record of a successful build: every file that it read or wrote, by stat, and the sources that each file belongs to.

The file: a digest of the rest; two sizes; the paths; a JSON head; five integers and an owner for each path. So a null build
reads and compares it in a few operations, and a run of some kernels writes most of it unchanged: with a library of 100,000
files each loop over the paths takes 10 to 20 ms.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from ...core.file_io import write_files
from .parallel_stat import ABSENT, WIDTH, State, differences, stat_all

Files = Mapping[str, State | None]
Owners = Mapping[str, Iterable[str]]
SEVERAL_OR_NONE = -1  # the owner of a file that belongs to several sources, or to none
_UNUSED = -2  # while a record is edited: the owner of a file of forgotten sources
_MAX_SHARERS = 32  # maximum of sources per file that are listed; a file of more belongs to all
_DIGEST_BYTES, _SIZE_BYTES = 32, 8  # bytes of the digest, and of each size (of the paths, of the head)
_PATH_SEPARATOR = "\0"  # separates paths
_LAYOUT = b"sizes, paths, head, states, owners"  # hashed with the contents: a file with another layout is invalid
_SIZE = 2  # the index of the size in a state


@dataclass(frozen=True)
class FullGraph:
    """Information on all kernels for a run of some: their names by the path of their source, and the number of cubins."""

    sources: dict[str, list[str]]
    cubins: int


@dataclass(frozen=True)
class BuildRecord:
    """``head`` describes the run's command line and environment; ``owners`` are indices into ``full_graph``'s sources, for paths of
    one source. ``shared`` maps the paths of several sources to these. ``full_graph`` is None if only a run of all is possible.
    ``text`` are the paths as they are stored, if they were read.
    """

    head: dict
    paths: list[str]
    states: array
    owners: array
    full_graph: FullGraph | None
    shared: dict[str, list[str]]
    text: bytes | memoryview | None = field(default=None, compare=False, repr=False)

    def changed(self) -> dict[int, bool]:
        """The indices of the paths whose state has changed, and whether they still exist."""
        now = stat_all(self.paths)
        return {at: now[at * WIDTH + _SIZE] != ABSENT[_SIZE] for at in differences(now, self.states)}

    def sources_of(self, changed: Mapping[int, bool]) -> frozenset[str] | None:
        """The sources whose kernels must be checked if these paths have changed; None for all.

        The removal of a source may affect the build scripts in any way.
        """
        if self.full_graph is None:
            return None
        names, found = list(self.full_graph.sources), set()
        for position, is_there in changed.items():
            if not is_there and self.paths[position] in self.full_graph.sources:
                return None
            if self.owners[position] != SEVERAL_OR_NONE:
                found.add(names[self.owners[position]])
            elif (several := self.shared.get(self.paths[position])) is not None:
                found.update(several)
            else:
                return None
        return frozenset(found)

    def places(self, paths: Set[str]) -> dict[str, int]:
        """The indices of the given ``paths`` in the record. An index of all paths takes five times as long."""
        return {path: place for place, path in enumerate(self.paths) if path in paths}

    def present(self, paths: Set[str]) -> set[str]:
        """The given ``paths`` that existed."""
        sizes = self.states[_SIZE::WIDTH]
        return {path for path, place in self.places(paths).items() if sizes[place] != ABSENT[_SIZE]}

    def with_subset(self, sources: frozenset[str], head: dict, files: Files, owners: Owners) -> BuildRecord:
        """The record after a run of the kernels of these sources, which visited ``files``; the rest is unchanged."""
        assert self.full_graph is not None, "the record has no full graph"
        made = _RecordEditor(self, head, self.full_graph, files.keys() | self.shared.keys())
        made.forget(sources)
        for path, state in files.items():
            made.add(path, state or ABSENT, owners.get(path, ()))
        made.remove_unused()
        return made.record()


def record_of(head: dict, files: Files, owners: Owners, full_graph: FullGraph | None) -> BuildRecord:
    """The record of a run of all kernels; ``owners`` are the sources that each path belongs to, if any."""
    places = {name: index for index, name in enumerate(full_graph.sources if full_graph else ())}
    known = {path: [source for source in owners.get(path, ()) if source in places] for path in files}
    alone = (places[found[0]] if len(found) == 1 else SEVERAL_OR_NONE for found in known.values())
    shared = {path: sorted(found) for path, found in known.items() if 1 < len(found) <= _MAX_SHARERS}
    states = array("q", [number for state in files.values() for number in state or ABSENT])
    return BuildRecord(head, list(files), states, array("i", alone), full_graph, shared)


class _RecordEditor:
    """A copy of ``record``, to be edited in the few places where a run of some kernels found other files.

    ``paths`` are those that may be changed, or added.
    """

    def __init__(self, record: BuildRecord, head: dict, full_graph: FullGraph, paths: Set[str]):
        self._before, self._head, self._full_graph = record, head, full_graph
        self._paths, self._states, self._owners = list(record.paths), record.states[:], record.owners[:]
        self._shared = dict(record.shared)
        self._names = list(full_graph.sources)
        self._source_indexes = {name: number for number, name in enumerate(self._names)}
        self._places = record.places(paths)
        self._reowned: set[int] = set()  # indices whose owner may change

    def forget(self, sources: frozenset[str]) -> None:
        """Detach all files from these sources."""
        mine = {self._source_indexes[name] for name in sources if name in self._source_indexes}
        for place in [place for place, owner in enumerate(self._owners) if owner in mine]:
            self._owners[place] = _UNUSED
            self._reowned.add(place)
        for path, several in self._before.shared.items():
            if not sources.isdisjoint(several):
                self._set_owners(self._places[path], set(several) - sources)

    def add(self, path: str, state: State, sources: Iterable[str]) -> None:
        """Set the state of a file, and add ``sources`` to its owners; a file of all stays one."""
        place = self._places.get(path)
        if place is None:
            place = self._places[path] = len(self._paths)
            self._paths.append(path)
            self._states.extend(state)
            self._owners.append(_UNUSED)
            self._reowned.add(place)
        else:
            self._states[place * WIDTH : (place + 1) * WIDTH] = array("q", state)
        if self._owners[place] != SEVERAL_OR_NONE or path in self._shared:
            self._set_owners(
                place, self._owners_of(place).union(sources).intersection(self._source_indexes), SEVERAL_OR_NONE
            )

    def remove_unused(self) -> None:
        """Remove files that belong to no source."""
        for place in sorted((place for place in self._reowned if self._owners[place] == _UNUSED), reverse=True):
            del self._paths[place], self._owners[place]
            del self._states[place * WIDTH : (place + 1) * WIDTH]

    def record(self) -> BuildRecord:
        """The edited record."""
        text = self._before.text if self._paths == self._before.paths else None
        return BuildRecord(self._head, self._paths, self._states, self._owners, self._full_graph, self._shared, text)

    def _owners_of(self, place: int) -> set[str]:
        if self._owners[place] >= 0:
            return {self._names[self._owners[place]]}
        return set(self._shared.get(self._paths[place], ()))

    def _set_owners(self, place: int, sources: Collection[str], nothing: int = _UNUSED) -> None:
        """``nothing``: the owner of files that belong to none of them."""
        path = self._paths[place]
        self._reowned.add(place)
        self._shared.pop(path, None)
        self._owners[place] = nothing if not sources else SEVERAL_OR_NONE
        if len(sources) == 1:
            self._owners[place] = self._source_indexes[next(iter(sources))]
        elif 1 < len(sources) <= _MAX_SHARERS:
            self._shared[path] = sorted(sources)


def write(path: Path, record: BuildRecord) -> None:
    """Write a record."""
    whole = record.full_graph
    head = record.head | {
        "whole": None if whole is None else {"sources": whole.sources, "cubins": whole.cubins},
        "shared": record.shared,
    }
    text = _encode(_PATH_SEPARATOR.join(record.paths)) if record.text is None else record.text
    head_text = _encode(json.dumps(head))
    sizes = b"".join(len(part).to_bytes(_SIZE_BYTES, "big") for part in (text, head_text))
    parts = (sizes, text, head_text, record.states, record.owners)
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
    text = data[start:head_at]
    paths = _decode(text).split(_PATH_SEPARATOR) if text else []
    fields = json.loads(_decode(data[head_at:states_at]))
    states, owners = array("q"), array("i")
    owners_at = states_at + len(paths) * WIDTH * states.itemsize
    states.frombytes(data[states_at:owners_at])
    owners.frombytes(data[owners_at:])
    whole, shared = fields.pop("whole"), fields.pop("shared")
    return BuildRecord(fields, paths, states, owners, FullGraph(**whole) if whole else None, shared, text)


def _digest(*parts: bytes | memoryview | array) -> bytes:
    digest = hashlib.sha256(_LAYOUT)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _decode(data: memoryview) -> str:
    return str(data, "utf-8", "surrogateescape")
