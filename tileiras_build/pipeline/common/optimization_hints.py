"""``optimization_hints`` of kernels, loads and stores for one target."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from ...ir.dialects.cuda_tile.attrs import OptimizationHintsAttr
from ...ir.dialects.cuda_tile.check_optimization_hints import is_usable
from ..job import Job


def hint(op: Operation, job: Job, name: str) -> int | None:
    """An operation's optimization hint for the job's target (its own row, else the default's); None if it is absent or
    invalid.
    """
    hints = op.attributes.get("optimization_hints")
    if not isinstance(hints, OptimizationHintsAttr):
        return None
    value = hints.for_target(job.target.name).get(name)
    return int(value) if isinstance(value, int) and is_usable(name, value) else None


def occupancy(func: Operation, job: Job) -> int | None:
    """CTAs per SM: the choice of ChooseOccupancy, else the hint; None if both are absent."""
    chosen = func.attributes.get("occupancy")
    return chosen.value.data if isinstance(chosen, IntegerAttr) else hint(func, job, "occupancy")
