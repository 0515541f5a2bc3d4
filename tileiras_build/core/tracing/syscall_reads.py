"""The reads of a process and its children, from their system calls.

``read_tracer.py`` observes the purpose of Python's reads, and misses those of C code, of rarely used functions and of
other processes. This module observes every call, and adds the reads that a record does not explain. A read that cannot
be expressed as a row becomes one of the record's ``untraced_actions``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

from .classify_caller_frames import PACKAGE
from .created_paths import CreatedPaths
from .dependency_record import Dependency, DependencyRecord, ReadsChanged, describe
from .dependency_state import Probe, differs_in_ctime_only, is_compiled_module, is_installed, is_standard
from .portable_paths import PortablePaths
from .seccomp_listener import FileCall, FileOperation

_WRITES = os.O_WRONLY | os.O_RDWR
# Paths that the interpreter, the C library and the loader of shared libraries open themselves; the program's reads of
# them are observed by ``audit_hooks.py``.
_SYSTEM = (
    *("/dev/", "/proc/", "/sys/", "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/"),
    *("/usr/share/locale/", "/usr/lib/locale/", "/etc/ld.so", "/run/nscd/", "/var/run/nscd/"),
)
# Kinds of rows that explain the listing of a folder.
_OF_FOLDERS = frozenset(("names", "candidates", "among", "shadows", "distributions"))


class SyscallReads:
    """Collects the reads of one step from its calls.

    ``tolerates_runs``: whether the step has run a program whose result is irrelevant.
    """

    def __init__(self, tolerates_runs: Callable[[], bool]):
        self._tolerates_runs = tolerates_runs
        self._seen: dict[tuple[str, str], Dependency] = {}
        self._created = CreatedPaths()
        self._changed: set[str] = set()
        self._unfollowed: dict[str, None] = {}
        self._ran = False

    def on_call(self, call: FileCall, process: int) -> None:
        """Handle one call, which waits meanwhile, of the step's own ``process`` or of a child."""
        if self._tolerates_runs() and not os.path.exists(f"/proc/{process}/task/{call.thread}"):
            return
        _HANDLERS[call.kind](self, call)

    def add_to(self, record: DependencyRecord, places: PortablePaths) -> DependencyRecord:
        """Add to the record the reads that only the calls show.

        Raises ReadsChanged if the state of one has changed since.
        """
        explained = _explained(record, places)
        looking = Probe(PortablePaths("/", "/"))
        missing = [row for key, row in sorted(self._seen.items()) if not _explains(explained, *key, places)]
        rows = [row for seen in missing if (row := self._row(looking, seen)) is not None]
        for name in sorted(self._changed & {row.name for row in rows}):
            rows = [row for row in rows if row.name != name]
        if self._ran and not self._tolerates_runs() and not record.untraced_actions:
            self._unfollowed["it runs a program"] = None
        reads = (*record.reads, *(replace(row, name=places.name(row.name)) for row in rows))
        return replace(
            record, reads=reads, untraced_actions=tuple(dict.fromkeys((*record.untraced_actions, *self._unfollowed)))
        )

    def _row(self, probe: Probe, seen: Dependency) -> Dependency | None:
        now = _look(probe, seen.kind, seen.name)
        if now.state == seen.state and (now.stamp == seen.stamp or differs_in_ctime_only(seen.stamp, now.stamp)):
            return now
        if seen.name in self._changed or seen.name in self._created:
            self._unfollowed[f"it modifies {seen.name}, which it also reads"] = None
            return None
        raise ReadsChanged(describe(now))

    # ---- one handler for each kind of call
    def _open(self, call: FileCall) -> None:
        name = self._followed(call)
        if name is None:
            return
        if call.flags & os.O_PATH:
            self._note("stat", name)
        elif not call.flags & _WRITES:
            if not os.path.isdir(name):
                self._note("contents", name)
        elif not os.path.lexists(name):
            self._created.add(name)
        elif call.flags & os.O_EXCL and call.flags & os.O_CREAT:
            self._note("type", name)
        elif call.flags & os.O_TRUNC:
            self._created.add(name)
        else:
            self._note("contents", name)
            self._changed.add(name)

    def _stat(self, call: FileCall) -> None:
        if (name := self._followed(call)) is None:
            return
        if not call.follows:
            self._note("link", name)
        self._note("stat", name)

    def _link(self, call: FileCall) -> None:
        if (name := self._named(call)) is not None and name not in self._created:
            self._note("link", name)

    def _list(self, call: FileCall) -> None:
        if (name := self._followed(call)) is not None:
            self._note("names", name)

    def _make(self, call: FileCall) -> None:
        if (name := self._named(call)) is None:
            return
        if os.path.lexists(name):
            self._note("type", name)
        else:
            self._created.add(name)
        self._name_again(call.second)

    def _rename(self, call: FileCall) -> None:
        if (name := self._named(call)) is None:
            return
        self._name_again(call.second)
        self._created.add(name)

    def _name_again(self, source: str | None) -> None:
        if source is not None and source not in self._created and os.path.lexists(source):
            self._unfollowed[f"it renames {source}"] = None

    def _change(self, call: FileCall) -> None:
        name = self._named(call)
        if name is not None and name not in self._created and os.path.lexists(name):
            self._unfollowed[f"it {call.kind.value} {name}"] = None

    def _run(self, call: FileCall) -> None:
        self._ran = True

    def _connect(self, call: FileCall) -> None:
        if call.path is None or os.path.exists(call.path):
            self._unfollowed["it connects to a server"] = None

    def _other(self, call: FileCall) -> None:
        if call.path is None or not is_ignored(call.path):
            self._unfollowed[f"it calls {call.name}"] = None

    # ---- names
    def _named(self, call: FileCall) -> str | None:
        """The path of a call; None if it is irrelevant."""
        if call.path is None:
            if call.kind is not FileOperation.LIST and not call.is_open_file:
                self._unfollowed[f"it calls {call.name} in a way that cannot be traced"] = None
            return None
        return None if is_ignored(call.path) else call.path

    def _followed(self, call: FileCall) -> str | None:
        """``_named``, with links that the program has created resolved."""
        name = self._named(call)
        if name is None or name not in self._created:
            return name
        real = os.path.realpath(name)
        return None if real in self._created or is_ignored(real) else real

    def _note(self, kind: str, name: str) -> None:
        if (kind, name) not in self._seen and name not in self._created:
            self._seen[kind, name] = _look(Probe(PortablePaths("/", "/")), kind, name)


