"""A preload of ``dask worker`` that records the cost of each step on a worker, or replays it by sleeping.

Workers that sleep need no core, so that a machine with two shows what the builds of many workers take by the clock where
each has a core of its own. What a step gives back is what it gave when its cost was noted. A worker also pays, once, for
what the one that was watched paid once: the start of its compiler process, and the first step of each stage.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tileiras_build.workers.executor import dask_worker
from tileiras_build.workers.executor.worker_pool import WorkerPool

NOTE, REPLAY = "CLUSTER_BUILD_NOTE", "CLUSTER_BUILD_REPLAY"  # variables with the path of the notes


@dataclass
class Notes:
    """CPU seconds of the start, of the first step to each stage, and (seconds, files) of each step by its key."""

    start: float = 0.0
    first: dict[str, float] = field(default_factory=dict)
    steps: dict[bytes, tuple[float, dict[str, bytes]]] = field(default_factory=dict)


class NotingPool:
    """The pool of a Dask worker with one thread, which notes what each call costs."""

    def __init__(self, pool: WorkerPool):
        self._pool, self.notes = pool, Notes()
        before = cpu_below(os.getpid())
        pool.run("os:getpid")
        self.notes.start = cpu_below(os.getpid()) - before

    def run(self, function: str, *arguments, timeout: float | None = None) -> dict[str, bytes]:
        """The pool's answer."""
        before = cpu_below(os.getpid())
        files = self._pool.run(function, *arguments, timeout=timeout)
        seconds = cpu_below(os.getpid()) - before
        self.notes.first.setdefault(arguments[2], seconds)
        self.notes.steps[_key(*arguments)] = seconds, files
        return files


class ReplayingPool:
    """What answers in its place from the notes, after as long as they say."""

    def __init__(self, notes: Notes):
        self._notes, self._first = notes, dict(notes.first)
        time.sleep(notes.start)

    def run(self, function: str, *arguments, timeout: float | None = None) -> dict[str, bytes]:
        """What the step gave."""
        seconds, files = self._notes.steps[_key(*arguments)]
        time.sleep(max(seconds, self._first.pop(arguments[2], 0.0)))
        return files


def dask_setup(worker) -> None:
    """Dask calls this when its worker starts."""
    make = dask_worker._own_pool
    pools: list = []

    def own_pool(threads: int):
        if not pools:
            pools.append(
                ReplayingPool(pickle.loads(Path(os.environ[REPLAY]).read_bytes()))
                if REPLAY in os.environ
                else NotingPool(make(threads))
            )
        return pools[0]

    dask_worker._own_pool = own_pool
    worker.noting_pools = pools


def collect(dask_worker) -> bytes:
    """Run in a worker: its notes."""
    return pickle.dumps(dask_worker.noting_pools[0].notes)


def _key(data: bytes, source: str, target: str, job, *_) -> bytes:
    return hashlib.sha256(f"{source} {target} {job.target.name} ".encode() + data).digest()


def cpu_below(process: int) -> float:
    """CPU seconds of a process, of those below it, and of those of them that have ended."""
    ticks = 0
    for one in tree(process):
        with suppress(OSError):  # it has ended meanwhile
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def tree(process: int) -> Iterator[int]:
    """A process and all below it."""
    yield process
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))
