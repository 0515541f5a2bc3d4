"""The callers of the tracer: frames of the program's code, of a library's or of Python's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

from .dependency_state import is_installed, is_standard

PACKAGE = str(Path(__file__).resolve().parents[2])
METADATA = "importlib/metadata/__init__.py"
_CTYPES_UTIL = "/ctypes/util.py"
# Callers that create one worker per processor, on whose number no result depends.
_WORKERS = ("/concurrent/futures/", "/multiprocessing/pool.py")
# Functions of os.path and pathlib that use a stat only to test existence and type.
_TYPE_QUERIES = frozenset(("exists", "isfile", "isdir", "ismount", "is_file", "is_dir", "is_mount", "is_block_device"))
_CONTENTS_QUERIES = frozenset(("getsize", "updatecache", "checkcache", "findsource", "getsourcefile"))
_TRACER_FILES = frozenset(
    os.path.join(os.path.dirname(__file__), name)
    for name in ("audit_events.py", "audit_hooks.py", "classify_caller_frames.py", "read_tracer.py")
)
"""Modules of the tracer itself, which are skipped."""


def callers() -> Iterator[FrameType]:
    """The frames below the tracer's own, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _TRACER_FILES:
        frame = frame.f_back
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_of_python(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith("<frozen ") or is_standard(file)


def standard_callers() -> list[FrameType]:
    """The frames of Python's own library between the program and the traced function."""
    found = []
    for frame in callers():
        if not is_of_python(frame):
            break
        found.append(frame)
    return found


def requesting_file() -> str:
    """The file of the calling code: the program's, a library's or this package's."""
    return next((frame.f_code.co_filename for frame in callers() if not is_of_python(frame)), "")


def is_for_library(name: str) -> bool:
    """Whether the file is a library's, or a library reads it, except the source of a module that each step loads anew."""
    if is_installed(name):
        return True
    asking = requesting_file()
    by_library = is_installed(asking) and not asking.startswith(PACKAGE)
    return by_library and not name.endswith(".py")


def is_for_program() -> bool:
    """Whether the program's code reads, through functions of Python's own or a library, and not a library that is
    imported.
    """
    for frame in callers():
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE + os.sep) or any(part in file for part in _WORKERS):
            return False
        if is_installed(file) and frame.f_code.co_name == "<module>":
            return False
        if not is_installed(file) and not is_of_python(frame):
            return True
    return False


def is_search_of_shared_library() -> bool:
    """Whether an installed library queries the path of a shared library, as PyTorch's import does, for which Python
    runs ldconfig.

    The system's linker would find the same library by name, and its reads are not recorded either.
    """
    return is_for_library("") and any(frame.f_code.co_filename.endswith(_CTYPES_UTIL) for frame in standard_callers())


def stat_kind() -> str:
    if any(frame.f_code.co_filename.endswith(METADATA) for frame in standard_callers()):
        return "distributions"
    names = {frame.f_code.co_name for frame in standard_callers()}
    if names & _TYPE_QUERIES:
        return "type"
    return "contents" if names & _CONTENTS_QUERIES else "stat"


def is_about_places(loading: bool) -> bool:
    """Whether a library queries paths, or Python's ``tempfile``, which affects where files are but not their contents."""
    return (
        loading
        or is_for_library("")
        or any(frame.f_code.co_filename.endswith("/tempfile.py") for frame in standard_callers())
    )


def names_in(code: CodeType) -> set[str]:
    """The names that code uses, including its nested functions and classes."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= names_in(constant)
    return found
