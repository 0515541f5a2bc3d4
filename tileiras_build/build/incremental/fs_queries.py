"""Queries of files and of the environment, and their results in a form that can be stored and compared.

A build script depends on a file's contents, but also on whether it exists, its kind, its times, the names in a folder and the
target of a link. Each kind of query is a row of ``QUERIES``; None is the result of an error. The functions of ``os`` are
bound here before ``sconscript_trace.py`` replaces them.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Callable
from typing import Any

from ...core.tracing.dependency_state import is_build_leftover

real_stat, real_lstat, real_readlink, real_access = os.stat, os.lstat, os.readlink, os.access
_listdir, _scandir = os.listdir, os.scandir
_FILE = [stat.S_IFREG]
STATE, SEARCH, VARIABLE = "state", "search", "variable"


def query(kind: str, path: str) -> Any:
    """The result of a query: ``how`` is a key of QUERIES, with an argument if that one has one."""
    name, _, more = kind.partition(" ")
    try:
        return QUERIES[name](path, more)
    except (OSError, ValueError):
        return None


def stat_state(found: os.stat_result) -> list[int]:
    """All fields of a stat that change when the file does."""
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode]


def file_kind(found: os.stat_result) -> list[int]:
    """Whether it is a file, a folder, a link, ..."""
    return [stat.S_IFMT(found.st_mode)]


def stat_or_kind(found: os.stat_result) -> list[int]:
    """A file's state, but only the kind of anything else: a folder's times change with every build in it."""
    return stat_state(found) if stat.S_ISREG(found.st_mode) else file_kind(found)


def is_same_kind(one: list | None, other: list | None) -> bool:
    """Whether two results, states or kinds, are of the same kind of file."""
    return one is not None and other is not None and stat.S_IFMT(one[-1]) == stat.S_IFMT(other[-1])


def _names(path: str) -> list[str]:
    return sorted(name for name in _listdir(path) if not is_build_leftover(name))


def _searched(path: str) -> list[str]:
    """The names in a folder where modules are searched for; a missing folder is an empty one."""
    try:
        return _names(path)
    except OSError:
        return []


def _variable(name: str) -> str | None:
    """An environment variable, also where ``os.environ`` is traced."""
    value = vars(os.environ)["_data"].get(os.fsencode(name))
    return None if value is None else os.fsdecode(value)


def _glob(path: str, pattern: str) -> list[list]:
    """The entries that SCons' Glob finds: hidden files only if the pattern matches the dot."""
    with _scandir(path) as found:
        plain = {entry.name: entry.is_file(follow_symlinks=False) for entry in found}
    names = [name for name in fnmatch.filter(plain, pattern) if pattern.startswith(".") or not name.startswith(".")]
    return [
        [name, _FILE, _FILE] if plain[name] else _kinds(name, path)
        for name in sorted(names)
        if not is_build_leftover(name)
    ]


def _entries(path: str, _more: str) -> list[list]:
    """The names with the kind of each, and of a link's target: what a scan of the folder returns."""
    return [_kinds(name, path) for name in _names(path)]


def _entry_states(path: str, _more: str) -> list[list]:
    return _entry_queries("link-state", "state", path)


def _kinds(name: str, path: str) -> list:
    inner = os.path.join(path, name)
    return [name, query("link-kind", inner), query("kind", inner)]


def _entry_queries(first: str, second: str, path: str) -> list[list]:
    names = [(name, os.path.join(path, name)) for name in _names(path)]
    return [[name, query(first, inner), query(second, inner)] for name, inner in names]


QUERIES: dict[str, Callable[[str, str], Any]] = {
    STATE: lambda path, _: stat_state(real_stat(path)),
    "link-state": lambda path, _: stat_state(real_lstat(path)),
    "kind": lambda path, _: file_kind(real_stat(path)),
    "link-kind": lambda path, _: file_kind(real_lstat(path)),
    "stat-or-kind": lambda path, _: stat_or_kind(real_stat(path)),
    "link-stat-or-kind": lambda path, _: stat_or_kind(real_lstat(path)),
    "target": lambda path, _: os.fsdecode(real_readlink(path)),
    "access": lambda path, mode: real_access(path, int(mode)),
    "names": lambda path, _: _names(path),
    SEARCH: lambda path, _: _searched(path),
    VARIABLE: lambda name, _: _variable(name),
    "glob": _glob,
    "entries": _entries,
    "entry-states": _entry_states,
}
