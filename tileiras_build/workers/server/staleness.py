"""Whether the loaded code of a server is what a new process would load: files, folders and programs, by their full stat.

A change in any field of a stat, including times in nanoseconds and the time of change, ends the server: a new one costs a
second. The time of change cannot be set back, so an edit that keeps size and time is also found. Files that were loaded before
their stat was taken must be older than the process; otherwise the server does not start.
"""

from __future__ import annotations

import os
import site
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.code_digest import installed
from ...core.tracing.audit_hooks import tracer
from ...core.tracing.dependency_record import ReadsChanged
from ...core.tracing.dependency_state import Probe, Stamp, stamp
from ...core.tracing.portable_paths import PortablePaths

_MARGIN = 50_000_000  # ns; more than a tick of the file system's clock
_AT_START = {"sitecustomize", "usercustomize"}
_DECIDING = (".dist-info", ".egg-info", ".egg-link", ".pth")  # in a folder of modules, besides modules
_SHARED = ("/dev/", "/memfd:", "/SYSV")  # memory that has the name of a file
_CLOCKS = 1.0  # seconds of drift between wall clock and monotonic clock before the clock counts as set


class StaleServer(Exception):
    """The loaded code is not current: the argument is the reason."""


@dataclass(frozen=True)
class Clock:
    """A time by two clocks: wall clock (ns), which can be set, and monotonic (seconds)."""

    day: int
    machine: float

    @classmethod
    def now(cls) -> Clock:
        """The current time."""
        return cls(time.time_ns(), time.monotonic())

    def is_set(self, later: Clock) -> bool:
        """Whether the wall clock was set between this time and a ``later`` one."""
        return abs((later.day - self.day) / 1e9 - (later.machine - self.machine)) > _CLOCKS


class LoadedCode:
    """The state of everything that this process has loaded since ``start``, and of the folders that were searched.

    Created when everything is loaded; ``asked`` are the variables that were read meanwhile. Raises StaleServer if something may
    have changed meanwhile.
    """

    def __init__(self, start: Clock, variables: frozenset[str]):
        files = {path: stamp(path) for path in set(_files())}
        # Files of the package are checked together.
        self._files = {path: files[path] for path in files.keys() - set(installed().paths)}
        self._modules = {name.partition(".")[0] for name in sys.modules} | _AT_START
        self._searched = set(sys.path) | _packages()
        self._folders = {path: (stamp(path), self._names(path)) for path in _folders(files)}
        self.variables = variables
        if start.is_set(Clock.now()):
            raise StaleServer("system clock changed")
        late = [path for path, found in files.items() if found is None or max(found[:2]) > start.day - _MARGIN]
        if late:
            raise StaleServer(f"{min(late)} changed while loading")
        self.check()

    def check(self) -> None:
        """Raises StaleServer if a new process would load anything else."""
        if not installed().is_as_read():
            raise StaleServer("the package changed")
        for path, before in self._files.items():
            if stamp(path) != before:
                raise StaleServer(f"{path} changed")
        for path in self._folders:
            self._check_folder(path)
        try:
            tracer().check(Probe(PortablePaths("/", "/")))
        except ReadsChanged as change:
            raise StaleServer(str(change)) from None

    def _check_folder(self, path: str) -> None:
        """Compiled modules, and temporary files of editors, change a folder's times and no relevant names in it."""
        before, names = self._folders[path]
        now = stamp(path)
        if now == before:
            return
        if self._names(path) != names:
            raise StaleServer(f"files in {path} changed")
        self._folders[path] = now, names

    def _names(self, folder: str) -> str:
        """The names in a folder; for an import folder, those that could be a loaded module, or affect the import."""
        looking = Probe(PortablePaths("/", "/"))
        if folder not in self._searched:
            return looking.state("names", folder)
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return ""
        return "/".join(name for name in names if name.partition(".")[0] in self._modules or name.endswith(_DECIDING))


def _files() -> Iterator[str]:
    """Modules, the interpreter and all libraries in memory, and files that determine the import path."""
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    yield from (os.path.abspath(path) for path in modules if path)
    yield os.path.abspath(sys.executable)
    yield from _mapped()
    for folder in _packages():
        yield from (entry.path for entry in os.scandir(folder) if entry.name.endswith(".pth"))
    for folder in {os.path.dirname(sys.executable), sys.prefix}:
        yield from (path for path in [os.path.join(folder, "pyvenv.cfg")] if os.path.exists(path))


def _mapped() -> Iterator[str]:
    """The files mapped by this process; raises StaleServer if one was deleted."""
    with open("/proc/self/maps") as stream:
        rows = [line.rstrip("\n").split(None, 5) for line in stream]
    for path in {row[5] for row in rows if len(row) == 6 and row[5].startswith("/") and not row[5].startswith(_SHARED)}:
        if path.endswith(" (deleted)"):
            raise StaleServer(f"deleted file still mapped: {path}")
        yield path


def _packages() -> set[str]:
    """The folders of installed libraries."""
    found = {*site.getsitepackages([sys.prefix]), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])}
    return {path for path in found if os.path.isdir(path)}


def _folders(files: dict[str, Stamp | None]) -> set[str]:
    """The folders in which modules were found or searched: a new file there may take precedence."""
    package = {os.path.join(installed().root, folder) for folder in installed().folders}
    return {os.path.dirname(path) for path in files} | set(sys.path) | _packages() | package