_HANDLERS: dict[FileOperation, Callable[[SyscallReads, FileCall], None]] = {
    FileOperation.OPEN: SyscallReads._open,
    FileOperation.STAT: SyscallReads._stat,
    FileOperation.LINK: SyscallReads._link,
    FileOperation.LIST: SyscallReads._list,
    FileOperation.MAKE: SyscallReads._make,
    FileOperation.RENAME: SyscallReads._rename,
    FileOperation.REMOVE: SyscallReads._change,
    FileOperation.CHANGE: SyscallReads._change,
    FileOperation.RUN: SyscallReads._run,
    FileOperation.CONNECT: SyscallReads._connect,
    FileOperation.OTHER: SyscallReads._other,
}


def _look(probe: Probe, kind: str, name: str) -> Dependency:
    """The present state."""
    state = probe.state(kind, name)
    return Dependency(kind, name, state, probe.stamps[name] if kind == "contents" else None)


def is_ignored(name: str) -> bool:
    """Whether a path belongs to the system, to Python, to an installed library or to this package."""
    if name.startswith(_SYSTEM) or f"{name}{os.sep}".startswith(PACKAGE + os.sep) or is_compiled_module(name):
        return True
    return is_standard(name) or is_installed(name)


def _explained(record: DependencyRecord, places: PortablePaths) -> dict[str, frozenset[str]]:
    """The kinds of the record's rows by absolute path."""
    found = dict(_explained_by_libraries(record.libraries, places))
    for name, kinds in _kinds(record.reads, places).items():
        found[name] = kinds | found.get(name, frozenset())
    return found


@lru_cache(maxsize=8)
def _explained_by_libraries(block: str, places: PortablePaths) -> dict[str, frozenset[str]]:
    return _kinds(DependencyRecord((), block).all_reads(), places)


def _kinds(reads: Iterable[Dependency], places: PortablePaths) -> dict[str, frozenset[str]]:
    """Kinds by path; a row about modules of a folder is one of the folder."""
    found: dict[str, set[str]] = {}
    for read in reads:
        name = read.name.rpartition("//")[0] if read.kind in ("candidates", "among") else read.name
        found.setdefault(places.path(name), set()).add(read.kind)
    return {name: frozenset(kinds) for name, kinds in found.items()}


def _explains(explained: dict[str, frozenset[str]], kind: str, name: str, places: PortablePaths) -> bool:
    """Whether the rows explain a read of ``name``.

    Python's search for modules lists a folder and queries the stat of its files, of the folder and of its ancestors.
    """
    own: frozenset[str] = explained.get(name, frozenset())
    if kind == "contents":
        return "contents" in own
    if kind == "names":
        return bool(own & _OF_FOLDERS)
    if kind == "type":
        return bool(own)
    searched = _OF_FOLDERS - {"names"}
    return bool(own or explained.get(os.path.dirname(name), frozenset()) & searched) or places.any_below(name)
