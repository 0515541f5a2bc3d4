"""``tileiras-build run script.py --device cpu --sm 90``: runs an unchanged script that calls ``ct.launch`` on one of our devices.

The script, or a module as with ``python -m``, runs as ``__main__`` with its own ``sys.argv`` and folder. Its threads, ``atexit``
handlers and Python child processes (``inherited/sitecustomize.py``) use the same device.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import InvalidInput, TileirasError
from ..core.pause_gc import gc_paused
from .run_script_settings import Settings
from .traceback_filter import is_ours, without

_INTERRUPTED = 130


@dataclass(frozen=True)
class Program:
    """A program: ``words`` for its ``sys.argv``, the first folder of its import path, and how to start it."""

    argv: tuple[str, ...]
    folder: str
    start: Callable[[], object]


def script(file: str, argv: Sequence[str]) -> Program:
    """A file. Raises InvalidInput if it does not exist."""
    path = Path(file)
    if not path.is_file():
        raise InvalidInput("run-script", f"{file} is no file", remedy="name a Python script, or a module after -m")
    return Program((file, *argv), str(path.resolve().parent), lambda: runpy.run_path(file, run_name="__main__"))


def module(name: str, argv: Sequence[str]) -> Program:
    """A module, or a package with a ``__main__``, in the current folder or installed."""
    start = lambda: runpy.run_module(name, run_name="__main__", alter_sys=True)
    return Program((name, *argv), os.getcwd(), start)


def run_program(program: Program, settings: Settings, at_end: Callable[[Callable[[], object]], object] | None) -> int:
    """Run a program; its exit code. Raises InvalidInput for invalid options of ``enable``.

    ``at_end`` registers the cleanup, like ``atexit.register``, to run after all code of the program; None: clean up when the
    program returns.
    """
    from . import disable, enable
    from .child_processes import inherit_device

    options, ending = settings.options(), ExitStack()
    if settings.profile:
        from .profile import Profile

        options["profile"] = profile = Profile()
        ending.callback(lambda: _write_or_report(lambda: profile.write(settings.json)))
    with gc_paused(frozen=True):
        enable(settings.sm, device=settings.device, **options)
    ending.callback(disable)
    ending.enter_context(inherit_device(settings))
    ending.enter_context(_as_main(program))
    if at_end is not None:
        at_end(ending.close)  # before the program registers handlers, so that it runs after them
        return _run(program)
    with ending:
        return _run(program)


@contextmanager
def _as_main(program: Program) -> Iterator[None]:
    """Python's environment of a main program; its threads print their errors in the same way."""
    before = sys.argv, sys.path[:], threading.excepthook
    sys.argv, sys.path[0:0] = list(program.argv), [program.folder]
    threading.excepthook = _show_of_thread
    try:
        yield
    finally:
        sys.argv, sys.path[:], threading.excepthook = before


def _run(program: Program) -> int:
    """The exit code of a program, whose errors are printed as by Python."""
    try:
        program.start()
    except SystemExit as error:
        return _exit_code(error)
    except BaseException as error:  # every error is the program's, and Python would exit with 1
        sys.stdout.flush()
        _show(error)
        return _code(error)
    finally:
        _flush()
    return 0


def _code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return _INTERRUPTED
    return error.exit_code if isinstance(error, TileirasError) else 1


def _write_or_report(write: Callable[[], None]) -> None:
    """Write, or print the error: the program has ended, with an exit code of its own."""
    try:
        write()
    except TileirasError as error:
        print(error, file=sys.stderr)


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
    """Print the traceback without this package's frames; faults of a kernel or a launch are one line."""
    seen: set[int] = set()
    shown: BaseException | None = error
    while shown is not None and id(shown) not in seen:
        seen.add(id(shown))
        shown.__traceback__ = without(shown.__traceback__, is_ours)
        shown = shown.__cause__ or shown.__context__
    if sys.excepthook is not sys.__excepthook__:  # the program's own
        sys.excepthook(type(error), error, error.__traceback__)
    elif not isinstance(error, TileirasError):
        traceback.print_exception(error)
    else:
        if error.__traceback__ is not None:
            print("Traceback (most recent call last):", file=sys.stderr)
            traceback.print_tb(error.__traceback__)
        print(error, file=sys.stderr)


def _show_of_thread(found: threading.ExceptHookArgs) -> None:
    """The same for a thread; Python continues."""
    if found.exc_value is not None and not isinstance(found.exc_value, SystemExit):
        print(f"Exception in thread {found.thread.name if found.thread else '?'}:", file=sys.stderr)
        _show(found.exc_value)
