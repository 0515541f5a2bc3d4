"""Runs each call in its own process: a fork of the caller, for a command that makes one call and has no threads.

A lock that another thread holds stays locked in a fork forever, so a process with threads uses the fork server instead,
which has none.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from ...core.errors import InternalError
from ...pipeline.stages import load
from ..lazy_class_creation import enable
from .allow_crash import allow_crash, may_crash
from .call_result import ProcessEnded, unwrap_result, without_traces


class ForkedExecutor:
    """An executor that survives an LLVM abort without the cost of a worker pool."""

    def run(self, function: str, *arguments: Any, timeout: float | None = None) -> Any:
        """The result of the function named ``"module:function"``.

        Raises the function's own exception, InternalError[worker-died] if its process dies, and
        InternalError[worker-timeout] after ``timeout`` seconds, when that process and its children have been killed. A process
        that may crash runs the call itself.
        """
        if timeout is None and may_crash():
            return load(function)(*arguments)
        if has_threads():
            return _from_fork_server(function, arguments, timeout)
        read_end, write_end = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            if timeout is not None:
                os.setpgid(0, 0)
            _serve(write_end, function, arguments)
        os.close(write_end)
        try:
            data = _read_all(read_end, timeout)
        except BaseException:
            _end(child, group=timeout is not None)
            raise
        finally:
            os.close(read_end)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != 0 or not data:
            raise ProcessEnded(code)
        return unwrap_result(pickle.loads(data))

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def has_threads() -> bool:
    """Whether this process has other threads. OpenBLAS ends its own before a fork."""
    return threading.active_count() > 1


def _from_fork_server(function: str, arguments: tuple, timeout: float | None) -> Any:
    from .worker_pool import Worker, WorkerDied, memory_share

    worker = Worker(memory_share(1))
    try:
        return unwrap_result(worker.call(function, arguments, timeout))
    except WorkerDied as error:
        if error.code is None:
            raise
        raise ProcessEnded(error.code, error.detail) from None
    finally:
        worker.kill()


def _read_all(descriptor: int, timeout: float | None) -> bytes:
    """The child's output until it ends; InternalError[worker-timeout] if that takes too long."""
    deadline = None if timeout is None else time.monotonic() + timeout
    parts: list[bytes] = []
    while True:
        left = None if deadline is None else max(deadline - time.monotonic(), 0)
        if not select.select([descriptor], [], [], left)[0]:
            raise InternalError("worker-timeout", f"timed out after {timeout:g} s")
        if not (part := os.read(descriptor, 1 << 20)):
            return b"".join(parts)
        parts.append(part)


def _end(child: int, *, group: bool) -> None:
    """Kill the child, and with its process group the programs that it started."""
    with suppress(OSError):
        if group:
            os.killpg(child, signal.SIGKILL)
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _serve(write_end: int, function: str, arguments: tuple) -> None:
    """The child: never returns to the caller's code."""
    status = 1
    allow_crash()
    # A process with one call ends before garbage collection pays off.
    gc.disable()
    enable()
    try:
        try:
            answer = (True, load(function)(*arguments))
        except Exception as error:
            answer = (False, without_traces(error))
        with os.fdopen(write_end, "wb") as stream:
            stream.write(pickle.dumps(answer))
        status = 0
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
