"""A fork of the server impersonates the client: its working folder, files, environment variables and arguments.

Everything else is equal, as both have the same environment fingerprint (``environment_fingerprint.py``).
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

_SIGNALS = (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM)
STANDARD = 3  # descriptors: standard input, output and error


@dataclass(frozen=True)
class Request:
    """A request of a client: its environment ``fingerprint``, the ``function`` ("module:function") to call with texts as
    ``arguments``, ``words`` for ``sys.argv``, and its variables."""

    fingerprint: str
    function: str
    arguments: list[str]
    words: list[str]
    variables: dict[str, str]


def impersonate(client: int, request: Request, set_by_imports: dict[str, str]) -> None:
    """Impersonate the waiting process ``client``, with the variables that libraries set when they were imported.

    Raises OSError if that is not completely possible.
    """
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    os.chdir(f"/proc/{client}/cwd")
    _take_variables(request.variables | set_by_imports)
    sys.argv[:] = request.words
    # Python caches these.
    tempfile.tempdir = None
    importlib.invalidate_caches()
    gc.enable()


def _take_variables(variables: dict[str, str]) -> None:
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def close_all_but(*descriptors: int) -> None:
    """Close all other descriptors of the server, which the command could read otherwise."""
    first = STANDARD
    for number in sorted(descriptors):
        os.closerange(first, number)
        first = max(first, number + 1)
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def take_files(files: list[int]) -> list[int]:
    """Make the first three standard input, output and error; returns the others."""
    for number, file in enumerate(files[:STANDARD]):
        os.dup2(file, number)
        os.close(file)
    _open_streams()
    return files[STANDARD:]


def _open_streams() -> None:
    """Python's streams over the client's files, as Python opens them when it starts."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old, file = getattr(sys, name), io.FileIO(number, "wb" if number else "rb", closefd=False)
        buffered = io.BufferedWriter(file) if number else io.BufferedReader(file)
        lines = name == "stderr" or file.isatty()
        stream = io.TextIOWrapper(buffered, encoding=old.encoding, errors=old.errors, line_buffering=lines)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(call: Callable[[], int | None]) -> int:
    """The exit status of a process that calls ``call`` and exits; its output has been flushed."""
    try:
        sys.exit(call())
    except SystemExit as end:
        status = _status(end.code)
    except BaseException:
        traceback.print_exc()
        status = 1
    for finish in (vars(threading)["_shutdown"], _run_exit_functions):
        with suppress(Exception):
            finish()
    return status if _flush() else 120


def _run_exit_functions() -> None:
    import atexit

    atexit._run_exitfuncs()


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _flush() -> bool:
    """Python's exit status for a failed final flush is 120."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return False
    return True
