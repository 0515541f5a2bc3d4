"""How many processes run the CTAs of a launch: at most those that were asked for, else as many as make it shorter.

What a launch takes is estimated from what batches of the same kernel have taken in this process (``costs.py``), in processor time
without that of translating the kernel: NumPy's overhead is the same for one CTA and for a hundred, so that a batch costs a
fixed part and a part for each CTA. Nothing is known before the first batch, so a first launch of one batch stays in one process.
So do launches that may not be divided (``processes.why_alone``), arrays whose copies would take too much memory, and, unless
somebody asks, every launch of a process that is one of many (``has_company``): the others have the cores.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.cpu_count import cores
from .memory.address_space import Memory
from .parallel_ctas import why_alone

if TYPE_CHECKING:
    from .ptx.program import Program

VARIABLE = "TILEIRAS_EMULATOR_JOBS"
PIECES = 4  # batches for each process at most: some take longer than others
LEAST_THREADS = 1024  # of a batch made smaller for that
WASTE = 0.1  # the fixed costs of those batches, as a part of the other ones, at most
WORTH = 0.05  # seconds of a launch from which a fork pays where processes were asked for
FORK = 0.05  # seconds that one more process has to save
COPIED = 1 << 29  # bytes of arrays that are copied, compared and copied back in a second
ROOM = 4  # the part of the free memory that copies of the arrays may take is one in so many
_FREE = Path("/proc/meminfo")
_RUNNING = Path("/proc/loadavg")  # its fourth word: runnable threads of the machine / all of them


def asked_for(wanted: int | None) -> int | None:
    """How many processes at most: as told, else as the environment says; None where nobody says. Raises ValueError."""
    if wanted is not None:
        return wanted
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(f"{VARIABLE} cannot be {text!r}: use 1 or more")
    return int(text)


# -- the machine -------------------------------------------------------------------------------------
def idle_cores() -> int:
    """How many of the cores that this process may use nobody else uses at this moment; at least one."""
    count = cores()
    try:
        running = int(_RUNNING.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return count
    others = max(running - 1, 0) * count / (os.cpu_count() or count)
    return max(count - round(others), 1)


def has_company() -> bool:
    """Whether this process is one of many that share the cores, or has threads, which a fork would leave in mid-air."""
    if sys.platform != "linux" or threading.active_count() > 1 or "PYTEST_XDIST_WORKER" in os.environ:
        return True
    started = sys.modules.get("multiprocessing.process")
    return started is not None and started.parent_process() is not None


def free_memory() -> int:
    """Bytes that processes may still get; 0 where the system does not say."""
    try:
        lines = _FREE.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), 0)


# -- one launch --------------------------------------------------------------------------------------
class Plan:
    """Who runs a launch of ``ctas``, of ``threads`` each, in batches of at most ``size`` CTAs. ``asked``: how many processes at
    most, None for as many as pay."""

    def __init__(self, program: Program, asked: int | None, ctas: int, threads: int, size: int, memory: Memory):
        self.program, self.asked, self.ctas, self.threads, self.size = program, asked, ctas, threads, size
        self.memory = memory
        self.most = self._most()

    def _most(self) -> int:
        if self.asked == 1 or self.program.had_to_say or self.asked is None and has_company():
            return 1
        most = min(self.asked or idle_cores(), self.ctas // self.program.cluster_size)
        return 1 if most < 2 or not hasattr(os, "fork") or why_alone(self.program) else most

    def processes(self, ctas: int) -> int:
        """How many processes should run ``ctas`` that are left."""
        most, parts = min(self.most, ctas // self.program.cluster_size), self.program.costs.parts()
        if most < 2 or parts is None:
            return 1 if most < 2 or self.asked is None else most
        if self.asked is not None:
            return most if self._seconds(ctas, 1, *parts) >= WORTH else 1
        best = min(range(1, most + 1), key=lambda jobs: self._seconds(ctas, jobs, *parts))
        copied = sum(region.size for region in self.memory.regions)
        saved = self._seconds(ctas, 1, *parts) - self._seconds(ctas, best, *parts)
        return best if saved > copied / COPIED and copied * ROOM < free_memory() else 1

    def _seconds(self, ctas: int, jobs: int, fixed: float, each: float) -> float:
        """Until ``jobs`` processes have run so many CTAs, with what making them is charged."""
        own = -(-ctas // jobs)
        return fixed * -(-own // self.size) + each * own + FORK * (jobs - 1)

    def batch(self, ctas: int, jobs: int) -> int:
        """CTAs of a batch where ``jobs`` processes share so many; a whole number of clusters."""
        own, cluster = -(-ctas // jobs), self.program.cluster_size
        each = -(-own // max(self._pieces(own), -(-own // self.size)))  # as large as the others
        count = min(max(each, -(-LEAST_THREADS // self.threads)), own, self.size)
        return -(-count // cluster) * cluster

    def _pieces(self, own: int) -> int:
        fixed, each = self.program.costs.parts() or (0.0, 0.0)
        return PIECES if not fixed else min(max(int(WASTE * each * own / fixed), 1), PIECES)

    @contextmanager
    def timed(self, ctas: int) -> Iterator[None]:
        """Note what a batch of so many CTAs takes of this process."""
        start = time.process_time() - self.program.translating
        yield
        self.program.costs.note(ctas, time.process_time() - self.program.translating - start)
