"""Traces what build scripts read and query while SCons runs them, so that a later run can tell whether it is unchanged.

Python's audit events name every file that is opened, every folder that is listed and every file whose code is executed,
by any caller. Functions that query files without an event (``os.stat`` and its like) are replaced while scripts run, by
functions that record the answers (``fs_queries.py``). What cannot be queried again (a program that runs, a connection, a
file that is written) is untraceable. So is a build script that runs code before it imports this tool, which was not
traced. What no event shows is found in the scripts' code (``sconscript_purity.py``).
"""

from __future__ import annotations

import functools
import genericpath
import importlib.util
import os
import pathlib
import posixpath
import stat
import sys
from collections.abc import Callable
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import SCons.Node
import SCons.Node.FS
import SCons.Script
import SCons.Tool
import SCons.Variables

from ...core.tracing.dependency_state import is_build_leftover
from ...core.tracing.ignored_env_vars import IGNORED_ENV_VARS
from .fs_queries import (
    SEARCH,
    STATE,
    VARIABLE,
    file_kind,
    query,
    real_access,
    real_lstat,
    real_readlink,
    real_stat,
    stat_or_kind,
    stat_state,
)
from .sconscript_purity import ScriptEffects, untraced_prologue
from .script_frames import (
    OWN,
    SCRIPT_READER,
    frames,
    importer_of,
    is_disk_check,
    is_importlib,
    is_package_code,
    is_tool_detection,
    running_code,
    script_of,
)

