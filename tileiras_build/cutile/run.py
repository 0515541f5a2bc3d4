"""``tileiras-build run script.py --device cpu --sm 90``: a script that calls ``ct.launch``, unchanged, on a device of ours.

The script runs as ``__main__`` with its own ``sys.argv`` and folder. Python processes that it starts are under the same device
(``inherited/sitecustomize.py``).
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from ..errors import InvalidInput, TileirasError
from .settings import Settings

PACKAGE = str(Path(__file__).resolve().parent)


def run_script(script: str, words: Sequence[str], settings: Settings) -> int:
    """Run a script; its exit code. Raises InvalidInput where there is none, or for what ``enable`` refuses."""
    from . import disable, enable
    from .inherit import inherited

    path = Path(script)
    if not path.is_file():
        raise InvalidInput("run-script", f"{script} is no file", remedy="name a Python script")
    options = settings.options()
    if settings.profile:
        from .profile import Profile

        options["profile"] = profile = Profile()
    with _nothing_is_looked_at_again():
        enable(settings.sm, device=settings.device, **options)
    try:
        with inherited(settings):
            code = _run(path, words)
    finally:
        disable()
    if settings.profile:
        profile.write(settings.json)
    return code


@contextmanager
def _nothing_is_looked_at_again() -> Iterator[None]:
    """What is imported in the block stays: to look for what could be freed of it, then and whenever the script has made some
    objects, takes longer than a small script."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()


def _run(path: Path, words: Sequence[str]) -> int:
    """The exit code of a script, whose errors are shown as Python shows them."""
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[0:0] = [str(path), *words], [str(path.resolve().parent)]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as error:
        return _exit_code(error)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # whatever it is, it is the script's, and Python would end with 1
        sys.stdout.flush()
        _show(error)
        return error.exit_code if isinstance(error, TileirasError) else 1
    finally:
        sys.argv, sys.path[:] = before
        _flush()
    return 0


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    """The traceback without the frames that are of us; what is wrong with a kernel or a launch is one line."""
    seen: set[int] = set()
    shown: BaseException | None = error
    while shown is not None and id(shown) not in seen:
        seen.add(id(shown))
        shown.__traceback__ = _without_ours(shown.__traceback__)
        shown = shown.__cause__ or shown.__context__
    if not isinstance(error, TileirasError):
        traceback.print_exception(error)
        return
    if error.__traceback__ is not None:
        print("Traceback (most recent call last):", file=sys.stderr)
        traceback.print_tb(error.__traceback__)
    print(error, file=sys.stderr)


def _without_ours(found: TracebackType | None) -> TracebackType | None:
    """A traceback whose frames are all of the script, and of what it uses."""
    frames = []
    while found is not None:
        frames.append(found)
        found = found.tb_next
    kept = None
    for frame in reversed(frames):  # in a loop: the script may have failed of too deep a recursion
        if not _is_ours(frame.tb_frame.f_code.co_filename):
            kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _is_ours(file: str) -> bool:
    return file.startswith((os.path.dirname(PACKAGE) + os.sep, "<frozen runpy>", "<frozen importlib"))
