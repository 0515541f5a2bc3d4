"""Tracebacks that end where the user's program does.

What a launch refuses, what a kernel did wrong and what cuTile's front end says of a source is told in full by its sentence,
which names the user's line. The frames of ours and of cuTile's below ``ct.launch`` say nothing more. Whatever else is raised may be
a fault of ours, and keeps its frames.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import TracebackType

from ..errors import InternalError, TileirasError

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE) + os.sep
_REFUSING = tuple(
    os.path.join(HERE, name) for name in ("checks.py", "versions.py")
)  # they raise errors of Python's kinds
_CUTILE, _FRONT_END, _INTERNAL = "cuda.tile.", "TileError", "InternalError"


def shorten(error: BaseException) -> None:
    """Take the frames below ``launch``, which catches ``error`` and raises it again, from it where its sentence says it all."""
    if _says_it_all(error):
        error.__traceback__ = None


def without(traceback: TracebackType | None, is_left_out: Callable[[str], bool]) -> TracebackType | None:
    """A traceback without the frames of some files."""
    kept = None
    for frame in reversed(list(_frames(traceback))):  # in a loop: a program may have failed of too deep a recursion
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
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith(_CUTILE)]
    if kinds:
        return _FRONT_END in kinds and _INTERNAL not in kinds
    return any(_file(frame) in _REFUSING for frame in list(_frames(error.__traceback__))[-2:])


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _file(frame: TracebackType) -> str:
    return frame.tb_frame.f_code.co_filename
