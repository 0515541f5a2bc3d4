"""Sees what a program in this process reads: files, folders, modules and variables, whether they are there or not.

Python's audit events name every file that is opened, every folder that is listed, and every program, connection and
library that is used. Of a ``stat`` and of the environment there is no event: those functions of ``os`` are replaced.
Modules are noted by what was looked for, and where. What Python's own library and this package read is not noted, nor
what the program has made itself.

A process serves many steps, and installed libraries stay loaded in it, with what they have read and remember. So what
code of a library reads counts for every later step of the process too, and so do the files of all loaded libraries;
what the program's own code reads, which is loaded anew each time, counts for its step.

What C code and other processes read is seen by their system calls (``syscall_reads.py``), where the system allows that.
What nobody can see from here (a server's answer) is told by ``Record.unfollowed``. Left out: the time, and random numbers.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from types import CodeType, FrameType

from .dependency_record import Dependency, DependencyRecord, describe, render_block
from .fs_probe import (
    ABSENT,
    FILE,
    Probe,
    Stamp,
    absolute,
    is_compiled_module,
    is_installed,
    is_standard,
    stamp,
    type_of,
)
from .machine_queries import FUNCTIONS, HOST, OF_SYSTEM, SYSTEM, fact_of_sysconf
from .portable_paths import PortablePaths

PACKAGE = str(Path(__file__).resolve().parents[2])
_METADATA = "importlib/metadata/__init__.py"
_OWN_VARIABLES = "TILEIRAS_"  # how the variables begin that this package itself looks at
_CTYPES_UTIL = "/ctypes/util.py"
_AT_START = ("sitecustomize", "usercustomize")
_EDITABLE = "__editable___tileiras_build"  # setuptools' way to this package's sources
_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_RECENT = 50_000_000  # ns; a file that was changed so shortly ago may change again without a new time stamp
_RECHECK_SECONDS = 1.0  # seconds

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
# Events of making something, and which argument names it.
_CREATING_EVENTS = {
    "os.mkdir": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
    "tempfile.mkdtemp": 0,
    "tempfile.mkstemp": 0,
}
_DEVICES = ("/dev/", "/proc/", "/sys/")
_IGNORED_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random", "/proc/self/")
_PROCESS_PATHS = re.compile(r"/proc/self/(task/\d+/)?(environ$|cwd/|root/|fd/)")
# Names in a program's code that ask without an event: for the time zone, and for variables behind the back of ``os``.
_TIME_NAMES = frozenset(("time", "datetime", "localtime", "zoneinfo"))
_TIME_ZONE, _TIME_ZONE_FILE = "TZ", "/etc/localtime"
# Functions and variables of C that ask without a system call.
_C_ENVIRONMENT_CALLS = frozenset(
    ("getenv", "secure_getenv", "environ", "localtime", "localtime_r", "mktime", "tzset", "tzname")
    + ("gethostname", "uname", "sysconf", "get_nprocs", "get_nprocs_conf", "sched_getaffinity", "sysinfo", "gethostid")
    + ("getcwd", "get_current_dir_name", "getwd")
)
# Names by which code asks where it lies.
_PLACE_NAMES = frozenset(("__file__", "__path__", "__cached__", "co_filename", "getfile", "getsourcefile"))
# What makes as many workers as there are processors: how many decides nothing.
_WORKERS = ("/concurrent/futures/", "/multiprocessing/pool.py")
_RAW_ENVIRONMENTS = frozenset(("posix", "_data"))
# What asks a stat for no more than whether there is something of a type: functions of os.path and pathlib.
_TYPE_QUERIES = frozenset(("exists", "isfile", "isdir", "ismount", "is_file", "is_dir", "is_mount", "is_block_device"))
_CONTENTS_QUERIES = frozenset(("getsize", "updatecache", "checkcache", "findsource", "getsourcefile"))
# Where cuTile keeps what its launcher compiled, asked for when it is imported: no export reads that.
_PLACES = frozenset(("HOME", "XDG_CACHE_HOME", "CUDA_TILE_CACHE_DIR", "CUDA_TILE_TEMP_DIR", "TMPDIR", "TEMP", "TMP"))
_BY_PATH = frozenset(("contents", "type", "stat", "link", "names", "shadows", "distributions", "startup"))
_Key = tuple[str, str]
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class ReadsChanged(Exception):
    """What a step has read changed before the step ended: the argument says what, in a few words."""

    ends_worker = True  # a process that has loaded what is no longer there


class SharedFlags:
    """What a process tells, in memory that it shares, the one that looks at its system calls."""

    def __init__(self) -> None:
        self._bytes = mmap.mmap(-1, 2)

    @property
    def is_silent(self) -> bool:
        """Whether the process explains by itself what it asks now."""
        return self._bytes[0] != 0

    @is_silent.setter
    def is_silent(self, value: bool) -> None:
        self._bytes[0] = value

    @property
    def tolerates_runs(self) -> bool:
        """Whether it has run a program whose result decides nothing."""
        return self._bytes[1] != 0

    @tolerates_runs.setter
    def tolerates_runs(self, value: bool) -> None:
        self._bytes[1] = value


class ReadTracer:
    """What this process reads while the watch is ``active``.

    Names are absolute paths here; ``end`` gives them their names in a project.
    """

    def __init__(self):
        self.signals = SharedFlags()
        self.active = self._loading = False
        self._step_reads: dict[_Key, Stamp | str | None] = {}
        self._library_reads: dict[_Key, Stamp | str | None] = {}
        self._library_rows: dict[_Key, Dependency] = {}
        self._early: dict[str, str] = {}
        self._made: set[str] = set()
        self._changeable: set[str] = set()
        self._set: set[str] = set()
        self._unfollowed: dict[str, None] = {}
        self._modules: set[str] = set()
        self._libraries: set[str] = set()
        self._digests: dict[str, tuple[Stamp, str]] = {}
        self._written, self._checked = (-1, "[]"), 0.0
        self._probe = _new_probe()
        self._search_path: list[str] = []
        self._asks_place = False

    @property
    def active(self) -> bool:
        """Whether what is read now is noted."""
        return self._active

    @active.setter
    def active(self, value: bool) -> None:
        self._active = value
        self.signals.is_silent = not value

    # ---- the phases of a process

    def load(self) -> None:
        """From now on libraries are loaded: what is read belongs to them."""
        self.active = self._loading = True

    def loaded(self) -> None:
        """The libraries are loaded."""
        self._add_start()
        self._add_modules()
        self.active = self._loading = False

    def prepare(self, places: PortablePaths) -> None:
        """Look at what the libraries have read, so that a fork of this process need not; it has signals of its own.

        What was loaded is what the libraries' rows say, whatever is in the files by now: a look at them now and then ends
        a worker that is out of date.
        """
        with self.untraced():
            self._block(_new_probe(), places)
            if (now := time.monotonic()) - self._checked > _RECHECK_SECONDS:
                self.check(_new_probe())
                self._checked = now
        self.signals = SharedFlags()
        self.active = False
        self._forget()

    def begin(self) -> None:
        """A step begins."""
        self._forget()
        self._search_path = list(sys.path)  # that the step begins with: its own folders are noted where it looks there
        self.active = True

    def _forget(self) -> None:
        """Drop what the last step, or loading, has asked and seen."""
        self._step_reads, self._early, self._unfollowed = {}, {}, {}
        self._made, self._changeable, self._set = set(), set(), set()
        self._probe, self._asks_place = _new_probe(), False

    def end(self, places: PortablePaths) -> DependencyRecord:
        """The step's record; raises ReadsChanged where something that was read is not what it was any more."""
        self._add_modules()
        self.active = False
        looking = _new_probe()
        reads = [
            self._read(looking, *item)
            for item in sorted(self._step_reads.items(), key=_key)
            if not self._is_changed(*item)
        ]
        search_path = Dependency("path", "", Probe(places).search_path(self._search_path))
        portable = [*(_renamed(read, places) for read in reads if not _is_above(read, places)), search_path]
        if self._asks_place:
            portable.append(Dependency("place", "", Probe(places).state("place", "")))
        return DependencyRecord(tuple(portable), self._block(looking, places), tuple(self._unfollowed))

    def _is_changed(self, key: _Key, found: Stamp | str | None) -> bool:
        """Whether it is a file that the step has opened for changes, and has changed."""
        kind, name = key
        if kind != "contents" or name not in self._changeable or stamp(name) == found:
            return False
        self._unfollowed[f"it modifies {name}, which it also reads"] = None
        return True

    def _block(self, probe: Probe, places: PortablePaths) -> str:
        """The libraries' rows, which are written again only where there are more of them."""
        if self._written[0] != len(self._library_reads):
            self._checked = time.monotonic()
            for key in self._library_reads.keys() - self._library_rows.keys():
                self._library_rows[key] = self._read(probe, key, self._library_reads[key])
            reads = [self._library_rows[key] for key in sorted(self._library_reads)]
            self._written = len(reads), render_block(_renamed(read, places) for read in reads)
        return self._written[1]

    def check(self, probe: Probe) -> None:
        """Raises ReadsChanged where what libraries have read while they were loaded is another by now."""
        for (kind, name), found in self._library_reads.items():
            if kind not in ("variable", "machine") and found != (
                stamp(name) if kind == "contents" else probe.state(kind, name)
            ):
                raise ReadsChanged(describe(Dependency(kind, name, "")))

    def variables(self) -> frozenset[str]:
        """The variables that libraries have asked for while they were loaded."""
        return frozenset(name for kind, name in self._library_reads if kind == "variable")

    def stop(self) -> None:
        """The step has failed."""
        self.active = False

    @contextmanager
    def untraced(self) -> Iterator[None]:
        """What is read here decides nothing."""
        active, self.active = self.active, False
        try:
            yield
        finally:
            self.active = active

    # ---- what the hooks and this package tell

    def on_audit_event(self, event: str, arguments: tuple) -> None:
        """An audit event."""
        if not self.active:
            return
        if event == "open":
            self._opened(*arguments)
        elif event in _LISTINGS:
            self._listed(arguments[0])
        elif event == "import" and arguments[1]:
            self.file(arguments[1])
        elif event in _CREATING_EVENTS:
            self._makes(event, arguments)
        elif event == "exec":
            self._executes(arguments[0])
        elif event == "ctypes.dlopen" and isinstance(arguments[0], str) and os.sep in arguments[0]:
            self.file(arguments[0])
            if not is_installed(arguments[0]):
                self._note("environment", "")  # its code may ask for any variable
        elif event == "ctypes.dlsym" and arguments[1] in _C_ENVIRONMENT_CALLS and not _is_for_library(""):
            self._unfollowed[f"it calls {arguments[1]} of C"] = None
        elif event == "socket.gethostname":
            self.machine(HOST)
        elif event in _UNTRACEABLE_EVENTS:
            if _is_search_of_shared_library():
                self.signals.tolerates_runs = True
            else:
                self._unfollowed[_UNTRACEABLE_EVENTS[event]] = None

    def file(self, path: str, kind: str = "contents") -> None:
        """The program asks about ``path``."""
        if not self.active:
            return
        name = self._resolve_own_links(self._absolute(path))
        if name.startswith(_DEVICES):
            if not name.startswith(_IGNORED_DEVICES) or _PROCESS_PATHS.match(name):
                self._unfollowed[f"it reads {name}"] = None
        elif not self._is_own(name):
            self._note(kind, name)

    def search(self, module: str, folder: str) -> bool:
        """A module is looked for in a folder; whether something of its name is there."""
        if not self.active or self._is_own(folder):
            return True
        if os.path.splitext(folder)[1] and self._is_file(folder):
            self.file(folder)  # an archive
        path = os.path.abspath(folder)
        found = self._note("candidates", f"{path}//{module}")
        # A folder alone is a part of a package whose other parts may lie anywhere.
        return bool(found) and (found != module or self._has_first_file(os.path.join(path, module)))

    def precede(self, folder: str) -> None:
        """Modules of ``folder`` come before installed ones and Python's own."""
        if not self.active:
            return
        self._note("shadows", os.path.abspath(folder))
        for module in self._libraries:
            self.search(module, folder)

    def link(self, path: str) -> None:
        """The program asks what is at ``path`` without following it."""
        self.file(path, "link")

    def stat(self, path: str) -> None:
        """The program asks for the stat of ``path``; by whom tells how much of it matters."""
        if self.active:
            self.file(path, _kind_of_stat())

    def variable(self, name: str) -> None:
        """The program asks for a variable of the environment."""
        if not self.active or name in self._set or name in _PLACES and _is_about_places(self._loading):
            return
        if not name.startswith(_OWN_VARIABLES) and _requesting_file().startswith(PACKAGE):
            return  # it hands all of them on to ptxas
        self._note("variable", name)

    def assigned(self, name: str) -> None:
        """The program sets a variable."""
        self._set.add(name)

    def machine(self, fact: str) -> None:
        """The program asks for a fact about the machine."""
        if self.active and not self._loading and _is_for_program():
            callers = {frame.f_code.co_name for frame in _standard_callers()}
            self._note("machine", SYSTEM if fact == HOST and callers & OF_SYSTEM else fact)

    def working_folder(self) -> None:
        """The program asks where it works."""
        if self.active and not self._asks_place and not self._loading and _is_for_program():
            self._asks_place = True

    def made(self, files: Iterable[bytes], places: PortablePaths) -> None:
        """The step has made these files: the text of a folder in them is of this place."""
        folders = {places.root, os.path.realpath(places.root), places.prefix} - {os.sep}
        self._asks_place |= any(os.fsencode(folder) in data for folder in folders for data in files)

    def all_variables(self) -> None:
        """The program looks at all variables."""
        if self.active and not _requesting_file().startswith(PACKAGE):
            self._note("environment", "")

    # ---- how it is kept

    def _opened(self, path: int | _Path, mode: object, flags: int) -> None:
        if isinstance(path, int):
            return
        name = self._absolute(os.fsdecode(path))
        if not flags & _WRITE:
            self.file(name)
            return
        if name.startswith(_DEVICES):
            return
        if not self._exists(name) or flags & os.O_TRUNC:
            if ("contents", name) in self._step_reads and name not in self._made:
                self._unfollowed[f"it modifies {name}, which it also reads"] = None
            self._made.add(name)
        elif flags & os.O_EXCL:
            self.file(name, "type")
        elif name not in self._made:
            self.file(name, "type" if self._is_library_log(name, flags) else "contents")
            self._changeable.add(name)

    def _is_library_log(self, name: str, flags: int) -> bool:
        """Whether a library opens a file to append only: the file changes with each import, and no code reads it there."""
        only_appends = flags & (os.O_WRONLY | os.O_RDWR | os.O_APPEND) == os.O_WRONLY | os.O_APPEND
        return only_appends and (self._loading or _is_for_library(name))

    def _makes(self, event: str, arguments: tuple) -> None:
        """Something new appears, unless something is there."""
        name = self._absolute(os.fsdecode(arguments[_CREATING_EVENTS[event]]))
        source = self._absolute(os.fsdecode(arguments[0]))
        if event in ("os.link", "os.rename") and not self._is_own(source):
            self._unfollowed[f"it renames {source}"] = None
        if self._exists(name) and event != "os.rename":
            self.file(name, "type")
        else:
            self._made.add(name)

    def _absolute(self, path: str) -> str:
        """The path without dots; links before two dots decide what it is."""
        if os.pardir not in path:
            return os.path.abspath(path)
        links: list[str] = []
        with self.untraced():
            name = absolute(path, links=links)
        for link in links:
            self.link(link)
        return name

    def _is_file(self, name: str) -> bool:
        with self.untraced():
            return type_of(name) == FILE

    def _has_first_file(self, folder: str) -> bool:
        """Whether a package is a folder with an ``__init__``, which is looked for in every folder of its name."""
        return bool(self._note("candidates", f"{folder}//__init__"))

    def _exists(self, name: str) -> bool:
        with self.untraced():
            return type_of(name, follows=False) != ABSENT

    def _executes(self, code: object) -> None:
        """Code of the program's, whose names tell what it may ask without an event."""
        if not isinstance(code, CodeType) or is_installed(code.co_filename) or is_standard(code.co_filename):
            return
        if code.co_filename.startswith(PACKAGE + os.sep):
            return
        names = _names_in(code)
        if names & _TIME_NAMES:
            self._note("variable", _TIME_ZONE)
            self._note("contents", _TIME_ZONE_FILE)
        if names & _RAW_ENVIRONMENTS:
            self._note("environment", "")
        self._asks_place |= bool(names & _PLACE_NAMES)

    def _listed(self, path: int | _Path | None) -> None:
        caller = sys._getframe(2).f_code.co_filename
        if isinstance(path, int) or "importlib._bootstrap" in caller:
            return  # what importlib looks for is told by ``search``
        folder = self._absolute(os.fsdecode(path or "."))
        self.file(folder, "distributions" if caller.endswith(_METADATA) else "names")

    def _note(self, kind: str, name: str) -> Stamp | str | None:
        key = (kind, name)
        if key in self._library_reads:
            return self._library_reads[key]
        rows = self._library_reads if self._loading or _is_for_library(name) else self._step_reads
        if key in self._step_reads:
            found = rows[key] = self._step_reads.pop(key)
            return found
        with self.untraced():
            rows[key] = found = self._stamp(name) if kind == "contents" else self._probe.state(kind, name)
        return found

    def _stamp(self, name: str) -> Stamp | None:
        found = stamp(name)
        if found and time.time_ns() - found[1] < _RECENT:
            self._early[name] = _new_probe().state("contents", name)
        return found

    def _is_own(self, name: str) -> bool:
        """Whether a path belongs to Python, to this package, or to what the program has made."""
        if is_compiled_module(name) or f"{name}{os.sep}".startswith(PACKAGE + os.sep) or _EDITABLE in name:
            return True
        return is_standard(name) or self._is_made(name)

    def _is_made(self, name: str) -> bool:
        return name in self._made or any(name.startswith(f"{made}{os.sep}") for made in self._made)

    def _resolve_own_links(self, name: str) -> str:
        """What a link leads to that the program has made."""
        if not self._made or not self._is_made(name):
            return name
        with self.untraced():
            return os.path.realpath(name)

    def _add_start(self) -> None:
        """What Python runs before it begins: the modules of a site or a user, wherever they lie."""
        for name in _AT_START:
            _note_search(self, name, None)
            if isinstance(file := getattr(sys.modules.get(name), "__file__", None), str):
                self._note("contents", os.path.abspath(file))
        for folder in filter(is_installed, map(os.path.abspath, sys.path)):
            self._note("startup", folder)

    def _add_modules(self) -> None:
        """The files of all loaded libraries, and where each library was looked for."""
        loading, self._loading = self._loading, True
        for name in [name for name in sys.modules if name not in self._modules]:
            self._modules.add(name)
            module = sys.modules.get(name)
            if (file := _installed_file(module)) is not None:
                self._libraries.add(name.partition(".")[0])
                self.file(file)
            if "." not in name and name not in sys.stdlib_module_names and getattr(module, "__spec__", None):
                _note_search(self, name, None)
        self._loading = loading

    def _read(self, probe: Probe, key: _Key, found: Stamp | str | None) -> Dependency:
        kind, name = key
        if kind == "machine":
            return Dependency(kind, name, str(found))  # the program may change what its process has of it
        state = probe.state(kind, name, self._digests.get(name))
        now = probe.stamps[name] if kind == "contents" else state
        if kind == "variable" and (name in self._set or key in self._library_reads):
            return Dependency(kind, name, str(found))
        if now != found or self._early.get(name, state) != state:
            raise ReadsChanged(describe(Dependency(kind, name, state)))
        if kind != "contents":
            return Dependency(kind, name, state)
        as_read = probe.stamps[name]
        if as_read:
            self._digests[name] = as_read, state
        return Dependency(kind, name, state, as_read)


