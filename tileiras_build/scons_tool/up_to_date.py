"""The record of a build that went well: every file that it read or made, by stat, and whose each file is.

A file: a digest of the rest; a JSON head; the paths; five numbers and an owner for each path. So what a run with nothing
to do needs of it is read in one piece and compared in one piece.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..files import write_files
from .reading import file_state

State = tuple[int, int, int, int, int]  # as ``file_state`` gives it
ABSENT: State = (0, 0, -1, 0, 0)
NOBODY = -1  # the owner of a file that serves several sources, or none
_SHARERS = 32  # sources that a file may serve for them to be named; a file of more is everybody's
_NUMBERS = len(ABSENT)


@dataclass(frozen=True)
class Whole:
    """What a run that looks at some kernels must know of all: the names of the kernels by the path of their source, and
    how many cubins there are."""

    sources: dict[str, list[str]]
    cubins: int


@dataclass(frozen=True)
class Record:
    """``head`` says what the run was asked; ``owners`` are positions in ``whole.sources``, of the source that a path alone
    serves. ``shared`` are the sources of those that serve several. ``whole`` is None where only all can be looked at."""

    head: dict
    paths: list[str]
    states: array
    owners: array
    whole: Whole | None
    shared: dict[str, list[str]]

    def changed(self) -> dict[int, bool]:
        """The positions of the paths whose state is another one now, and whether they are still there."""
        now = array("q")
        for path in self.paths:
            now.extend(file_state(path) or ABSENT)
        if now == self.states:
            return {}
        other = (at for at in range(0, len(now), _NUMBERS) if now[at : at + _NUMBERS] != self._state(at))
        return {at // _NUMBERS: tuple(now[at : at + _NUMBERS]) != ABSENT for at in other}

    def _state(self, start: int) -> array:
        return self.states[start : start + _NUMBERS]

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

    def files_beside(self, sources: frozenset[str]) -> dict[str, State]:
        """The files that do not serve these sources alone, with their states."""
        if self.whole is None:
            return {}
        mine = {position for position, name in enumerate(self.whole.sources) if name in sources}
        kept = (index for index, owner in enumerate(self.owners) if owner not in mine)
        return {self.paths[index]: tuple(self._state(index * _NUMBERS)) for index in kept}

    def owners_beside(self, sources: frozenset[str]) -> dict[str, str]:
        """The owners of those files that have one."""
        names = list(self.whole.sources) if self.whole is not None else []
        owners = zip(self.paths, self.owners, strict=True)
        return {path: names[owner] for path, owner in owners if owner != NOBODY and names[owner] not in sources}


def write(
    path: Path, head: dict, files: Mapping[str, State | None], owners: Mapping[str, Iterable[str]], whole
) -> None:
    """Write a record; ``owners`` are the sources that each path serves, of those that serve any."""
    paths, places = sorted(files), {name: index for index, name in enumerate(whole.sources if whole else ())}
    known = {name: [source for source in owners.get(name, ()) if source in places] for name in paths}
    alone = [places[found[0]] if len(found) == 1 else NOBODY for found in known.values()]
    head = head | {
        "whole": None if whole is None else {"sources": whole.sources, "cubins": whole.cubins},
        "shared": {name: sorted(found) for name, found in known.items() if 1 < len(found) <= _SHARERS},
    }
    states = array("q", [number for name in paths for number in files[name] or ABSENT])
    text = "\0".join([json.dumps(head), *paths]).encode(errors="surrogateescape")
    body = text + b"\0\0" + states.tobytes() + array("i", alone).tobytes()
    write_files({path: hashlib.sha256(body).digest() + body})


def read(path: Path) -> Record | None:
    """The record in a file; None where it is absent or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, body = data[:32], data[32:]
    if hashlib.sha256(body).digest() != digest:
        return None
    text, _, numbers = body.partition(b"\0\0")
    head, *paths = text.decode(errors="surrogateescape").split("\0")
    states, owners = array("q"), array("i")
    end = len(paths) * _NUMBERS * states.itemsize
    states.frombytes(numbers[:end])
    owners.frombytes(numbers[end:])
    fields = json.loads(head)
    whole, shared = fields.pop("whole"), fields.pop("shared")
    return Record(fields, paths, states, owners, Whole(**whole) if whole else None, shared)
