"""Runs a call in a fork of this process, so that effects of the call on its process end with it.

The fork and its child processes are monitored: the death of the fork is noticed at once even if a child holds the pipe, and
children that it leaves are killed.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...core.tracing.seccomp_listener import FileCall, Listener, filter_of_machine, send_listener
from .call_result import CallResult, ProcessEnded, is_out_of_memory, unwrap_result, without_traces
from .multiprocessing_internals import process_config

_DEATH_SIGNAL, _SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER; linux/prctl.h
_libc = ctypes.CDLL(None)
_owns_all_children = False


def own_all_children() -> None:
    """Become the parent of all processes that calls leave, so that they can be killed; this process must start nothing else."""
    global _owns_all_children
    with suppress(OSError, AttributeError):
        _owns_all_children = _libc.prctl(_SUBREAPER, 1, 0, 0, 0) == 0


def call_in_fork(
    call: Callable[[], object],
    on_call: Callable[[FileCall, int], None] | None = None,
    is_looked_at: Callable[[], bool] = lambda: True,
) -> Any:
    """The result of ``call`` in a fork; ``on_call`` receives its file system calls and those of its child processes, each with
    the fork's pid, while ``is_looked_at()``.

    Raises the call's own exception, and ProcessEnded if its process dies.
    """
    read_end, write_end = os.pipe()
    ours, theirs = socket.socketpair()
    filter_of_machine()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # The other thread of a worker waits for the end of the build, and holds no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _serve(call, write_end, theirs, on_call is not None)
    os.close(write_end)
    theirs.close()

    def see_calls(listener: Listener) -> None:
        for asked in listener.receive(is_looked_at):
            if on_call:
                on_call(asked, child)

    try:
        data, code = _read_child(child, read_end, Listener.from_channel(ours) if on_call else None, see_calls)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        _end_leftovers(child)
        os.close(read_end)
        ours.close()
    if code != 0 or not data:
        raise ProcessEnded(code)
    answer: CallResult = pickle.loads(data)
    return unwrap_result(answer)


# ---- the fork
def _serve(call: Callable[[], object], write_end: int, theirs: socket.socket, is_seen: bool) -> None:
    """The child: never returns to the caller's code."""
    status = 1
    try:
        _leave_parent(write_end, theirs.fileno())
        if is_seen:
            send_listener(theirs)
        theirs.close()
        with os.fdopen(write_end, "wb") as stream:
            stream.write(_answer(call))
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _leave_parent(*descriptors: int) -> None:
    """End with the parent, close all files but ``descriptors``, and allow children."""
    if sys.platform == "linux":
        _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if not _owns_all_children:
        os.setpgid(0, 0)
    below = 3
    for descriptor in sorted(descriptors):
        os.closerange(below, descriptor)
        below = descriptor + 1
    os.closerange(below, os.sysconf("SC_OPEN_MAX"))
    process_config()["daemon"] = False


def _answer(call: Callable[[], object]) -> bytes:
    try:
        answer: CallResult = (True, call())
    except Exception as error:
        answer = (False, without_traces(MemoryError() if is_out_of_memory(error) else error))
    try:
        return pickle.dumps(answer)
    except BaseException as error:  # pickling may run code of any class
        from ...core.errors import InternalError, kind_of

        text = f"result of type {type(answer[1]).__name__} cannot be pickled ({kind_of(error)})"
        return pickle.dumps((False, InternalError("worker-result", text)))


# ---- the parent
def _read_child(
    child: int, read_end: int, listener: Listener | None, see_calls: Callable[[Listener], None]
) -> tuple[bytes, int]:
    """The child's output, and its exit code; the end of the child counts, whoever else holds the pipe."""
    parts: list[bytes] = []
    ended = _end_of(child)
    waiting = select.poll()
    for descriptor in (ended, read_end, listener.descriptor if listener else None):
        if descriptor is not None:
            waiting.register(descriptor, select.POLLIN)
    try:
        while True:
            ready = dict(waiting.poll())
            if listener and (events := ready.get(listener.descriptor)):
                if events & select.POLLIN:
                    see_calls(listener)
                else:
                    waiting.unregister(listener.descriptor)  # no process is left that could use it
            if read_end in ready:
                if part := os.read(read_end, 1 << 20):
                    parts.append(part)
                    continue
                waiting.unregister(read_end)
                if ended is None:
                    return b"".join(parts), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if ended in ready:
                parts.append(_rest(read_end))
                return b"".join(parts), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        if ended is not None:
            os.close(ended)
        if listener:
            listener.close()


def _end_of(child: int) -> int | None:
    """A descriptor that is ready when the child has ended; None before Linux 5.3, where the end of the pipe is used."""
    with suppress(OSError, AttributeError):
        return os.pidfd_open(child)
    return None


def _rest(read_end: int) -> bytes:
    """The remaining data in the pipe of an ended child; other processes may hold the pipe, and write nothing."""
    os.set_blocking(read_end, False)
    parts = []
    with suppress(BlockingIOError):
        while part := os.read(read_end, 1 << 20):
            parts.append(part)
    return b"".join(parts)


def _end_leftovers(child: int) -> None:
    """Kill the processes that the call started and left running."""
    if not _owns_all_children:
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        return
    with suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for process in _children():
                    with suppress(OSError):
                        os.kill(process, signal.SIGKILL)
                os.waitpid(-1, 0)


def _children() -> list[int]:
    """The child processes of this one."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{name}/stat", "rb") as stream:
                fields = stream.read().rpartition(b")")[2].split()
            if int(fields[1]) == os.getpid():
                found.append(int(name))
    return found