def _new_probe() -> Probe:
    """Looks by absolute paths."""
    return Probe(PortablePaths("/", "/"))


def _key(item: tuple[_Key, object]) -> _Key:
    return item[0]


def _renamed(read: Dependency, places: PortablePaths) -> Dependency:
    if read.kind in _BY_PATH:
        return Dependency(read.kind, places.name(read.name), read.state, read.stamp)
    if read.kind == "candidates":
        folder, _, module = read.name.rpartition("//")
        return Dependency(read.kind, f"{places.name(folder)}//{module}", read.state)
    return read


def _is_above(read: Dependency, places: PortablePaths) -> bool:
    """Whether it is what a path to the project or to Python goes through: where they lie decides nothing."""
    return read.kind == "link" and places.any_below(read.name)


def _installed_file(module: object) -> str | None:
    """The file of a library's module; None for any other."""
    origin = getattr(module, "__file__", None)
    is_library = isinstance(origin, str) and is_installed(origin) and not origin.startswith(PACKAGE)
    return origin if is_library else None


# ---- who asks
def _callers() -> Iterator[FrameType]:
    """The frames below this file's own, from the inside."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_of_python(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith("<frozen ") or is_standard(file)


def _standard_callers() -> list[FrameType]:
    """The frames of Python's own library between the program and what it calls."""
    found = []
    for frame in _callers():
        if not _is_of_python(frame):
            break
        found.append(frame)
    return found


