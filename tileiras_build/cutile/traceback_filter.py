"""Tracebacks that end in the user's program.

The message of a refused launch, of a kernel fault, or of cuTile's front end names the user's line. The frames of this package
and of cuTile below ``ct.launch`` add nothing, nor do the causes of cuTile's errors: an internal error of its front end is most
often a mistake in the kernel, such as incompatible shapes. Any other exception may be a bug of ours, and keeps its frames.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from ..core.errors import InternalError, TileirasError
from ..core.knobs import DEBUG

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE) + os.sep
_REFUSING = tuple(
    os.path.join(HERE, name) for name in ("validate_launch.py", "cuda_tile_versions.py")
)  # which raise Python's own exceptions
_CUTILE, _FRONT_END, _INTERNAL, _EVALUATED = "cuda.tile.", "TileError", "InternalError", "StaticEvalError"
_OUTERMOST, _INNERMOST = 4, 2
"""The calls that are shown at both ends of a longer chain: a recursive kernel has a thousand."""


def shorten(error: BaseException) -> None:
    """Remove the frames below ``launch``, which catches ``error`` and raises it again, if its message says everything."""
    if not _says_it_all(error):
        return
    error.__traceback__ = None
    kinds = _kinds_of_cutile(error)
    if (
        kinds and _EVALUATED not in kinds
    ):  # cuTile builds the message from the user's frames of the cause when it is printed
        _leave_origin(error, _INTERNAL in kinds)
        _leave_calls(error)


def without(traceback: TracebackType | None, is_left_out: Callable[[str], bool]) -> TracebackType | None:
    """A traceback without the frames of some files."""
    kept = None
    for frame in reversed(
        list(_frames(traceback))
    ):  # a loop, because the program may have exceeded the recursion limit
        if not is_left_out(_file(frame)):
            kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def is_ours(file: str) -> bool:
    """Whether code in a file is of this package, or of Python's own way to run a script."""
    return file.startswith((PACKAGE, "<frozen runpy>", "<frozen importlib"))


def _says_it_all(error: BaseException) -> bool:
    if isinstance(error, KeyboardInterrupt):
        return True
    if isinstance(error, TileirasError):
        return not isinstance(error, InternalError)
    if kinds := _kinds_of_cutile(error):
        return _FRONT_END in kinds and (_INTERNAL not in kinds or _is_placed(error) and not DEBUG.read())
    return any(_file(frame) in _REFUSING for frame in list(_frames(error.__traceback__))[-2:])


def _kinds_of_cutile(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith(_CUTILE)]


def _is_placed(error: Any) -> bool:
    """Whether an error of cuTile's front end names a line of the user."""
    return getattr(getattr(error, "loc", None), "filename", None) is not None


def _leave_origin(error: BaseException, is_internal: bool) -> None:
    """Hide the cause of an error of cuTile, but add a note for an error that cuTile did not expect."""
    cause = error.__cause__
    error.__cause__, error.__suppress_context__ = None, True
    if is_internal and cause is not None and not _kinds_of_cutile(cause):
        place = list(_frames(cause.__traceback__))[-1:]
        if any(_reads_a_lambda(frame) for frame in place):
            error.add_note("a kernel cannot call a lambda that is defined outside of it: use def")
            return
        where = "".join(f" in {_file(frame)}:{frame.tb_lineno}" for frame in place)
        error.add_note(
            f"cuTile's front end raised {type(cause).__name__}{where}; set TILEIRAS_DEBUG=1 for the full traceback"
        )


def _reads_a_lambda(frame: TracebackType) -> bool:
    """Whether cuTile's front end is reading the source of a function without a ``def``."""
    return getattr(frame.tb_frame.f_locals.get("pyfunc"), "__name__", "") == "<lambda>"


def _leave_calls(error: Any) -> None:
    """Keep only the ends of a long chain of calls."""
    calls = []
    place = getattr(error, "loc", None)
    while place is not None:
        calls.append(place)
        place = getattr(place, "call_site", None)
    left = len(calls) - _INNERMOST - _OUTERMOST
    if left > 1:
        joined = calls[-_OUTERMOST]
        for place in reversed(calls[:_INNERMOST]):
            joined = dataclasses.replace(place, call_site=joined)
        error.loc = joined
        error.add_note(f"{left} frames omitted between the first {_OUTERMOST} and the last {_INNERMOST}")


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _file(frame: TracebackType) -> str:
    return frame.tb_frame.f_code.co_filename
