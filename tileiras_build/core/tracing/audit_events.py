"""Python's audit events as dependencies: reads, creations, runs, and queries by C code."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import TYPE_CHECKING

from .classify_caller_frames import METADATA, PACKAGE, is_for_library, is_search_of_shared_library, names_in
from .dependency_state import is_installed, is_standard
from .machine_facts import HOST

if TYPE_CHECKING:
    from .read_tracer import ReadTracer

_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_UNTRACEABLE_EVENTS = {
    "subprocess.Popen": "it runs a program",
    "os.system": "it runs a program",
    "os.exec": "it runs a program",
    "os.posix_spawn": "it runs a program",
    "os.fork": "it starts a process",
    "os.forkpty": "it starts a process",
    "socket.connect": "it connects to a server",
    "socket.bind": "it connects to a server",
    "socket.sendto": "it connects to a server",
    "socket.getaddrinfo": "it connects to a server",
    "sqlite3.connect": "it reads a database",
}
_LISTINGS = ("os.listdir", "os.scandir")
# Events of creations, and the index of the argument with the name.
_CREATING_EVENTS = {
    "os.mkdir": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
    "tempfile.mkdtemp": 0,
    "tempfile.mkstemp": 0,
}
# Names in a program's code that query without an event: the time zone, and variables without using ``os``.
_TIME_NAMES = frozenset(("time", "datetime", "localtime", "zoneinfo"))
_TIME_ZONE, _TIME_ZONE_FILE = "TZ", "/etc/localtime"
# Functions and variables of C that query without a system call.
_C_ENVIRONMENT_CALLS = frozenset(
    ("getenv", "secure_getenv", "environ", "localtime", "localtime_r", "mktime", "tzset", "tzname")
    + ("gethostname", "uname", "sysconf", "get_nprocs", "get_nprocs_conf", "sched_getaffinity", "sysinfo", "gethostid")
    + ("getcwd", "get_current_dir_name", "getwd")
)
# Names by which code queries its own location.
_PLACE_NAMES = frozenset(("__file__", "__path__", "__cached__", "co_filename", "getfile", "getsourcefile"))
_RAW_ENVIRONMENTS = frozenset(("posix", "_data"))
_DEVICES = ("/dev/", "/proc/", "/sys/")
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class AuditEvents:
    """The audit hook of one tracer."""

    def __init__(self, tracer: ReadTracer):
        self._tracer = tracer

    def __call__(self, event: str, arguments: tuple) -> None:
        """Handle one audit event, whose caller is the frame above this one's."""
        if not self._tracer.active:
            return
        if event == "open":
            self._on_open(*arguments)
        elif event in _LISTINGS:
            self._on_list(arguments[0])
        elif event == "import" and arguments[1]:
            self._tracer.file(arguments[1])
        elif event in _CREATING_EVENTS:
            self._on_create(event, arguments)
        elif event == "exec":
            self._on_exec(arguments[0])
        elif event == "ctypes.dlopen" and isinstance(arguments[0], str) and os.sep in arguments[0]:
            self._tracer.file(arguments[0])
            if not is_installed(arguments[0]):
                self._tracer.note("environment", "")  # its code may query any variable
        elif event == "ctypes.dlsym" and arguments[1] in _C_ENVIRONMENT_CALLS and not is_for_library(""):
            self._tracer.untraced_actions[f"it calls {arguments[1]} of C"] = None
        elif event == "socket.gethostname":
            self._tracer.machine(HOST)
        elif event in _UNTRACEABLE_EVENTS:
            if is_search_of_shared_library():
                self._tracer.signals.tolerates_runs = True
            else:
                self._tracer.untraced_actions[_UNTRACEABLE_EVENTS[event]] = None

    def _on_open(self, path: int | _Path, mode: object, flags: int) -> None:
        if isinstance(path, int):
            return
        name = self._tracer.absolute(os.fsdecode(path))
        if not flags & _WRITE:
            self._tracer.file(name)
            return
        if name.startswith(_DEVICES):
            return
        if not self._tracer.exists(name) or flags & os.O_TRUNC:
            if ("contents", name) in self._tracer.step_reads and not self._tracer.created.has_exactly(name):
                self._tracer.untraced_actions[f"it modifies {name}, which it also reads"] = None
            self._tracer.created.add(name)
        elif flags & os.O_EXCL:
            self._tracer.file(name, "type")
        elif not self._tracer.created.has_exactly(name):
            self._tracer.file(name, "type" if self._is_library_log(name, flags) else "contents")
            self._tracer.changeable.add(name)

    def _is_library_log(self, name: str, flags: int) -> bool:
        """Whether a library opens a file only to append: it changes with each import, and no code reads it there."""
        only_appends = flags & (os.O_WRONLY | os.O_RDWR | os.O_APPEND) == os.O_WRONLY | os.O_APPEND
        return only_appends and (self._tracer.is_loading or is_for_library(name))

    def _on_create(self, event: str, arguments: tuple) -> None:
        """A path is created, unless it exists."""
        name = self._tracer.absolute(os.fsdecode(arguments[_CREATING_EVENTS[event]]))
        source = self._tracer.absolute(os.fsdecode(arguments[0]))
        if event in ("os.link", "os.rename") and not self._tracer.is_own(source):
            self._tracer.untraced_actions[f"it renames {source}"] = None
        if self._tracer.exists(name) and event != "os.rename":
            self._tracer.file(name, "type")
        else:
            self._tracer.created.add(name)

    def _on_exec(self, code: object) -> None:
        """Code of the program is executed: its names tell which queries without an event it may make."""
        if not isinstance(code, CodeType) or is_installed(code.co_filename) or is_standard(code.co_filename):
            return
        if code.co_filename.startswith(PACKAGE + os.sep):
            return
        names = names_in(code)
        if names & _TIME_NAMES:
            self._tracer.note("variable", _TIME_ZONE)
            self._tracer.note("contents", _TIME_ZONE_FILE)
        if names & _RAW_ENVIRONMENTS:
            self._tracer.note("environment", "")
        self._tracer.depends_on_place |= bool(names & _PLACE_NAMES)

    def _on_list(self, path: int | _Path | None) -> None:
        caller = sys._getframe(2).f_code.co_filename
        if isinstance(path, int) or "importlib._bootstrap" in caller:
            return  # ``search`` records the searches of importlib
        folder = self._tracer.absolute(os.fsdecode(path or "."))
        self._tracer.file(folder, "distributions" if caller.endswith(METADATA) else "names")
