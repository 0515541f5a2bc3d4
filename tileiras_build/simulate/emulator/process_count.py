"""How many processes run the CTAs of a launch: at most those that were asked for, else as many as make it shorter.

What a launch takes is estimated from what batches of the same kernel have taken in this process (``batch_cost_model.py``), in processor time
without that of translating the kernel: NumPy's overhead is the same for one CTA and for a hundred, so that a batch costs a
fixed part and a part for each CTA. Nothing is known before the first batch, so a first launch of one batch stays in one process.
So do launches that may not be divided (``processes.why_alone``), arrays whose copies would take too much memory, and, unless
somebody asks, every launch of a process that is one of many (``shares_cores``): the others have the cores.
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

from ...core.cpu_count import cpu_count
from .memory.address_space import Memory
from .parallel_ctas import single_process_reason

if TYPE_CHECKING:
    from .ptx.program import Program

JOBS_VARIABLE = "TILEIRAS_EMULATOR_JOBS"
BATCHES_PER_PROCESS = 4  # batches for each process at most: some take longer than others
MIN_BATCH_THREADS = 1024  # of a batch made smaller for that
MAX_OVERHEAD = 0.1  # the fixed costs of those batches, as a part of the other ones, at most
MIN_SECONDS_REQUESTED = 0.05  # seconds of a launch from which a fork pays where processes were asked for
MIN_SECONDS_SAVED = 0.05  # seconds that one more process has to save
COPY_BYTES_PER_SECOND = 1 << 29  # bytes of arrays that are copied, compared and copied back in a second
MEMORY_SHARE = 4  # the part of the free memory that copies of the arrays may take is one in so many
_FREE = Path("/proc/meminfo")
_RUNNING = Path("/proc/loadavg")  # its fourth word: runnable threads of the machine / all of them


def requested_jobs(wanted: int | None) -> int | None:
    """How many processes at most: as told, else as the environment says; None where nobody says. Raises ValueError."""
    if wanted is not None:
        return wanted
    text = os.environ.get(JOBS_VARIABLE)
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(f"{JOBS_VARIABLE} cannot be {text!r}: use 1 or more")
    return int(text)


# -- the machine -------------------------------------------------------------------------------------
def idle_cores() -> int:
    """How many of the cores that this process may use nobody else uses at this moment; at least one."""
    count = cpu_count()
    try:
        running = int(_RUNNING.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return count
    others = max(running - 1, 0) * count / (os.cpu_count() or count)
    return max(count - round(others), 1)


def shares_cores() -> bool:
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
class ProcessPlan:
    """Who runs a launch of ``ctas``, of ``threads`` each, in batches of at most ``size`` CTAs. ``asked``: how many processes at
    most, None for as many as pay."""

    def __init__(self, program: Program, requested: int | None, ctas: int, threads: int, size: int, memory: Memory):
        self.program, self.requested, self.ctas, self.threads, self.size = program, requested, ctas, threads, size
        self.memory = memory
        self.max_processes = self._process_limit()

    def _process_limit(self) -> int:
        if self.requested == 1 or self.program.had_to_say or self.requested is None and shares_cores():
            return 1
        most = min(self.requested or idle_cores(), self.ctas // self.program.cluster_size)
        return 1 if most < 2 or not hasattr(os, "fork") or single_process_reason(self.program) else most

    def processes(self, ctas: int) -> int:
        """How many processes should run ``ctas`` that are left."""
        most, parts = min(self.max_processes, ctas // self.program.cluster_size), self.program.costs.fixed_and_per_cta()
        if most < 2 or parts is None:
            return 1 if most < 2 or self.requested is None else most
        if self.requested is not None:
            return most if self._seconds(ctas, 1, *parts) >= MIN_SECONDS_REQUESTED else 1
        best = min(range(1, most + 1), key=lambda jobs: self._seconds(ctas, jobs, *parts))
        copied = sum(region.size for region in self.memory.regions)
        saved = self._seconds(ctas, 1, *parts) - self._seconds(ctas, best, *parts)
        return best if saved > copied / COPY_BYTES_PER_SECOND and copied * MEMORY_SHARE < free_memory() else 1

    def _seconds(self, ctas: int, jobs: int, fixed: float, each: float) -> float:
        """Until ``jobs`` processes have run so many CTAs, with what making them is charged."""
        own = -(-ctas // jobs)
        return fixed * -(-own // self.size) + each * own + MIN_SECONDS_SAVED * (jobs - 1)

    def batch(self, ctas: int, jobs: int) -> int:
        """CTAs of a batch where ``jobs`` processes share so many; a whole number of clusters."""
        own, cluster = -(-ctas // jobs), self.program.cluster_size
        each = -(-own // max(self._batches_per_process(own), -(-own // self.size)))  # as large as the others
        count = min(max(each, -(-MIN_BATCH_THREADS // self.threads)), own, self.size)
        return -(-count // cluster) * cluster

    def _batches_per_process(self, own: int) -> int:
        fixed, each = self.program.costs.fixed_and_per_cta() or (0.0, 0.0)
        return (
            BATCHES_PER_PROCESS
            if not fixed
            else min(max(int(MAX_OVERHEAD * each * own / fixed), 1), BATCHES_PER_PROCESS)
        )

    @contextmanager
    def add_sample(self, ctas: int) -> Iterator[None]:
        """Note what a batch of so many CTAs takes of this process."""
        start = time.process_time() - self.program.translating
        yield
        self.program.costs.add_sample(ctas, time.process_time() - self.program.translating - start)
