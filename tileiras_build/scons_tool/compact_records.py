"""SCons' records of a folder in a form that is read and written in a fraction of the time.

SCons keeps a dictionary of objects for each folder, four for an artifact, and pickles each through Python code of its
own. Here the pickle holds a tuple for each artifact, and a call of ``unpack``; so SCons reads it as it reads its own,
and what it writes next is in this form again. In a build the objects of an artifact are made when SCons asks for them,
which it does for those that it builds; the tuples of all others are written as they were read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import attrgetter
from types import MappingProxyType

import SCons.SConsign
from SCons.Node.FS import FileBuildInfo, FileNodeInfo
from SCons.SConsign import SConsignEntry

_INFO = ("csig", "timestamp", "size")
_INFOS = ("bsourcesigs", "bdependsigs", "bimplicitsigs")
_NAMES = ("bsources", "bdepends", "bimplicit", "bact", "bactsig")
LAYOUT = " ".join((*_INFO, *_INFOS, *_NAMES))  # of a row


class Entries(dict):
    """The records of one folder: names to SConsignEntry. As a dictionary it shows those that were asked for."""

    def __init__(self, made: Mapping = MappingProxyType({}), rows: Mapping = MappingProxyType({})):
        super().__init__(made)
        self._rows = dict(rows)

    def look(self, name: str) -> SConsignEntry | None:
        """The record of ``name``, to read; None if there is none. What is changed in it is not written."""
        row = self._rows.get(name)
        return _unpack_entry(row) if type(row) is tuple else self.get(name)

    def names(self) -> list[str]:
        """Of all records, in no order."""
        return [*self, *self._rows]

    def __missing__(self, name: str) -> SConsignEntry:
        row = self._rows[name]
        self[name] = entry = _unpack_entry(row) if type(row) is tuple else row
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
        return unpack, (self._rows | {name: _pack_entry(entry) for name, entry in self.items()}, LAYOUT)


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


def unpack(rows: dict[str, object], layout: str = "") -> Entries:
    """The records that ``Entries.__reduce__`` has made rows of; a row that is no tuple is the entry itself.

    Rows of another version's layout are no records: what they are of is built again.
    """
    kept = rows if layout == LAYOUT else {}
    entries = Entries(rows=kept)
    if not _lazy:
        for name in kept:
            entries[name]
    return entries


def _pack_entry(entry):
    """A row; the entry itself where it is not a file's, or not complete."""
    try:
        build = entry.binfo
        if type(entry) is not SConsignEntry or type(build) is not FileBuildInfo:
            return entry
        infos = [[_pack_info(info) for info in group] for group in _get_infos(build)]
        return (_pack_info(entry.ninfo), *infos, *_get_values(build))
    except (AttributeError, TypeError):
        return entry


def _pack_info(info):
    return _get_info(info) if type(info) is FileNodeInfo else info


_get_info, _get_infos, _get_values = attrgetter(*_INFO), attrgetter(*_INFOS), attrgetter(*_NAMES)


def _setters(kind: type, *names: str) -> list[Callable]:
    """Of the slots: SCons' own ``__setattr__`` clears a cache that a new object does not have."""
    return [getattr(kind, name).__set__ for name in names]


_set_csig, _set_timestamp, _set_size = _setters(FileNodeInfo, *_INFO)
_set_sourcesigs, _set_dependsigs, _set_implicitsigs = _setters(FileBuildInfo, *_INFOS)
_set_sources, _set_depends, _set_implicit, _set_act, _set_actsig = _setters(FileBuildInfo, *_NAMES)
_set_binfo, _set_ninfo = _setters(SConsignEntry, "binfo", "ninfo")


def _unpack_entry(row: tuple) -> SConsignEntry:
    ninfo, sourcesigs, dependsigs, implicitsigs, sources, depends, implicit, act, actsig = row
    entry, build = SConsignEntry.__new__(SConsignEntry), FileBuildInfo.__new__(FileBuildInfo)
    _set_binfo(entry, build)
    _set_ninfo(entry, _unpack_info(ninfo))
    _set_sourcesigs(build, [_unpack_info(info) for info in sourcesigs])
    _set_dependsigs(build, [_unpack_info(info) for info in dependsigs])
    _set_implicitsigs(build, [_unpack_info(info) for info in implicitsigs])
    _set_sources(build, sources)
    _set_depends(build, depends)
    _set_implicit(build, implicit)
    _set_act(build, act)
    _set_actsig(build, actsig)
    return entry


def _unpack_info(row):
    if type(row) is not tuple:
        return row
    info = FileNodeInfo.__new__(FileNodeInfo)
    csig, timestamp, size = row
    _set_csig(info, csig)
    _set_timestamp(info, timestamp)
    _set_size(info, size)
    return info