def _requesting_file() -> str:
    """The file of the code that asks, of the program's, a library's or this package's."""
    return next((frame.f_code.co_filename for frame in _callers() if not _is_of_python(frame)), "")


def _is_for_library(name: str) -> bool:
    """Whether it is a library's file, or a library asks, and not for the source of a module that each step loads anew."""
    if is_installed(name):
        return True
    asking = _requesting_file()
    by_library = is_installed(asking) and not asking.startswith(PACKAGE)
    return by_library and not name.endswith(".py")


def _is_for_program() -> bool:
    """Whether the program's code asks, through Python's own or a library's functions, and no library that is imported."""
    for frame in _callers():
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE + os.sep) or any(part in file for part in _WORKERS):
            return False
        if is_installed(file) and frame.f_code.co_name == "<module>":
            return False
        if not is_installed(file) and not _is_of_python(frame):
            return True
    return False


def _is_search_of_shared_library() -> bool:
    """Whether an installed library asks Python where a shared library is, as PyTorch's import does, for which Python runs ldconfig.
    The system's linker would find the same by the name alone, and of what it looks at nothing is noted either."""
    return _is_for_library("") and any(frame.f_code.co_filename.endswith(_CTYPES_UTIL) for frame in _standard_callers())


def _kind_of_stat() -> str:
    if any(frame.f_code.co_filename.endswith(_METADATA) for frame in _standard_callers()):
        return "distributions"
    names = {frame.f_code.co_name for frame in _standard_callers()}
    if names & _TYPE_QUERIES:
        return "type"
    return "contents" if names & _CONTENTS_QUERIES else "stat"