_UNTRACEABLE_EVENTS = (
    *("subprocess.", "socket.", "urllib.", "http.", "ftplib.", "sqlite3.", "pty.", "shutil.", "builtins.input"),
    *("os.system", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "os.startfile", "os.getxattr", "os.listxattr"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr"),
)
_ABILITIES = (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks)
_LISTINGS = ("os.listdir", "os.scandir")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MARGIN = 0.05  # seconds; kernels stamp files with a clock that ticks every 1 to 10 ms
_VOLATILE_FOLDERS = ("/proc/", "/sys/")

_KIND_SCANS = ("os", "glob", "pathlib")  # modules that query at most the kind of the entries of a folder

_FS = SCons.Node.FS
_NODE_STATS = {_FS.LocalFS.stat.__code__, _FS.LocalFS.lstat.__code__}
_GLOB = _FS.Dir._glob1.__code__
_VARIABLES = SCons.Variables.Variables.Update.__code__
_PATH_STATS = {pathlib.Path.stat.__code__, pathlib.Path.lstat.__code__}
# Functions of the standard library whose results depend only on the kind of the file.
_KIND_CALLERS = {
    code
    for owner, names in (
        (genericpath, ("exists", "isfile", "isdir")),
        (posixpath, ("lexists", "islink", "realpath", "_joinrealpath")),
        (pathlib.Path, ("exists", "is_dir", "is_file", "is_symlink")),
    )
    for name in names
    if isinstance(code := getattr(getattr(owner, name, None), "__code__", None), CodeType)
}


class SConscriptTrace:
    """What was read since this module was imported: ``answers`` by kind of query (``fs_queries.QUERIES``) and path, each the
    first one, from before the read. Of the environment, it has the variables that no record's key holds.

    ``untraceable`` says what cannot be compared. ``detected_tools``: SCons has run compilers to detect them,
    which can matter to other targets of the build script. ``has_started``: SCons was reading build scripts. ``scripts``
    are the sources of the user's code. ``read_by_scripts`` are files whose contents or state the build scripts have read
    themselves; of ``queried_by_scripts`` they know only whether those exist.
    """

    def __init__(self):
        self.answers: dict[tuple[str, str], Any] = {}
        self.scripts: set[str] = set()
        self.read_by_scripts: set[str] = set()
        self.queried_by_scripts: set[str] = set()
        self.untraceable: str | None = None
        self.has_started = False
        self.detected_tools = False
        self._is_active = self._probing_installed = self._for_kernels = False
        self._own: set[str] = set()
        self._replaced: list[tuple[object, str, Callable, Callable]] = []

    def start(self) -> None:
        """Start tracing, if SCons is reading build scripts."""
        running = running_code()
        if not running:
            self.untraceable = "the tool was loaded outside of an SConstruct"
            return
        self.untraceable = next(filter(None, (untraced_prologue(path, line) for path, line in running)), None)
        self.scripts.update(path for path, _ in running)
        # The environment that loads the tool may have loaded SCons' own tools before.
        self.detected_tools = any(frame.f_code.co_filename == SCons.Tool.__file__ for frame in frames(sys._getframe(1)))
        self._patch_os()
        self.has_started = self._is_active = True
        sys.addaudithook(self._on_audit_event)

    def stop(self) -> None:
        """Stop tracing: the build scripts have been read."""
        self._is_active = False
        for owner, name, real, other in self._replaced:
            setattr(owner, name, real)
            for abilities in _ABILITIES:
                abilities.discard(other)
        self._replaced.clear()

    @contextmanager
    def probing_installed(self):
        """The tool itself searches for installed files: in the folders of ``sys.path`` and of environment variables."""
        self._probing_installed = True
        for path in sys.path:
            self.add_folder(os.path.abspath(path))
        yield
        self._probing_installed = False

    @contextmanager
    def untraced(self):
        """Do not trace what the tool does for itself without effect on results."""
        watching, self._is_active = self._is_active, False
        try:
            yield
        finally:
            self._is_active = watching

    @contextmanager
    def for_kernels(self):
        """Attribute reads to the kernels of a source: the tool itself reads it to find them."""
        self._for_kernels = True
        yield
        self._for_kernels = False

    def add_scripts(self) -> None:
        """Add the build scripts, which SCons opened before it ran them, and their folders."""
        for node in SCons.Node.SConscriptNodes:
            for path in {node.get_abspath(), node.srcnode().get_abspath(), script_of(node)}:
                self.add_file(path)
                self.add_folder(os.path.dirname(path))
            state = self.answers[STATE, script_of(node)]
            if state is None or max(state[:2]) / 1e9 > SCons.Script.start_time - _MARGIN:
                self.untraceable = f"{script_of(node)} changed after this run started"
        self._add_site_folders()

    def code(self) -> ScriptEffects:
        """The effects of the code of the build scripts and of the user's imports, found in its syntax."""
        return ScriptEffects.of(self.sources())

    def sources(self) -> set[str]:
        """The build scripts, and the user's modules that they import."""
        return self.scripts.union(map(script_of, SCons.Node.SConscriptNodes))

    def add_untraceable(self, reason: str) -> None:
        """What this build depends on and no record holds, as a clause that follows "because"."""
        self.untraceable = self.untraceable or reason

    def files(self) -> dict[str, list[int] | None]:
        """The files whose states were recorded."""
        return {path: state for (how, path), state in self.answers.items() if how == STATE}

    def add_file(self, path: str) -> None:
        """Record the state of a file, before it is read."""
        self.ask(STATE, path)

    def add_folder(self, path: str) -> None:
        """Record the names in a folder where something is searched for: those that this build makes there do not count."""
        self.ask(SEARCH, path)

    def ask(self, how: str, name: str) -> None:
        """Record the present answer to a query, unless there is one."""
        if (how, name) not in self.answers:
            # The query may itself be an event.
            active, self._is_active = self._is_active, False
            self.answers[how, name] = query(how, name)
            self._is_active = active
        self._attribute(how, name)

    def record_query(self, how: str, path: str, answer: object) -> None:
        """Record the result of a query; the first one counts."""
        self._attribute(how, path)
        self.answers.setdefault((how, path), answer)

    def _attribute(self, how: str, path: str) -> None:
        if not self._for_kernels and how != SEARCH:
            (self.read_by_scripts if how == STATE else self.queried_by_scripts).add(path)

    def _add_site_folders(self) -> None:
        """Record the site folders, whose code SCons ran before the build script."""
        top = SCons.Node.FS.get_default_fs().Top.get_abspath()
        for folder in ("/usr/share/scons", os.path.expanduser("~/.scons"), top):
            tools, code = (os.path.join(folder, "site_scons", name) for name in ("site_tools", "site_init.py"))
            for path in (os.path.dirname(code), tools, code):
                self.ask("kind", path)
            if self.answers["kind", code] is not None:
                self.add_file(code)
                self.scripts.add(code)
                self.untraceable = self.untraceable or untraced_prologue(code)

    # ---- operations with events

    def _on_audit_event(self, event: str, arguments: tuple) -> None:
        if not self._is_active:
            return
        if event == "open":
            self._on_open(*arguments)
        elif event in _LISTINGS:
            self._on_list(event, arguments[0], sys._getframe(1))
        elif event == "exec":
            self._on_exec(arguments[0].co_filename, sys._getframe(1))
        elif event == "import" and arguments[1]:
            self._on_exec(arguments[1], sys._getframe(1))
        elif (
            event.startswith(_UNTRACEABLE_EVENTS) and not self._probing_installed and not _is_about_compiled(arguments)
        ):
            self._on_untraceable(event)

    def _on_untraceable(self, event: str) -> None:
        if is_tool_detection():
            self.detected_tools = True
        else:
            self.untraceable = f"the build scripts call {event}, which is not traced"

    def _on_open(self, path, mode, flags) -> None:
        name = _absolute(path)
        if name.endswith(".pyc"):
            name = _source_of_pyc(name)
        # Records change with every build.
        if name == os.devnull or is_build_leftover(os.path.basename(name)):
            return
        kind = query("kind", name)
        # A folder is opened for its lock; its names are recorded when it is listed.
        if kind == [stat.S_IFDIR]:
            return
        if flags & _WRITE_FLAGS and not _is_about_compiled((name,)):
            self.untraceable = f"the build scripts write {name}, which is not traced"
        if kind is not None and not self._probing_installed and _is_volatile(name):
            self.untraceable = f"the build scripts read {name}, which is not traced"
        self.add_file(name)

    def _on_list(self, event: str, path, frame: FrameType) -> None:
        if isinstance(path, int):
            self.untraceable = "the build scripts use directory file descriptors (dir_fd), which are not traced"
            return
        name = _absolute(path or ".")
        if is_importlib(frame):
            self.add_folder(name)
            return
        self.ask(_listing_query(event, frame), name)

    def _on_exec(self, path: str, frame: FrameType) -> None:
        """Python code is executed, or a C library loaded: by the user's code, or by what the tool needs."""
        if frame.f_code is _VARIABLES:
            path = frame.f_locals["filename"]
        name = os.path.abspath(path)
        if path.startswith("<") or is_package_code(name):
            return
        importer = importer_of(frame)
        if importer.startswith(OWN) or importer in self._own or self._probing_installed:
            self._own.add(name)
        elif importer != SCRIPT_READER:
            self.scripts.add(name)

    # ---- operations without events

    def _patch_os(self) -> None:
        """Replace the functions that have no audit event by functions that record the query."""
        for name, real, heard in (
            ("stat", real_stat, functools.partial(self._on_stat, "")),
            ("lstat", real_lstat, functools.partial(self._on_stat, "link-")),
            ("readlink", real_readlink, self._on_readlink),
            ("access", real_access, self._on_access),
        ):
            self._replace(os, name, self._recording(real, heard))
        variables = type(os.environ)
        self._replace(variables, "__getitem__", self._recording_variables(variables.__getitem__))

    def _replace(self, owner: object, name: str, other: Callable) -> None:
        real = getattr(owner, name)
        for abilities in _ABILITIES:
            if real in abilities:
                abilities.add(other)
        self._replaced.append((owner, name, real, other))
        setattr(owner, name, other)

    def _recording(self, real: Callable, heard: Callable) -> Callable:
        @functools.wraps(real)
        def asking(path, *arguments, **options):
            # The path of an open file was recorded when it was opened.
            if not self._is_active or isinstance(path, int):
                return real(path, *arguments, **options)
            try:
                answer = real(path, *arguments, **options)
            except (OSError, ValueError):
                heard(path, None, arguments, options, sys._getframe(1))
                raise
            heard(path, answer, arguments, options, sys._getframe(1))
            return answer

        return asking

    def _on_stat(self, link: str, path, found, arguments: tuple, options: dict, frame: FrameType) -> None:
        if options.get("dir_fd") is not None:
            self.untraceable = "the build scripts use directory file descriptors (dir_fd), which are not traced"
            return
        if options.get("follow_symlinks") is False:
            link = "link-"
        while frame.f_code in _PATH_STATS and frame.f_back is not None:
            frame = frame.f_back
        if is_importlib(frame) and (found is None or stat.S_ISDIR(found.st_mode)):
            self.add_folder(_absolute(path))
            return
        how = "stat-or-kind" if frame.f_code in _NODE_STATS else "kind" if frame.f_code in _KIND_CALLERS else "state"
        # SCons checks whether a folder is in the place of a new node's file; a result "nothing" is dropped.
        if how == "stat-or-kind" and found is None and is_disk_check(frame):
            return
        answer = None if found is None else _STATS[how](found)
        self.record_query(link + how, _absolute(path), answer)

    def _on_readlink(self, path, found, arguments: tuple, options: dict, frame: FrameType) -> None:
        if options:
            self.untraceable = "the build scripts use directory file descriptors (dir_fd), which are not traced"
        self.record_query("target", _absolute(path), None if found is None else os.fsdecode(found))

    def _on_access(self, path, found, arguments: tuple, options: dict, frame: FrameType) -> None:
        mode = arguments[0] if arguments else options.pop("mode", None)
        if options or mode is None:
            self.untraceable = "the build scripts use options of os.access"
        else:
            self.record_query(f"access {int(mode)}", _absolute(path), found)

    def _recording_variables(self, real: Callable) -> Callable:
        def getitem(environment, name):
            if self._is_active and isinstance(name, (str, bytes)) and os.fsdecode(name) in IGNORED_ENV_VARS:
                self.ask(VARIABLE, os.fsdecode(name))
            return real(environment, name)

        return getitem


_STATS: dict[str, Callable] = {"stat-or-kind": stat_or_kind, "kind": file_kind, "state": stat_state}


def _is_about_compiled(arguments: tuple) -> bool:
    """Whether Python reads or writes a cached bytecode file."""
    return isinstance(arguments[0] if arguments else None, str) and "__pycache__" in arguments[0]


def _absolute(path) -> str:
    # An open descriptor has no path; its path was recorded when it was opened.
    return os.devnull if isinstance(path, int) else os.path.abspath(os.fsdecode(path))


def _source_of_pyc(path: str) -> str:
    """The source of a .pyc file, which is what users edit; the file itself if it has none."""
    try:
        source = importlib.util.source_from_cache(path)
    except (NotImplementedError, ValueError):
        return path
    return source


def _is_volatile(path: str) -> bool:
    """Whether it is not a regular file, or one of a virtual file system: those change without a new stat."""
    found = real_stat(path)
    return not stat.S_ISREG(found.st_mode) or found.st_dev in _volatile_devices() or path.startswith(_VOLATILE_FOLDERS)


@functools.cache
def _volatile_devices() -> set[int]:
    # Without a mount, folders of these names are on disk.
    return {real_stat(folder).st_dev for folder in _VOLATILE_FOLDERS if query("kind", folder)} - {real_stat("/").st_dev}


def _listing_query(event: str, frame: FrameType) -> str:
    """How a caller lists a folder, and so what it can learn from it."""
    if frame.f_code is _GLOB:
        return f"glob {frame.f_locals['pattern']}"
    if event == "os.listdir":
        return "names"
    # A scan returns entries, which give access to their stats; Python's own functions use kinds only.
    return "entries" if frame.f_globals.get("__name__") in _KIND_SCANS else "entry-states"


TRACE = SConscriptTrace()
TRACE.start()
