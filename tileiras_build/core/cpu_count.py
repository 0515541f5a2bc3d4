"""How many cores a process may use: those that the system lets it run on, and no more than its control group pays for.

A container on a machine of 64 cores may be paid two of them: as many processes as the machine has cores would then share
two cores and the container's memory.
"""

from __future__ import annotations

import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a control group: microseconds in each period, or "max"


def cpu_count() -> int:
    """How many cores this process may use; at least one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
    except (OSError, ValueError):
        return count
    return count if quota == "max" else min(count, max(round(int(quota) / int(period)), 1))