def _is_about_places(loading: bool) -> bool:
    """Whether a library asks, or Python's ``tempfile``, which decides where files lie and not what is in them."""
    return (
        loading
        or _is_for_library("")
        or any(frame.f_code.co_filename.endswith("/tempfile.py") for frame in _standard_callers())
    )


def _names_in(code: CodeType) -> set[str]:
    """The names that code uses, and the functions and classes in it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names_in(constant)
    return found


# ---- the hooks, which stay where they are
_tracer = ReadTracer()
_is_hooked = False


def tracer() -> ReadTracer:
    """The watch of this process; it is active between ``begin`` and ``end``."""
    return _tracer


def install() -> ReadTracer:
    """Hook into this process, once; returns its watch."""
    global _is_hooked
    if not _is_hooked:
        _is_hooked = True
        sys.addaudithook(_tracer.on_audit_event)
        sys.meta_path.insert(0, _Searches())
        os.environ.__class__ = os.environb.__class__ = _Environment
        for name, tell in (
            ("stat", ReadTracer.stat),
            ("lstat", ReadTracer.link),
            ("readlink", ReadTracer.link),
            ("access", ReadTracer.stat),
        ):
            setattr(os, name, _notifying(getattr(os, name), tell))
        os.fstat = _notifying_of_descriptor(os.fstat)
        for name, fact in FUNCTIONS.items():
            if hasattr(os, name):
                setattr(os, name, _asking_first(getattr(os, name), partial(_tracer.machine, fact)))
        for name in ("getcwd", "getcwdb"):
            setattr(os, name, _asking_first(getattr(os, name), _tracer.working_folder))
        os.sysconf = _told_of_sysconf(os.sysconf)
    return _tracer


def _notifying(original: Callable, tell: Callable[[ReadTracer, str], None]) -> Callable:
    def function(path, *arguments, **options):
        if not _tracer.active or isinstance(path, int) or options.get("dir_fd") is not None:
            return original(path, *arguments, **options)
        (tell if options.get("follow_symlinks", True) else ReadTracer.link)(_tracer, os.fsdecode(path))
        with _tracer.untraced():
            return original(path, *arguments, **options)

    function.__name__ = function.__qualname__ = original.__name__
    function.__doc__ = original.__doc__
    return function


def _asking_first(original: Callable, tell: Callable[[], None]) -> Callable:
    @wraps(original)
    def function(*arguments, **options):
        tell()
        return original(*arguments, **options)

    return function


def _told_of_sysconf(original: Callable) -> Callable:
    @wraps(original)
    def sysconf(name):
        if (fact := fact_of_sysconf(name)) is not None:
            _tracer.machine(fact)
        return original(name)

    return sysconf


def _notifying_of_descriptor(original: Callable) -> Callable:
    """The state of an open file that the program asks for, and not Python's own library for it."""

    def fstat(fd):
        if _tracer.active and not _standard_callers():
            with _tracer.untraced():
                path = os.readlink(f"/proc/self/fd/{fd}") if os.path.lexists(f"/proc/self/fd/{fd}") else ""
            if path.startswith(os.sep):
                _tracer.file(path, "stat")
        return original(fd)

    fstat.__doc__ = original.__doc__
    return fstat


