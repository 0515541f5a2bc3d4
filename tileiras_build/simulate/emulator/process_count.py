"""Chooses the number of processes of a launch: at most the requested number, else the fastest one.

The time of a launch is estimated from earlier batches of the same kernel in this process (``batch_time_model.py``), in CPU
time without code generation. Without an earlier batch, a launch of a single batch runs in one process. So do launches that
cannot be divided (``single_process_reason``), launches whose arrays are too large to copy, and, without a request, all
launches of a process that shares its cores with others (``shares_cores``).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...core.cpu_count import cpu_count
from .batch_time_model import launch_history_of
from .codegen.function_cache import function_cache_of
from .memory.address_space import Memory
from .parallel_ctas import single_process_reason
from .ptx.program import Program

JOBS_VARIABLE = "TILEIRAS_EMULATOR_JOBS"
BATCHES_PER_PROCESS = 4  # maximum, for load balancing
MIN_BATCH_THREADS = 1024  # of a batch that is made smaller for load balancing
MAX_OVERHEAD = 0.1  # maximum ratio of fixed costs to other costs for smaller batches
MIN_SECONDS_REQUESTED = 0.05  # seconds of a launch from which a fork pays off if processes are requested
MIN_SECONDS_SAVED = 0.05  # seconds that an additional process must save
COPY_BYTES_PER_SECOND = 1 << 29  # throughput of copying, comparing and copying back arrays
MEMORY_SHARE = 4  # copies may take 1 / MEMORY_SHARE of the free memory
_FREE = Path("/proc/meminfo")
_RUNNING = Path("/proc/loadavg")  # its fourth word: runnable threads of the machine / all of them


def requested_jobs(wanted: int | None) -> int | None:
    """The maximum number of processes: as requested, else by the environment; None if unset. Raises ValueError."""
    if wanted is not None:
        return wanted
    text = os.environ.get(JOBS_VARIABLE)
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(f"invalid {JOBS_VARIABLE}={text!r}: use 1 or more")
    return int(text)


# -- the machine -------------------------------------------------------------------------------------
def idle_cores() -> int:
    """The number of cores available to this process that are idle now; at least one."""
    count = cpu_count()
    try:
        running = int(_RUNNING.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return count
    others = max(running - 1, 0) * count / (os.cpu_count() or count)
    return max(count - round(others), 1)


def shares_cores() -> bool:
    """Whether this process shares its cores with others, or has threads, which a fork would not copy."""
    if sys.platform != "linux" or threading.active_count() > 1 or "PYTEST_XDIST_WORKER" in os.environ:
        return True
    started = sys.modules.get("multiprocessing.process")
    return started is not None and started.parent_process() is not None


def free_memory() -> int:
    """Available memory in bytes; 0 if unknown."""
    try:
        lines = _FREE.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), 0)


# -- one launch --------------------------------------------------------------------------------------
class ProcessPlan:
    """The division of a launch of ``ctas``, of ``threads`` each, into batches of at most ``size`` CTAs.

    ``requested``: the maximum number of processes; None to choose it by cost.
    """

    def __init__(self, program: Program, requested: int | None, ctas: int, threads: int, size: int, memory: Memory):
        self.program, self.requested, self.ctas, self.threads, self.size = program, requested, ctas, threads, size
        self.memory, self.functions, self.history = memory, function_cache_of(program), launch_history_of(program)
        self.max_processes = self._process_limit()

    def _process_limit(self) -> int:
        if self.requested == 1 or self.history.is_single_process or self.requested is None and shares_cores():
            return 1
        most = min(self.requested or idle_cores(), self.ctas // self.program.cluster_size)
        return 1 if most < 2 or not hasattr(os, "fork") or single_process_reason(self.program) else most

    def processes(self, ctas: int) -> int:
        """The number of processes for the ``ctas`` that are left."""
        most, parts = min(self.max_processes, ctas // self.program.cluster_size), self.history.costs.fixed_and_per_cta()
        if most < 2 or parts is None:
            return 1 if most < 2 or self.requested is None else most
        if self.requested is not None:
            return most if self._seconds(ctas, 1, *parts) >= MIN_SECONDS_REQUESTED else 1
        best = min(range(1, most + 1), key=lambda jobs: self._seconds(ctas, jobs, *parts))
        copied = sum(region.size for region in self.memory.regions)
        saved = self._seconds(ctas, 1, *parts) - self._seconds(ctas, best, *parts)
        return best if saved > copied / COPY_BYTES_PER_SECOND and copied * MEMORY_SHARE < free_memory() else 1

    def _seconds(self, ctas: int, jobs: int, fixed: float, each: float) -> float:
        """The estimated time of ``ctas`` in ``jobs`` processes, including the cost of creating them."""
        own = -(-ctas // jobs)
        return fixed * -(-own // self.size) + each * own + MIN_SECONDS_SAVED * (jobs - 1)

    def batch(self, ctas: int, jobs: int) -> int:
        """CTAs per batch if ``jobs`` processes share ``ctas``; a multiple of the cluster size."""
        own, cluster = -(-ctas // jobs), self.program.cluster_size
        each = -(-own // max(self._batches_per_process(own), -(-own // self.size)))  # equal sizes
        count = min(max(each, -(-MIN_BATCH_THREADS // self.threads)), own, self.size)
        return -(-count // cluster) * cluster

    def _batches_per_process(self, own: int) -> int:
        fixed, each = self.history.costs.fixed_and_per_cta() or (0.0, 0.0)
        return (
            BATCHES_PER_PROCESS
            if not fixed
            else min(max(int(MAX_OVERHEAD * each * own / fixed), 1), BATCHES_PER_PROCESS)
        )

    @contextmanager
    def add_sample(self, ctas: int) -> Iterator[None]:
        """Measure the CPU time of a batch of ``ctas``."""
        start = time.process_time() - self.functions.codegen_seconds
        yield
        self.history.costs.add_sample(ctas, time.process_time() - self.functions.codegen_seconds - start)
