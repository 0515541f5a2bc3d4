"""``optimization_hints`` of kernels, loads and stores for one target."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.dialects.cuda_tile.attrs import OptimizationHintsAttr
from ...ir.dialects.cuda_tile.check_optimization_hints import is_usable
from ..job import Job
from ..schedule.schedule_attribute import schedule_of


def hint(op: Operation, job: Job, name: str) -> int | None:
    """An operation's optimization hint for the job's target (its own row, else the default's); None if it is absent or
    invalid.
    """
    hints = op.attributes.get("optimization_hints")
    if not isinstance(hints, OptimizationHintsAttr):
        return None
    value = hints.for_target(job.target.generation).get(name)
    if not isinstance(value, int) or not is_usable(name, value):
        return None
    # One CTA per SM, at least, is what every kernel has: it restricts nothing.
    return None if name == "occupancy" and value == 1 else int(value)


def occupancy(func: Operation, job: Job) -> int | None:
    """CTAs per SM: those of the schedule, else the hint; None if both are absent."""
    return schedule_of(func).occupancy or hint(func, job, "occupancy")
