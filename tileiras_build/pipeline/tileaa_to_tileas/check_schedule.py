"""Check the schedule of a kernel: it is what the code does, and has each knob that a schedule file requests.

In:    kernels that all other passes have scheduled.
Out:   ``schedule`` on each kernel, complete. A requested knob with another value is an error: the kernel has nothing that it is
       about, or the resources of an SM do not hold it.
After: all other passes.
"""

from __future__ import annotations

from ...ir.dialects.op_definition import TableOp
from ..common.optimization_hints import hint
from ..job import Job
from ..pass_manager import EdgePass
from ..pipelining_strategies import choose as choose_strategy
from ..schedule.choose import Candidate, hear, is_listening
from ..schedule.cta_shape import EXPLAINED_CTAS, limits_of, spare_stage_bytes
from ..schedule.schedule import BY_NAME
from ..schedule.schedule_attribute import schedule_of, set_knobs
from ..schedule.schedule_file import refusal, requested


class CheckSchedule(EdgePass):
    """Schedules as they are in the code."""

    name = "tileas-check-schedule"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        _complete(func, job)
        _check(func, job)


def _complete(func: TableOp, job: Job) -> None:
    """Set what the code says of itself."""
    set_knobs(func, num_warps=func.num_warps, strategy=schedule_of(func).strategy or choose_strategy(job).name)
    if is_listening():
        spare = spare_stage_bytes(func)
        limits = ((ctas, limits_of(func, ctas, job, spare)) for ctas in range(EXPLAINED_CTAS, 0, -1))
        hear(func, "occupancy", None, [Candidate(ctas, limit) for ctas, limit in limits])


def _check(func: TableOp, job: Job) -> None:
    wanted, found = requested(job), schedule_of(func)
    for name, value in wanted.chosen.items():
        if getattr(found, name) != value and (name, value) != ("strategy", "auto"):
            raise refusal(job.schedule, name, value, _reason(name, func), f"{name}: {BY_NAME[name].help}")
    ctas = wanted.occupancy
    if ctas not in (None, hint(func, job, "occupancy")) and (limit := limits_of(func, ctas, job)) is not None:
        raise refusal(job.schedule, "occupancy", ctas, str(limit), "use fewer num_stages or a lower occupancy")


def _reason(name: str, func: TableOp) -> str:
    """Why a kernel has another value than a requested one that no pass has refused."""
    found = getattr(schedule_of(func), name)
    if name == "num_ctas" and func.num_ctas_declined is not None:
        return func.num_ctas_declined
    instead = "" if found is None else f"; the kernel has {found}"
    return f"it needs {BY_NAME[name].needs}{instead}"
