"""Exceptions of a kernel file's code as diagnostics.

In: an exception of any class, whose attributes may raise in turn. Out: InvalidInput[export] at the user's line.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..core.errors import (
    InvalidInput,
    Location,
    describe_exception,
    exception_text,
    is_own,
    kind_of,
    safe_query,
    traceback_of,
)
from ..core.tracing.dependency_state import is_installed
from .cases_table_from_ast import display_path

INSTALL = "install it with: pip install 'cuda-tile==1.7.0'"


@contextmanager
def users_code(folder: str, fallback: Location, prefix: str = "") -> Iterator[None]:
    """Convert what the block raises by ``python_error``."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reported = python_error(error, folder, fallback, prefix)
        if reported is error:
            raise
        raise reported from error


def python_error(error: BaseException, folder: str, fallback: Location, prefix: str = "") -> InvalidInput:
    """The diagnostic of a Python exception, at the deepest frame below ``folder``; attributes of the exception may raise."""
    if is_own(error) and isinstance(error, InvalidInput):
        return error
    if safe_query(_is_without_cutile, error):
        message = f"exporting cuTile kernels needs the package cuda-tile: {exception_text(error)}"
        return InvalidInput("export-no-cutile", message, location=fallback, remedy=INSTALL)
    place = safe_query(_named_place, error, folder) or _deepest(error, folder) or fallback
    message = f"{prefix}{safe_query(_first_line, error) or describe_exception(error)}"
    return InvalidInput("export", message, location=place, remedy="correct the kernel file")


def _is_without_cutile(error: BaseException) -> bool:
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "cuda"


def _first_line(error: BaseException) -> str:
    texts = (getattr(error, name, None) for name in ("message", "msg"))
    text = next((text for text in texts if text and isinstance(text, str)), None) or exception_text(error)
    return f"{kind_of(error)}: {(text.splitlines() or [''])[0]}"


def _named_place(error: BaseException, folder: str) -> Location | None:
    """The user's location that a SyntaxError or an error of cuTile has itself."""
    if isinstance(error, SyntaxError) and error.filename:
        return Location(display_path(error.filename), error.lineno or 0, error.offset or 0)
    loc = getattr(error, "loc", None)  # of cuda-tile's errors: line from 1, column from 0, then who called
    while loc is not None:
        if _is_users(loc.filename, folder):
            return Location(display_path(loc.filename), loc.line, loc.col + 1)
        loc = loc.call_site
    return None


def _deepest(error: BaseException, folder: str) -> Location | None:
    frames = [frame for frame in traceback.extract_tb(traceback_of(error)) if _is_users(frame.filename, folder)]
    if not frames:
        return None
    return Location(display_path(frames[-1].filename), frames[-1].lineno or 0, (frames[-1].colno or 0) + 1)


def _is_users(path: str, folder: str) -> bool:
    """Whether a source file is below the kernel file's folder, but not in a virtual environment there."""
    return Path(path).is_relative_to(folder) and not is_installed(os.path.relpath(path, folder))