class _Environment(os._Environ):
    """``os.environ`` that tells what it is asked for."""

    def __getitem__(self, key):
        if _tracer.active:
            _tracer.variable(os.fsdecode(key))
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        _tracer.assigned(os.fsdecode(key))
        super().__setitem__(key, value)

    def __delitem__(self, key):
        _tracer.assigned(os.fsdecode(key))
        super().__delitem__(key)

    def __repr__(self):
        _tracer.all_variables()
        return super().__repr__()

    def __len__(self):
        _tracer.all_variables()
        return super().__len__()

    def __iter__(self):
        _tracer.all_variables()
        return super().__iter__()


class _Searches:
    """The first finder of ``sys.meta_path``: finds nothing, and notes where the others look."""

    def find_spec(self, name: str, path=None, target=None) -> None:
        """None, always."""
        if _tracer.active:
            _note_search(_tracer, name.rpartition(".")[2], path)


def _note_search(watch: ReadTracer, module: str, path) -> None:
    """Note each folder up to the one where ``module`` is found; Python's own modules can only be hidden."""
    is_standard_module = path is None and module in sys.stdlib_module_names
    for folder in sys.path if path is None else path:
        if not isinstance(folder, str):
            continue
        if is_standard(os.path.abspath(folder)):
            if is_standard_module:
                return
        elif is_standard_module:
            watch._note("shadows", os.path.abspath(folder))
        elif path is not None and is_installed(folder) and _has(folder, module):
            return  # a library's own parts: the files that are loaded count
        elif watch.search(module, folder):
            return


def _has(folder: str, module: str) -> bool:
    with _tracer.untraced():
        return bool(_tracer._probe.state("candidates", f"{folder}//{module}"))
