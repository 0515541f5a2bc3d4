"""The record of a build that went well: every file that it read or made, by stat, and whose each file is.

A file: a digest of the rest; two sizes; the paths; a JSON head; five numbers and an owner for each path. So what a run with
nothing to do needs of it is read in one piece and compared in one piece, and a run of some kernels writes most of what it
has read: of a library with 100,000 files each walk over their paths takes a hundredth of a second, or two.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from ...core.file_io import write_files
from .parallel_stat import ABSENT, WIDTH, State, differences, states_of

Files = Mapping[str, State | None]
Owners = Mapping[str, Iterable[str]]
NOBODY = -1  # the owner of a file that serves several sources, or none
_UNUSED = -2  # and, while a record is changed, of one that served sources that are looked at anew
_SHARERS = 32  # sources that a file may serve for them to be named; a file of more is everybody's
_DIGEST, _NUMBER = 32, 8  # bytes of the digest, and of each size: of the paths, of the head
_BETWEEN = "\0"  # paths
_LAYOUT = b"sizes, paths, head, states, owners"  # is part of the digest: a file that was written otherwise is none
_SIZE = 2  # the place of the size in a state


@dataclass(frozen=True)
class Whole:
    """What a run that looks at some kernels must know of all: the names of the kernels by the path of their source, and
    how many cubins there are."""

    sources: dict[str, list[str]]
    cubins: int


@dataclass(frozen=True)
class Record:
    """``head`` says what the run was asked; ``owners`` are positions in ``whole.sources``, of the source that a path alone
    serves. ``shared`` are the sources of those that serve several. ``whole`` is None where only all can be looked at.
    ``text`` are the paths as they are written, where they have been read so."""

    head: dict
    paths: list[str]
    states: array
    owners: array
    whole: Whole | None
    shared: dict[str, list[str]]
    text: bytes | memoryview | None = field(default=None, compare=False, repr=False)

    def changed(self) -> dict[int, bool]:
        """The positions of the paths whose state is another one now, and whether they are still there."""
        now = states_of(self.paths)
        return {at: now[at * WIDTH + _SIZE] != ABSENT[_SIZE] for at in differences(now, self.states)}

    def sources_of(self, changed: Mapping[int, bool]) -> frozenset[str] | None:
        """The sources whose kernels must be looked at where these paths have changed; None where that is all of them.

        A source that is not there any more may be anything to the build scripts.
        """
        if self.whole is None:
            return None
        names, found = list(self.whole.sources), set()
        for position, is_there in changed.items():
            if not is_there and self.paths[position] in self.whole.sources:
                return None
            if self.owners[position] != NOBODY:
                found.add(names[self.owners[position]])
            elif (several := self.shared.get(self.paths[position])) is not None:
                found.update(several)
            else:
                return None
        return frozenset(found)

    def places(self, paths: Set[str]) -> dict[str, int]:
        """The positions of those of ``paths`` that the record has. An index of all takes five times as long."""
        return {path: place for place, path in enumerate(self.paths) if path in paths}

    def present(self, paths: Set[str]) -> set[str]:
        """Those of ``paths`` that something was at."""
        sizes = self.states[_SIZE::WIDTH]
        return {path for path, place in self.places(paths).items() if sizes[place] != ABSENT[_SIZE]}

    def with_part(self, sources: frozenset[str], head: dict, files: Files, owners: Owners) -> Record:
        """The record after a run of the kernels of these sources, which has looked at ``files``; all others stand as here."""
        assert self.whole is not None, "a record without it has no part"
        made = _Edited(self, head, self.whole, files.keys() | self.shared.keys())
        made.forget(sources)
        for path, state in files.items():
            made.add(path, state or ABSENT, owners.get(path, ()))
        made.drop()
        return made.record()


def record_of(head: dict, files: Files, owners: Owners, whole: Whole | None) -> Record:
    """The record of a run of all kernels; ``owners`` are the sources that each path serves, of those that serve any."""
    places = {name: index for index, name in enumerate(whole.sources if whole else ())}
    known = {path: [source for source in owners.get(path, ()) if source in places] for path in files}
    alone = (places[found[0]] if len(found) == 1 else NOBODY for found in known.values())
    shared = {path: sorted(found) for path, found in known.items() if 1 < len(found) <= _SHARERS}
    states = array("q", [number for state in files.values() for number in state or ABSENT])
    return Record(head, list(files), states, array("i", alone), whole, shared)


class _Edited:
    """A copy of ``record`` that is changed in the few places where a run of some kernels has seen other files.

    ``paths`` are those that may be changed, or added.
    """

    def __init__(self, record: Record, head: dict, whole: Whole, paths: Set[str]):
        self._before, self._head, self._whole = record, head, whole
        self._paths, self._states, self._owners = list(record.paths), record.states[:], record.owners[:]
        self._shared = dict(record.shared)
        self._names = list(whole.sources)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._places = record.places(paths)
        self._looked_at: set[int] = set()  # places whose owner may be another one now

    def forget(self, sources: frozenset[str]) -> None:
        """Let nothing serve these sources."""
        mine = {self._numbers[name] for name in sources if name in self._numbers}
        for place in [place for place, owner in enumerate(self._owners) if owner in mine]:
            self._owners[place] = _UNUSED
            self._looked_at.add(place)
        for path, several in self._before.shared.items():
            if not sources.isdisjoint(several):
                self._let_serve(self._places[path], set(several) - sources)

    def add(self, path: str, state: State, sources: Iterable[str]) -> None:
        """Note the state of a file, and that it serves ``sources``, too; what has been everybody's stays so."""
        place = self._places.get(path)
        if place is None:
            place = self._places[path] = len(self._paths)
            self._paths.append(path)
            self._states.extend(state)
            self._owners.append(_UNUSED)
            self._looked_at.add(place)
        else:
            self._states[place * WIDTH : (place + 1) * WIDTH] = array("q", state)
        if self._owners[place] != NOBODY or path in self._shared:
            self._let_serve(place, self._served(place).union(sources).intersection(self._numbers), NOBODY)

    def drop(self) -> None:
        """Leave what serves nothing any more."""
        for place in sorted((place for place in self._looked_at if self._owners[place] == _UNUSED), reverse=True):
            del self._paths[place], self._owners[place]
            del self._states[place * WIDTH : (place + 1) * WIDTH]

    def record(self) -> Record:
        """The record as it is by now."""
        text = self._before.text if self._paths == self._before.paths else None
        return Record(self._head, self._paths, self._states, self._owners, self._whole, self._shared, text)

    def _served(self, place: int) -> set[str]:
        if self._owners[place] >= 0:
            return {self._names[self._owners[place]]}
        return set(self._shared.get(self._paths[place], ()))

    def _let_serve(self, place: int, sources: Collection[str], nothing: int = _UNUSED) -> None:
        """``nothing``: the owner of what serves none of them."""
        path = self._paths[place]
        self._looked_at.add(place)
        self._shared.pop(path, None)
        self._owners[place] = nothing if not sources else NOBODY
        if len(sources) == 1:
            self._owners[place] = self._numbers[next(iter(sources))]
        elif 1 < len(sources) <= _SHARERS:
            self._shared[path] = sorted(sources)


