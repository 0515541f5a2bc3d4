"""Watches what the build scripts look at while SCons reads them, so that a later run can tell whether it is unchanged.

Python's audit events name every file that is opened and every folder that is listed, by whom ever. What cannot be
compared with a stat (a program that is run, a connection, a file that is written) is a doubt, and so is a build script
that does anything of its own before it imports this tool: that was not watched.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import SCons.Node
import SCons.Script
import SCons.Tool

_DOUBTFUL = (
    *("subprocess.", "socket.", "urllib.", "http.", "ftplib.", "sqlite3.", "pty.", "shutil."),
    *("os.system", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "os.startfile"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
)
_LEAVINGS = ("__pycache__", ".sconsign", ".up_to_date-")
_LISTINGS = ("os.listdir", "os.scandir")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SCONS_TOOLS = os.path.dirname(SCons.Tool.__file__) + os.sep
_MARGIN = 0.05  # seconds; kernels stamp files with a clock that ticks every 1 to 10 ms


class Reading:
    """What was looked at since this module was imported: ``files`` and ``folders`` with their state at that moment.

    ``doubt`` says what cannot be compared. ``detected_tools``: SCons has asked programs who they are, which can matter
    to what the build script builds besides our library.
    """

    def __init__(self):
        self.files: dict[str, tuple | None] = {}
        self.folders: dict[str, list[str]] = {}
        self.doubt: str | None = None
        self.detected_tools = False
        self._watching = self._looking_up = False

    def start(self) -> None:
        """Watch from now on, if SCons is reading build scripts."""
        scripts = list(_running_scripts())
        if not scripts:
            self.doubt = "no build script is being read"
            return
        self.doubt = next(filter(None, (_does_more_than_import(path, line) for path, line in scripts)), None)
        self._watching = True
        sys.addaudithook(self._hear)

    def stop(self) -> None:
        """The build scripts are read."""
        self._watching = False

    @contextmanager
    def looking_up(self):
        """The tool itself looks for installed files: in the folders of ``sys.path`` and where the environment says."""
        self._looking_up = True
        for path in sys.path:
            self.add_folder(os.path.abspath(path))
        yield
        self._looking_up = False

    @contextmanager
    def aside(self):
        """What the tool does for itself, and no result depends on: it is not watched."""
        watching, self._watching = self._watching, False
        try:
            yield
        finally:
            self._watching = watching

    def look_at_scripts(self) -> None:
        """Add the build scripts themselves, which SCons opened before it ran them, and where they lie."""
        for node in SCons.Node.SConscriptNodes:
            path = node.get_abspath()
            self.add_file(path)
            self.add_folder(os.path.dirname(path))
            state = self.files[path]
            if state is None or max(state[:2]) / 1e9 > SCons.Script.start_time - _MARGIN:
                self.doubt = f"{path} is newer than this run"

    def add_file(self, path: str) -> None:
        """Note the state of a file, before it is read."""
        if path not in self.files:
            self.files[path] = file_state(path)

    def add_folder(self, path: str) -> None:
        """Note what a folder holds."""
        if path not in self.folders:
            # Listing it is itself an event.
            self.folders[path] = []
            self.folders[path] = folder_state(path)

    def _hear(self, event: str, arguments: tuple) -> None:
        if not self._watching:
            return
        if event == "open":
            self._opened(*arguments)
        elif event in _LISTINGS:
            self.add_folder(_absolute(arguments[0] or "."))
        elif event.startswith(_DOUBTFUL) and not self._looking_up:
            self._doubtful(event)

    def _doubtful(self, event: str) -> None:
        if _is_tool_detection():
            self.detected_tools = True
        else:
            self.doubt = f"the build scripts use {event}"

    def _opened(self, path, mode, flags) -> None:
        name = _absolute(path)
        # Modules are looked at as sources; records change with every build.
        if "__pycache__" in name or os.path.basename(name).startswith(_LEAVINGS):
            return
        # A folder is opened for its lock; what it holds is asked for by listing it.
        if os.path.isdir(name):
            return
        if flags & _WRITE_FLAGS and name != os.devnull:
            self.doubt = f"the build scripts write {name}"
        self.add_file(name)


def file_state(path: str) -> tuple | None:
    """Everything of a file's stat that changes when the file does; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)


def folder_state(path: str) -> list[str]:
    """The names in a folder, without those that builds leave there."""
    try:
        names = os.listdir(path)
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith(_LEAVINGS))


def _absolute(path) -> str:
    # An open descriptor has no path; it was opened once, with one.
    return os.devnull if isinstance(path, int) else os.path.abspath(os.fsdecode(path))


def _is_tool_detection() -> bool:
    """Whether SCons itself is looking for compilers, which it does for every environment with its default tools."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_SCONS_TOOLS):
            return True
        frame = frame.f_back
    return False


def _running_scripts() -> Iterator[tuple[str, int]]:
    """The build scripts that are being run, and at which line."""
    paths = {node.get_abspath() for node in SCons.Node.SConscriptNodes}
    frame = sys._getframe(1)
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        if path in paths:
            yield path, frame.f_lineno
        frame = frame.f_back


def _does_more_than_import(path: str, line: int) -> str | None:
    """Whether the build script has done something before ``line`` that was not watched: where, or None."""
    with open(path, "rb") as stream:
        tree = ast.parse(stream.read(), path)
    for statement in tree.body:
        if statement.end_lineno < line and not _is_harmless(statement):
            return f"{path}:{statement.lineno} runs before the tool is imported"
    return None


def _is_harmless(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return all(_is_known_module(alias.name) for alias in statement.names)
    if isinstance(statement, ast.ImportFrom):
        return statement.level == 0 and _is_known_module(statement.module)
    if isinstance(statement, (ast.Assign, ast.Expr)):
        return not any(isinstance(part, (ast.Call, ast.Await, ast.Subscript)) for part in ast.walk(statement))
    return False


def _is_known_module(name: str) -> bool:
    """A module that looks at nothing but itself when it is imported."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in ("SCons", "tileiras_build")


READING = Reading()
READING.start()
