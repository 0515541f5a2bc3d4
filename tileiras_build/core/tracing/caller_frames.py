"""Who asks: the frames of the code that calls into the tracer, the program's, a library's or Python's own."""

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
# What makes as many workers as there are processors: how many decides nothing.
_WORKERS = ("/concurrent/futures/", "/multiprocessing/pool.py")
# What asks a stat for no more than whether there is something of a type: functions of os.path and pathlib.
_TYPE_QUERIES = frozenset(("exists", "isfile", "isdir", "ismount", "is_file", "is_dir", "is_mount", "is_block_device"))
_CONTENTS_QUERIES = frozenset(("getsize", "updatecache", "checkcache", "findsource", "getsourcefile"))
_TRACER_FILES = frozenset(
    os.path.join(os.path.dirname(__file__), name)
    for name in ("audit_events.py", "audit_hooks.py", "caller_frames.py", "read_tracer.py")
)
"""The modules whose frames are the tracer's own: nobody asks from them."""


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
    """The frames of Python's own library between the program and what it calls."""
    found = []
    for frame in callers():
        if not is_of_python(frame):
            break
        found.append(frame)
    return found


def requesting_file() -> str:
    """The file of the code that asks, of the program's, a library's or this package's."""
    return next((frame.f_code.co_filename for frame in callers() if not is_of_python(frame)), "")


def is_for_library(name: str) -> bool:
    """Whether it is a library's file, or a library asks, and not for the source of a module that each step loads anew."""
    if is_installed(name):
        return True
    asking = requesting_file()
    by_library = is_installed(asking) and not asking.startswith(PACKAGE)
    return by_library and not name.endswith(".py")


def is_for_program() -> bool:
    """Whether the program's code asks, through Python's own or a library's functions, and no library that is imported."""
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
    """Whether an installed library asks Python where a shared library is, as PyTorch's import does, for which Python runs ldconfig.
    The system's linker would find the same by the name alone, and of what it looks at nothing is noted either."""
    return is_for_library("") and any(frame.f_code.co_filename.endswith(_CTYPES_UTIL) for frame in standard_callers())


def stat_kind() -> str:
    if any(frame.f_code.co_filename.endswith(METADATA) for frame in standard_callers()):
        return "distributions"
    names = {frame.f_code.co_name for frame in standard_callers()}
    if names & _TYPE_QUERIES:
        return "type"
    return "contents" if names & _CONTENTS_QUERIES else "stat"


def is_about_places(loading: bool) -> bool:
    """Whether a library asks, or Python's ``tempfile``, which decides where files lie and not what is in them."""
    return (
        loading
        or is_for_library("")
        or any(frame.f_code.co_filename.endswith("/tempfile.py") for frame in standard_callers())
    )


def names_in(code: CodeType) -> set[str]:
    """The names that code uses, and the functions and classes in it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= names_in(constant)
    return found