def write(path: Path, record: Record) -> None:
    """Write a record."""
    whole = record.whole
    head = record.head | {
        "whole": None if whole is None else {"sources": whole.sources, "cubins": whole.cubins},
        "shared": record.shared,
    }
    text = _encode(_BETWEEN.join(record.paths)) if record.text is None else record.text
    said = _encode(json.dumps(head))
    sizes = b"".join(len(part).to_bytes(_NUMBER, "big") for part in (text, said))
    parts = (sizes, text, said, record.states, record.owners)
    write_files({path: b"".join((_digest(*parts), *parts))})


def read(path: Path) -> Record | None:
    """The record in a file; None where it is absent or damaged."""
    try:
        # A pipe in its place is not waited for.
        data = memoryview(path.read_bytes()) if path.is_file() else memoryview(b"")
    except OSError:
        return None
    if _digest(data[_DIGEST:]) != data[:_DIGEST]:
        return None
    start = _DIGEST + 2 * _NUMBER
    head_at = start + int.from_bytes(data[_DIGEST : _DIGEST + _NUMBER], "big")
    states_at = head_at + int.from_bytes(data[_DIGEST + _NUMBER : start], "big")
    text = data[start:head_at]
    paths = _decode(text).split(_BETWEEN) if text else []
    fields = json.loads(_decode(data[head_at:states_at]))
    states, owners = array("q"), array("i")
    owners_at = states_at + len(paths) * WIDTH * states.itemsize
    states.frombytes(data[states_at:owners_at])
    owners.frombytes(data[owners_at:])
    whole, shared = fields.pop("whole"), fields.pop("shared")
    return Record(fields, paths, states, owners, Whole(**whole) if whole else None, shared, text)


def _digest(*parts: bytes | memoryview | array) -> bytes:
    digest = hashlib.sha256(_LAYOUT)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _decode(data: memoryview) -> str:
    return str(data, "utf-8", "surrogateescape")
