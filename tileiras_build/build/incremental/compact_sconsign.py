"""SCons' records of a folder in a format that is read and written in a fraction of the time.

SCons keeps a dictionary of objects for each folder, four per artifact, and pickles them in Python code. Here the pickle
contains one text with a line per artifact, and a call of ``unpack``; so SCons reads it like its own pickles, and writes this
format again. During a build the objects of an artifact are created when SCons reads its record, that is for artifacts that it
builds; the lines of all others are written as they were read. The action signatures that the artifacts of a stage share are
stored once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType

import SCons.SConsign
from SCons.Node.FS import FileBuildInfo, FileNodeInfo
from SCons.SConsign import SConsignEntry

_INFO = ("csig", "timestamp", "size")
_INFOS = ("bsourcesigs", "bdependsigs", "bimplicitsigs")
_NAMES = ("bsources", "bdepends", "bimplicit")
_ACTION = ("bact", "bactsig")
FORMAT = " ".join((*_INFO, *_INFOS, *_NAMES, "action by number", "lines"))  # a row
_MAX_ACTIONS = 512  # per folder; of more, most are of old builds
_NO_ACTION = -1  # the action index of a file without a builder
_MAX_SCANS = 64  # after so many searches in a text all lines are parsed
_TAIL_SIZE = 1 << 16  # characters at the end, with the rows of the last runs: a search of a megabyte takes 0.3 ms


class Lines:
    """Rows by name in one text, each a line that begins with its name. Rows are parsed on demand."""

    def __init__(self, text: str = "\n"):
        is_whole = text[:1] == text[-1:] == "\n"
        self._text, self._lookups = text if is_whole else "\n", 0
        self._dropped: set[str] = set()
        self._places: dict[str, tuple[int, int]] = {}

    @staticmethod
    def of(rows: Mapping[str, str]) -> Lines:
        """The lines of ``rows``."""
        return Lines("".join(["\n", *(f"{_encode(name)}\t{row}\n" for name, row in rows.items())]))

    @cached_property
    def _rows(self) -> dict[str, str]:
        """The stored rows by name."""
        lines = self._text.split("\n")[1:-1]
        return {name: row for name, _, row in (line.partition("\t") for line in lines)}

    def get(self, name: str) -> str | None:
        """The row of ``name``."""
        if name in self._dropped:
            return None
        self._lookups += 1
        if self._lookups > _MAX_SCANS:
            return self._rows.get(_encode(name))
        start, end = self._place(name)
        return self._text[start:end].partition("\t")[2] if end else None

    def _place(self, name: str) -> tuple[int, int]:
        """The span of the line of ``name`` in the text; (0, 0) if there is none. Newlines in names are escaped."""
        if name not in self._places:
            wanted = f"\n{_encode(name)}\t"
            start = self._text.find(wanted, max(0, len(self._text) - _TAIL_SIZE)) + 1 or self._text.find(wanted) + 1
            self._places[name] = (start, self._text.index("\n", start)) if start else (0, 0)
        return self._places[name]

    def drop(self, name: str) -> None:
        """Remove the row of ``name``."""
        self._dropped.add(name)

    def names(self) -> list[str]:
        """The names of all rows, unordered."""
        return [name for name in map(json.loads, self._rows) if name not in self._dropped]

    def joined(self, rows: Mapping[str, str]) -> str:
        """The text of these lines and those of ``rows``."""
        if len(self._dropped) > _MAX_SCANS:
            left = set(map(_encode, self._dropped))
            kept = "".join(f"{name}\t{row}\n" for name, row in self._rows.items() if name not in left)
            return f"\n{kept}{Lines.of(rows)._text[1:]}"
        parts, at = [], 0
        for start, end in sorted(place for place in map(self._place, self._dropped) if place[1]):
            parts.append(self._text[at:start])
            at = end + 1
        return "".join([*parts, self._text[at:], Lines.of(rows)._text[1:]])


class Entries(dict):
    """The records of one folder: names to SConsignEntry. As a dictionary it contains only the records that were read.

    ``others`` are the records of nodes that are not files.
    """

    def __init__(
        self,
        made: Mapping = MappingProxyType({}),
        lines: Lines | None = None,
        actions: Iterable = (),
        others: Mapping = MappingProxyType({}),
    ):
        super().__init__(made)
        self._lines, self._others = lines or Lines(), dict(others)
        self._actions = [tuple(action) for action in actions]

    def peek(self, name: str) -> SConsignEntry | None:
        """The record of ``name``, read-only; None if there is none. Changes are not written."""
        return super().get(name) or self._others.get(name) or self._unpacked(name)

    def names(self) -> list[str]:
        """The names of all records, unordered."""
        return [*self, *self._others, *self._lines.names()]

    def __missing__(self, name: str) -> SConsignEntry:
        entry = self._others.get(name) or self._unpacked(name)
        if entry is None:
            self._lines.drop(name)
            raise KeyError(name)
        self[name] = entry
        return entry

    def __setitem__(self, name: str, entry: SConsignEntry) -> None:
        self._others.pop(name, None)
        self._lines.drop(name)
        super().__setitem__(name, entry)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (super().__contains__(name) or self.peek(name) is not None)

    def get(self, name: str, default=None):
        """Like ``dict.get``."""
        with suppress(KeyError):
            return self[name]
        return default

    def __reduce__(self):
        if len(self._actions) > _MAX_ACTIONS:
            for name in self._lines.names():
                self.get(name)
            self._actions.clear()
        indices = {action: index for index, action in enumerate(self._actions)}
        packed = {name: _packed(entry, indices) for name, entry in self.items()}
        rows = {name: row for name, row in packed.items() if row is not None}
        others = self._others | {name: entry for name, entry in self.items() if name not in rows}
        return unpack, (self._lines.joined(rows), FORMAT, list(indices), others)

    def _unpacked(self, name: str) -> SConsignEntry | None:
        """None without a row, or for a damaged one: its file is rebuilt."""
        if (row := self._lines.get(name)) is None:
            return None
        with suppress(ValueError, TypeError, IndexError, RecursionError):
            return _unpack_entry(json.loads(row), self._actions)
        return None


def peek(entries: Mapping, name: str) -> SConsignEntry | None:
    """The record of ``name`` in a folder's records, in this or in SCons' own format, read-only; None if there is none."""
    return entries.peek(name) if isinstance(entries, Entries) else entries.get(name)


def install() -> None:
    """From now on read lazily, and make SCons write every folder in this format."""
    global _lazy
    _lazy = True
    for folder in SCons.SConsign.sig_files:
        if type(folder.entries) is dict:
            folder.entries = Entries(folder.entries)


_lazy = False  # SCons' ``sconsign`` command prints a dictionary of all entries


def unpack(text: str, layout: str = "", actions: Iterable = (), others: Mapping = MappingProxyType({})) -> Entries:
    """The inverse of ``Entries.__reduce__``.

    Records of another version's layout are dropped: their files are rebuilt.
    """
    entries = Entries({}, Lines(text), actions, others) if layout == FORMAT else Entries()
    if not _lazy:
        for name in entries.names():
            entries.get(name)
    return entries


def _packed(entry, actions: dict[tuple, int]) -> str | None:
    """A row; None unless the entry is a complete one of a file. New actions are added to the numbered ones."""
    build = getattr(entry, "binfo", None)
    if type(entry) is not SConsignEntry or type(build) is not FileBuildInfo:
        return None
    try:
        # A source's record may have no build information.
        made = _packed_build(build, actions) if any(hasattr(build, name) for name in _BUILD) else ()
        return _encode((_pack_info(entry.ninfo), *made))
    except (AttributeError, TypeError, ValueError):
        return None


def _packed_build(build: FileBuildInfo, actions: dict[tuple, int]) -> tuple:
    infos = [[_pack_info(info) for info in group] for group in _get_infos(build)]
    return (*infos, *_get_values(build), _action_index(build, actions))


def _action_index(build: FileBuildInfo, actions: dict[tuple, int]) -> int:
    if not hasattr(build, "bact") and build.bactsig is None:
        return _NO_ACTION
    return actions.setdefault(_get_action(build), len(actions))


def _pack_info(info: FileNodeInfo) -> tuple:
    if type(info) is not FileNodeInfo:
        raise TypeError
    return _get_info(info)


_BUILD = (*_INFOS, *_NAMES, *_ACTION)
_encode = json.JSONEncoder(separators=(",", ":")).encode
_get_info, _get_infos, _get_values, _get_action = (attrgetter(*names) for names in (_INFO, _INFOS, _NAMES, _ACTION))


def _setters(kind: type, *names: str) -> list[Callable]:
    """Setters of the slots: SCons' own ``__setattr__`` clears a cache that a new object does not have."""
    return [getattr(kind, name).__set__ for name in names]


