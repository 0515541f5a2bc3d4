"""Request a schedule: give each kernel the knobs of the job's schedule file.

In:    kernels; a job with the text of a schedule file.
Out:   ``schedule`` on each kernel: what passes read before they choose. That is its warps, its CTAs per SM and per cluster, its clusters, its chunks,
       and the optimizations that it declines. No variant of a kernel: a file is checked against one kernel's resources.
       Kernels of other jobs are unchanged.
Before: all passes that choose knobs.
Sound: passes check a requested value as they check a candidate of their own; check_schedule reports what none of them did.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.dialects.fast_xdsl import release
from ...ir.dialects.op_traits import is_function
from ..analysis.kernel_parameters import variant_of
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.schedule import Schedule
from ..schedule.schedule_attribute import set_knobs, set_schedule
from ..schedule.schedule_file import requested


class RequestSchedule(EdgePass):
    """The knobs of a schedule file."""

    name = "tileas-request-schedule"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.schedule:
            return
        wanted = requested(job)
        declined = {name: False for name, value in wanted.chosen.items() if value is False}
        early = Schedule(
            num_ctas=wanted.num_ctas,
            grid_cluster=wanted.grid_cluster,
            split_k=wanted.split_k,
            num_warps=wanted.num_warps,
            occupancy=wanted.occupancy,
            conversion_chunk_bytes=wanted.conversion_chunk_bytes,
        )
        for func in list(filter(variant_of, module.body.block.ops)):
            func.detach()
            release(func)
        for func in filter(is_function, module.body.block.ops):
            set_schedule(func, early)
            set_knobs(func, **declined)
