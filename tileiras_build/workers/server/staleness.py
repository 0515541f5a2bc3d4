"""Whether what a server has loaded is what a new process would load: files, folders and programs, by all of their stat.

A stat that differs in any number, times in nanoseconds and the time of change among them, ends the server: a new one
costs a second. The time of change cannot be set back, so that an edit that keeps size and time is seen too. What was
loaded before its stat was taken must be older than the process; else the server does not begin.
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
from ...core.tracing.portable_paths import PortablePaths
from ...core.tracing.read_tracer import ReadsChanged
from ...core.tracing.state_probe import Probe, Stamp, stamp

_MARGIN = 50_000_000  # ns; more than a tick of the clocks that stamp files
_AT_START = {"sitecustomize", "usercustomize"}
_DECIDING = (".dist-info", ".egg-info", ".egg-link", ".pth")  # of what is in a folder of modules, besides modules
_SHARED = ("/dev/", "/memfd:", "/SYSV")  # memory that has the name of a file, and is none
_CLOCKS = 1.0  # seconds by which the time of day may differ from that of the machine, before somebody has set it


class StaleServer(Exception):
    """Something is not what was loaded: the argument says what."""


@dataclass(frozen=True)
class Clock:
    """A moment by two clocks: the time of day (ns), which people can set, and the machine's (seconds)."""

    day: int
    machine: float

    @classmethod
    def now(cls) -> Clock:
        """This moment."""
        return cls(time.time_ns(), time.monotonic())

    def is_set(self, later: Clock) -> bool:
        """Whether somebody has set the time of day between this moment and a ``later`` one."""
        return abs((later.day - self.day) / 1e9 - (later.machine - self.machine)) > _CLOCKS


class LoadedCode:
    """The state of all that this process has loaded since ``start``, and of where it was looked for.

    Made when all is loaded; ``asked`` are the variables that were asked for meanwhile. Raises Changed where something may have changed meanwhile.
    """

    def __init__(self, start: Clock, variables: frozenset[str]):
        files = {path: stamp(path) for path in set(_files())}
        # Those of the package are looked at together.
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
        """Raises Changed where a process that is started now would load anything else."""
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
        """Compiled modules, and what editors put beside a file for a while, change a folder's times and no names in it."""
        before, names = self._folders[path]
        now = stamp(path)
        if now == before:
            return
        if self._names(path) != names:
            raise StaleServer(f"files in {path} changed")
        self._folders[path] = now, names

    def _names(self, folder: str) -> str:
        """What is in a folder; where modules are searched, what could be one of those that are loaded, or decides more."""
        looking = Probe(PortablePaths("/", "/"))
        if folder not in self._searched:
            return looking.state("names", folder)
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return ""
        return "/".join(name for name in names if name.partition(".")[0] in self._modules or name.endswith(_DECIDING))


def _files() -> Iterator[str]:
    """Modules, the interpreter and all libraries in memory, and what decides where modules are looked for."""
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    yield from (os.path.abspath(path) for path in modules if path)
    yield os.path.abspath(sys.executable)
    yield from _mapped()
    for folder in _packages():
        yield from (entry.path for entry in os.scandir(folder) if entry.name.endswith(".pth"))
    for folder in {os.path.dirname(sys.executable), sys.prefix}:
        yield from (path for path in [os.path.join(folder, "pyvenv.cfg")] if os.path.exists(path))


def _mapped() -> Iterator[str]:
    """The files in this process's memory; raises Changed where one is not there any more."""
    with open("/proc/self/maps") as stream:
        rows = [line.rstrip("\n").split(None, 5) for line in stream]
    for path in {row[5] for row in rows if len(row) == 6 and row[5].startswith("/") and not row[5].startswith(_SHARED)}:
        if path.endswith(" (deleted)"):
            raise StaleServer(f"deleted file still mapped: {path}")
        yield path


def _packages() -> set[str]:
    """Where libraries are installed."""
    found = {*site.getsitepackages([sys.prefix]), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])}
    return {path for path in found if os.path.isdir(path)}


def _folders(files: dict[str, Stamp | None]) -> set[str]:
    """The folders that modules were found in or looked for in: a new file there may be found before others."""
    package = {os.path.join(installed().root, folder) for folder in installed().folders}
    return {os.path.dirname(path) for path in files} | set(sys.path) | _packages() | package