_set_csig, _set_timestamp, _set_size = _setters(FileNodeInfo, *_INFO)
_set_sourcesigs, _set_dependsigs, _set_implicitsigs = _setters(FileBuildInfo, *_INFOS)
_set_sources, _set_depends, _set_implicit = _setters(FileBuildInfo, *_NAMES)
_set_act, _set_actsig = _setters(FileBuildInfo, *_ACTION)
_set_binfo, _set_ninfo = _setters(SConsignEntry, "binfo", "ninfo")


def _unpack_entry(row: list, actions: list[tuple]) -> SConsignEntry:
    entry, build = SConsignEntry.__new__(SConsignEntry), FileBuildInfo.__new__(FileBuildInfo)
    _set_binfo(entry, build)
    _set_ninfo(entry, _unpack_info(row[0]))
    if len(row) == 1:
        return entry
    _, sourcesigs, dependsigs, implicitsigs, sources, depends, implicit, number = row
    _set_sourcesigs(build, [_unpack_info(info) for info in sourcesigs])
    _set_dependsigs(build, [_unpack_info(info) for info in dependsigs])
    _set_implicitsigs(build, [_unpack_info(info) for info in implicitsigs])
    _set_sources(build, sources)
    _set_depends(build, depends)
    _set_implicit(build, implicit)
    if number == _NO_ACTION:
        _set_actsig(build, None)
        return entry
    act, actsig = actions[number]
    _set_act(build, act)
    _set_actsig(build, actsig)
    return entry


def _unpack_info(row: list) -> FileNodeInfo:
    info = FileNodeInfo.__new__(FileNodeInfo)
    csig, timestamp, size = row
    _set_csig(info, csig)
    _set_timestamp(info, timestamp)
    _set_size(info, size)
    return info
