"""The loop of one worker process: receive a call, run it, send the result."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from ...core.errors import InternalError, describe_exception, exception_text
from ...core.system_limit_errors import withheld
from ...core.tracing.dependency_state import WORKER_VARIABLES
from ...core.user_tmp import set_python_tempdir
from ...pipeline.stages import load
from .allow_crash import allow_crash
from .call_result import CallResult, is_out_of_memory
from .fork_call import own_all_children
from .multiprocessing_internals import forget_resource_tracker
from .written_modules import keep_written

_PR_SET_PDEATHSIG = 1  # Linux, prctl(2)


def serve(
    connection: Connection,
    log: str,
    memory: int,
    cwd_and_environment: tuple[str, dict[str, str]],
    is_child: bool = True,
) -> None:
    """Serve calls ``(function, arguments)`` until the pipe ends; the answer is ``(succeeded, result or exception)``.

    The output of the calls, and LLVM's message before an abort, go to the file ``log``; temporary files of libraries go beside
    it. ``memory`` is the limit in bytes of the private memory of the process, and of each that it starts;
    ``cwd_and_environment`` are those of the build. ``is_child``: the process ends with the build, and not with a server.
    """
    _move_into(*cwd_and_environment)
    _limit_memory(memory)
    _leave_terminal(is_child)
    _write_to(log)
    allow_crash()
    own_all_children()
    forget_resource_tracker()
    keep_written()
    set_python_tempdir(Path(log).parent)
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        answer = _call(function, arguments)
        if not answer[0] and is_out_of_memory(answer[1]):
            answer = False, memory_remedy(memory)
        elif not answer[0] and (limit := withheld(answer[1])) is not None:
            answer = False, limit
        _answer(connection, answer)
        if getattr(answer[1], "ends_worker", False):
            return


def serve_request(log: str, memory: str, folder: str, *rest: str | int) -> None:
    """``serve`` with the arguments of a compile server; the import path and the pipe's descriptor are last."""
    *path, descriptor = rest
    sys.path[:] = map(str, path)
    serve(Connection(int(descriptor)), log, int(memory), (folder, dict(os.environ)), is_child=False)


def _move_into(folder: str, environment: dict[str, str]) -> None:
    os.chdir(folder)
    for name in os.environ.keys() - environment.keys() - WORKER_VARIABLES.keys():
        del os.environ[name]
    os.environ.update(environment)
    time.tzset()  # the C library caches the time zone of the parent process


def _limit_memory(bytes: int) -> None:
    """Limit the process's private pages, where the system supports it (Linux)."""
    with suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (bytes, most))


def memory_remedy(memory: int) -> InternalError:
    """The error of a step that exceeds its limit of ``memory`` bytes."""
    remedy = "raise TILEIRAS_MEMORY (MiB) or use fewer jobs"
    return InternalError("worker-memory", f"step exceeded its memory limit of {memory >> 20} MiB", remedy=remedy)


def _leave_terminal(is_child: bool) -> None:
    """Ignore Ctrl-C, which the build handles by ending its workers; a worker whose parents have died ends, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A process group of its own: the kernel's Ctrl-C does not reach ptxas either, and one kill ends both.
    os.setpgid(0, 0)
    if is_child and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _end_with(connection: Connection) -> None:
    """End this process and its children when the build has ended, also during a call.

    The build may have been killed; and the fork server, whose end would be a signal, lives as long as its workers.
    """
    watch = select.poll()
    watch.register(connection.fileno(), 0)  # reports only that the other end was closed
    watch.poll()
    os.killpg(0, signal.SIGKILL)


def _write_to(log: str) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _call(function: str, arguments: tuple) -> CallResult:
    try:
        return True, load(function)(*arguments)
    except Exception as error:
        return False, error


def _answer(connection: Connection, answer: CallResult) -> None:
    try:
        connection.send(answer)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:
        # Not picklable: send its description.
        sent = answer[1]
        text = describe_exception(sent) if issubclass(type(sent), BaseException) else type(sent).__name__
        text = f"cannot return {text} from a worker ({exception_text(error)})"
        connection.send((False, InternalError("worker-result", text)))
