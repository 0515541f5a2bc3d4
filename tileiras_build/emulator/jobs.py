"""How many processes run the CTAs of a launch: at most those that were asked for, else one for each core where that pays.

Whether it pays is measured, in processor time without that of translating the kernel: by the last launch of the kernel in this
process, or, where nobody has asked and the launch is large enough to be long, by its own first CTAs, which run alone. Each
process should have ``SHARE`` seconds of work. One process runs what is shorter, what may not be divided
(``processes.why_alone``), arrays whose copies would take too long or too much memory, and, unless somebody asks, every launch
of a process that is one of many (``has_company``): the others have the cores.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .memory import Memory
from .processes import why_alone

if TYPE_CHECKING:
    from .program import Program

VARIABLE = "TILEIRAS_EMULATOR_JOBS"
PIECES = 4  # batches for each process: some take longer than others
LEAST_THREADS = 1024  # of a batch made smaller for that: NumPy's overhead is the same for one thread and for a thousand
WORTH = 0.05  # seconds of a launch from which a fork pays where processes were asked for
SHARE = 0.15  # seconds of work that a process should have where nobody has asked
LONG = 4096  # threads of a launch that may be long
COPIED = 1 << 29  # bytes of arrays that are copied, compared and copied back in a second
ROOM = 4  # the part of the free memory that copies of the arrays may take is one in so many
_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a control group: microseconds in each period, or "max"
_FREE = Path("/proc/meminfo")


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
def cores() -> int:
    """How many cores this process may use."""
    count = len(os.sched_getaffinity(0))
    try:
        quota, period = _QUOTA.read_text().split()
    except (OSError, ValueError):
        return count
    return count if quota == "max" else min(count, max(round(int(quota) / int(period)), 1))


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
    """Who runs a launch of ``ctas``, of ``threads`` each. ``asked``: how many processes at most, None for as many as pay."""

    def __init__(self, program: Program, asked: int | None, ctas: int, threads: int, memory: Memory):
        self.program, self.asked, self.ctas, self.threads, self.memory = program, asked, ctas, threads, memory
        self.most = self._most()
        self._seconds = self._run = 0.0

    def _most(self) -> int:
        if self.asked == 1 or self.program.had_to_say or self.asked is None and has_company():
            return 1
        most = min(self.asked or cores(), self.ctas // self.program.cluster_size)
        return 1 if most < 2 or not hasattr(os, "fork") or why_alone(self.program) else most

    def sample(self, size: int) -> int:
        """How many CTAs should run before ``processes`` is asked: 0, or at most ``size`` where it could not say otherwise."""
        unknown = self.asked is None and math.isinf(self.program.seconds_per_cta)
        if self.most < 2 or not unknown or self.ctas * self.threads < LONG:
            return 0
        return self.batch(size, self.most)

    def processes(self, ctas: int) -> int:
        """How many processes should run ``ctas`` that are left."""
        most, seconds = min(self.most, ctas // self.program.cluster_size), self.program.seconds_per_cta * ctas
        if most < 2 or seconds < WORTH:
            return 1
        if self.asked is not None:
            return most
        if math.isinf(seconds) or not self._is_cheap_to_copy(seconds):
            return 1
        return max(min(most, int(seconds / SHARE)), 1)

    def _is_cheap_to_copy(self, seconds: float) -> bool:
        copied = sum(region.size for region in self.memory.regions)
        return copied / COPIED < seconds / 4 and copied * ROOM < free_memory()

    def batch(self, size: int, jobs: int) -> int:
        """CTAs of a batch, at most ``size``, where ``jobs`` processes share the launch; a whole number of clusters."""
        pieces = max(-(-self.ctas // (PIECES * jobs)), -(-LEAST_THREADS // self.threads))
        if self.asked is None:
            pieces = min(pieces, max(size // jobs, 1))  # all together take no more memory than one
        count = min(size, pieces, -(-self.ctas // jobs))
        return -(-count // self.program.cluster_size) * self.program.cluster_size

    @contextmanager
    def timed(self, ctas: int) -> Iterator[None]:
        """Note what so many CTAs take of this process, for this launch and the next."""
        start = time.process_time() - self.program.translating
        yield
        self._seconds += time.process_time() - self.program.translating - start
        self._run += ctas
        self.program.seconds_per_cta = self._seconds / max(self._run, 1)
