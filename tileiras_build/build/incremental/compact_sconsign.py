"""SCons' records of a folder in a format that is read and written in a fraction of the time.

SCons keeps a dictionary of objects for each folder, four per artifact, and pickles them in Python code. Here the pickle
contains a text for each artifact, and a call of ``unpack``; so SCons reads it like its own pickles, and writes this format
again. During a build the objects of an artifact are created when SCons reads its record, that is for artifacts that it
builds; the texts of all others are written as they were read. The action signatures that the artifacts of a stage share are
stored once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from types import MappingProxyType

import SCons.SConsign
from SCons.Node.FS import FileBuildInfo, FileNodeInfo
from SCons.SConsign import SConsignEntry

_INFO = ("csig", "timestamp", "size")
_INFOS = ("bsourcesigs", "bdependsigs", "bimplicitsigs")
_NAMES = ("bsources", "bdepends", "bimplicit")
_ACTION = ("bact", "bactsig")
FORMAT = " ".join((*_INFO, *_INFOS, *_NAMES, "action by number", "rows"))  # a row
_MAX_ACTIONS = 512  # per folder; of more, most are of old builds
_NO_ACTION = -1  # the action index of a file without a builder


class Entries(dict):
    """The records of one folder: names to SConsignEntry. As a dictionary it contains only the records that were read.

    ``rows`` are the texts of those that were not; ``others`` are the records of nodes that are not files.
    """

    def __init__(
        self,
        made: Mapping = MappingProxyType({}),
        rows: dict[str, str] | None = None,
        actions: Iterable = (),
        others: Mapping = MappingProxyType({}),
    ):
        super().__init__(made)
        self._rows, self._others = rows or {}, dict(others)
        self._actions = [tuple(action) for action in actions]

    def peek(self, name: str) -> SConsignEntry | None:
        """The record of ``name``, read-only; None if there is none. Changes are not written."""
        return super().get(name) or self._others.get(name) or self._unpacked(name)

    def names(self) -> list[str]:
        """The names of all records, unordered."""
        return [*self, *self._others, *self._rows]

    def __missing__(self, name: str) -> SConsignEntry:
        entry = self._others.get(name) or self._unpacked(name)
        if entry is None:
            self._rows.pop(name, None)
            raise KeyError(name)
        self[name] = entry
        return entry

    def __setitem__(self, name: str, entry: SConsignEntry) -> None:
        self._others.pop(name, None)
        self._rows.pop(name, None)
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
            for name in list(self._rows):
                self.get(name)
            self._actions.clear()
        indices = {action: index for index, action in enumerate(self._actions)}
        packed = {name: _packed(entry, indices) for name, entry in self.items()}
        rows = {name: row for name, row in packed.items() if row is not None}
        others = self._others | {name: entry for name, entry in self.items() if name not in rows}
        return unpack, (self._rows | rows, FORMAT, list(indices), others)

    def _unpacked(self, name: str) -> SConsignEntry | None:
        """None without a row, or for a damaged one: its file is rebuilt."""
        if (row := self._rows.get(name)) is None:
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


def unpack(
    rows: dict[str, str] | str, layout: str = "", actions: Iterable = (), others: Mapping = MappingProxyType({})
) -> Entries:
    """The inverse of ``Entries.__reduce__``.

    Records of another version's layout are dropped: their files are rebuilt.
    """
    # An earlier version had one text of all rows.
    entries = Entries({}, rows, actions, others) if layout == FORMAT and isinstance(rows, dict) else Entries()
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
