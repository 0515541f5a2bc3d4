"""SCons' records of a folder in a form that is read and written in a fraction of the time.

SCons keeps a dictionary of objects for each folder, four for an artifact, and pickles each through Python code of its
own. Here the pickle holds a text for each artifact, and a call of ``unpack``; so SCons reads it as it reads its own,
and what it writes next is in this form again. In a build the objects of an artifact are made when SCons asks for them,
which it does for those that it builds; the texts of all others are written as they were read. What the artifacts of one
stage have in common, the step's action, is kept once.
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
LAYOUT = " ".join((*_INFO, *_INFOS, *_NAMES, "action by number"))  # of a row
_MOST_ACTIONS = 512  # of a folder; where there are more, most are of builds long ago


class Entries(dict):
    """The records of one folder: names to SConsignEntry. As a dictionary it shows those that were asked for."""

    def __init__(
        self, made: Mapping = MappingProxyType({}), rows: Mapping = MappingProxyType({}), actions: Iterable = ()
    ):
        super().__init__(made)
        self._rows, self._actions = dict(rows), [tuple(action) for action in actions]

    def look(self, name: str) -> SConsignEntry | None:
        """The record of ``name``, to read; None if there is none. What is changed in it is not written."""
        row = self._rows.get(name)
        return self._unpacked(row) if type(row) is str else self.get(name)

    def names(self) -> list[str]:
        """Of all records, in no order."""
        return [*self, *self._rows]

    def __missing__(self, name: str) -> SConsignEntry:
        row = self._rows[name]
        entry = self._unpacked(row) if type(row) is str else row
        if entry is None:
            del self._rows[name]
            raise KeyError(name)
        self[name] = entry
        return entry

    def __setitem__(self, name: str, entry: SConsignEntry) -> None:
        self._rows.pop(name, None)
        super().__setitem__(name, entry)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._rows

    def get(self, name: str, default=None):
        """As a dictionary's."""
        with suppress(KeyError):
            return self[name]
        return default

    def __reduce__(self):
        if len(self._actions) > _MOST_ACTIONS:
            for name in list(self._rows):
                self.get(name)
            self._actions.clear()
        numbers = {action: number for number, action in enumerate(self._actions)}
        rows = self._rows | {name: _packed(entry, numbers) for name, entry in self.items()}
        return unpack, (rows, LAYOUT, list(numbers))

    def _unpacked(self, row: str) -> SConsignEntry | None:
        """None where the row is damaged: what it is of is built again."""
        with suppress(ValueError, TypeError, IndexError, RecursionError):
            return _unpack_entry(json.loads(row), self._actions)
        return None


def look(entries: Mapping, name: str) -> SConsignEntry | None:
    """The record of ``name`` in a folder's, be they these or SCons' own, to read; None if there is none."""
    return entries.look(name) if isinstance(entries, Entries) else entries.get(name)


def use() -> None:
    """From now on read lazily, and let SCons write every folder that it knows in this form."""
    global _lazy
    _lazy = True
    for folder in SCons.SConsign.sig_files:
        if type(folder.entries) is dict:
            folder.entries = Entries(folder.entries)


_lazy = False  # SCons' ``sconsign`` command shows what a dictionary of all entries holds


def unpack(rows: dict[str, object], layout: str = "", actions: Iterable = ()) -> Entries:
    """The records that ``Entries.__reduce__`` has made rows of; a row that is no text is the entry itself.

    Rows of another version's layout are no records: what they are of is built again.
    """
    kept = rows if layout == LAYOUT else {}
    entries = Entries(rows=kept, actions=actions)
    if not _lazy:
        for name in list(kept):
            entries.get(name)
    return entries


def _packed(entry, actions: dict[tuple, int]):
    """A row; the entry itself where it is not a file's, or not complete. New actions are added to the numbered ones."""
    build = getattr(entry, "binfo", None)
    if type(entry) is not SConsignEntry or type(build) is not FileBuildInfo:
        return entry
    try:
        # A source's record has no build.
        made = _packed_build(build, actions) if any(hasattr(build, name) for name in _BUILD) else ()
        return _encode((_pack_info(entry.ninfo), *made))
    except (AttributeError, TypeError, ValueError):
        return entry


def _packed_build(build: FileBuildInfo, actions: dict[tuple, int]) -> tuple:
    infos = [[_pack_info(info) for info in group] for group in _get_infos(build)]
    return (*infos, *_get_values(build), actions.setdefault(_get_action(build), len(actions)))


def _pack_info(info: FileNodeInfo) -> tuple:
    if type(info) is not FileNodeInfo:
        raise TypeError
    return _get_info(info)


_BUILD = (*_INFOS, *_NAMES, *_ACTION)
_encode = json.JSONEncoder(separators=(",", ":")).encode
_get_info, _get_infos, _get_values, _get_action = (attrgetter(*names) for names in (_INFO, _INFOS, _NAMES, _ACTION))


def _setters(kind: type, *names: str) -> list[Callable]:
    """Of the slots: SCons' own ``__setattr__`` clears a cache that a new object does not have."""
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
    act, actsig = actions[number]
    _set_sourcesigs(build, [_unpack_info(info) for info in sourcesigs])
    _set_dependsigs(build, [_unpack_info(info) for info in dependsigs])
    _set_implicitsigs(build, [_unpack_info(info) for info in implicitsigs])
    _set_sources(build, sources)
    _set_depends(build, depends)
    _set_implicit(build, implicit)
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
