"""The states of thousands of files, taken by as many processes as there are cores: each takes 5 us."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ...core.cpu_count import cpu_count
from ...workers.executor.forked_executor import has_threads
from .sconscript_trace import file_state

State = tuple[int, int, int, int, int]  # of ``file_state``
ABSENT: State = (0, 0, -1, 0, 0)
WIDTH = len(ABSENT)
_PATHS_PER_PROCESS = 4000  # files per process; a fork costs as much as a thousand stats
_MAX_PROCESSES = 8  # processes
_BYTES = WIDTH * array("q").itemsize  # of a state


def stat_all(paths: Sequence[str]) -> array:
    """The five fields of the state of each path, concatenated."""
    count = _processes(len(paths))
    bounds = [len(paths) * number // count for number in range(count + 1)]
    first, *others = (paths[start:end] for start, end in pairwise(bounds))
    children = [_fork_stat(part) for part in others]
    found = _stat_paths(first)
    for child, part in zip(children, others, strict=True):
        found.extend((child and _read_result(*child)) or _stat_paths(part))
    return found


def _processes(paths: int) -> int:
    """How many processes to use: one if this process has threads, as a fork might then deadlock."""
    if paths < 2 * _PATHS_PER_PROCESS or sys.platform != "linux" or has_threads():
        return 1
    return min(paths // _PATHS_PER_PROCESS, cpu_count(), _MAX_PROCESSES)


def _stat_paths(paths: Sequence[str]) -> array:
    found = array("q")
    for path in paths:
        found.extend(file_state(path) or ABSENT)
    return found


def _fork_stat(paths: Sequence[str]) -> tuple[int, int, int] | None:
    """Fork a process that stats ``paths``: its pid, the read end of its pipe, and the number of bytes to read.

    None if the fork fails.
    """
    read, written = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(read)
        os.close(written)
        return None
    if child == 0:
        try:
            os.close(read)
            with os.fdopen(written, "wb") as stream:
                stream.write(_stat_paths(paths).tobytes())
        finally:
            os._exit(0)
    os.close(written)
    return child, read, len(paths) * _BYTES


def _read_result(child: int, pipe: int, size: int) -> array | None:
    """The result of a process; None if it was killed."""
    with os.fdopen(pipe, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return array("q", data) if len(data) == size else None


def differences(one: array, other: array) -> Iterator[int]:
    """The indices, counted in states, where two arrays of the same length differ."""
    return _differences(one.tobytes(), other.tobytes(), 0, len(one) // WIDTH)


def _differences(one: bytes, other: bytes, start: int, end: int) -> Iterator[int]:
    if one[start * _BYTES : end * _BYTES] == other[start * _BYTES : end * _BYTES]:
        return
    if end - start == 1:
        yield start
        return
    middle = (start + end) // 2
    yield from _differences(one, other, start, middle)
    yield from _differences(one, other, middle, end)
