"""The number of cores that a process may use, as limited by its affinity and its control group.

A container on a machine with 64 cores may have a quota of two: one process per core of the machine would then share two
cores and the container's memory.
"""

from __future__ import annotations

import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a control group: microseconds in each period, or "max"


def cpu_count() -> int:
    """The number of cores that this process may use; at least one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
    except (OSError, ValueError):
        return count
    return count if quota == "max" else min(count, max(round(int(quota) / int(period)), 1))
