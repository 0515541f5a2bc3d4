"""Identifies running code by its stack frames: the user's build scripts, SCons, this package or the standard library."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType

import SCons.Node
import SCons.Node.FS
import SCons.Script
import SCons.Tool

from ...core.code_digest import PACKAGE

OWN = str(PACKAGE) + os.sep
_SCONS = os.path.dirname(os.path.abspath(SCons.__file__)) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_SCONS_TOOLS = os.path.dirname(SCons.Tool.__file__) + os.sep
_READ_SCRIPT = sys.modules["SCons.Script.SConscript"]._SConscript.__code__
_IMPORTING = "<frozen importlib"
SCRIPT_READER = os.path.join(os.path.dirname(SCons.Script.__file__), "SConscript.py")
_DISK_CHECK = SCons.Node.FS.do_diskcheck_match.__code__


def is_importlib(frame: FrameType) -> bool:
    """Whether Python searches for modules and distributions: it looks up names in a folder."""
    return frame.f_globals.get("__name__", "").startswith("importlib.")


def is_disk_check(frame: FrameType) -> bool:
    callers = islice(frames(frame.f_back), 4)
    return any(caller.f_code is _DISK_CHECK for caller in callers)


def frames(frame: FrameType | None) -> Iterator[FrameType]:
    """``frame`` and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_package_code(path: str) -> bool:
    """Whether a file belongs to the standard library, to SCons or to this package."""
    if path.startswith((OWN, _SCONS)):
        return True
    # Installed packages are within the folder of the standard library.
    return path.startswith(_STANDARD) and not any(part in path for part in _INSTALLED)


def importer_of(frame: FrameType | None) -> str:
    """The file of the code that imports, or runs, the subject of an event."""
    while frame is not None and frame.f_code.co_filename.startswith(_IMPORTING):
        frame = frame.f_back
    return "" if frame is None else os.path.abspath(frame.f_code.co_filename)


def is_tool_detection() -> bool:
    """Whether SCons itself is detecting compilers, as it does for every environment with its default tools.

    SCons also calls a tool of the user; programs that such a tool runs are the tool's own.
    """
    for frame in frames(sys._getframe(1)):
        path = os.path.abspath(frame.f_code.co_filename)
        if path.startswith(_SCONS_TOOLS) and path != SCons.Tool.__file__:
            return True
        if not frame.f_code.co_filename.startswith("<") and not is_package_code(path):
            return False
    return False


def script_of(node: SCons.Node.FS.File) -> str:
    """The file of a build script: without a copy in a variant directory its source, possibly in a repository."""
    return (node if node.rexists() else node.srcnode()).rfile().get_abspath()


def running_code() -> list[tuple[str, int]]:
    """The user's files whose code is running, with the line: build scripts, their imports, and tools.

    Empty if the tool was loaded outside of an SConstruct; the frames below the outermost script are the caller of SCons.
    """
    scripts = set(map(script_of, SCons.Node.SConscriptNodes))
    found, running = [], 0
    for frame in frames(sys._getframe(1)):
        path = os.path.abspath(frame.f_code.co_filename)
        if not frame.f_code.co_filename.startswith("<") and not is_package_code(path):
            found.append((path, frame.f_lineno))
        if path in scripts:
            running = len(found)
    return found[:running]


@contextmanager
def sys_path_of_steps() -> Iterator[None]:
    """Search modules like the steps do: SCons puts a build script's folder first only while it reads the script.

    A worker that is started in the block keeps this ``sys.path``.
    """
    reading = [frame for frame in frames(sys._getframe(1)) if frame.f_code is _READ_SCRIPT]
    before = sys.path
    if reading:
        # The outermost script is the first.
        sys.path = list(reading[-1].f_locals.get("old_sys_path", before))
    try:
        yield
    finally:
        sys.path = before
