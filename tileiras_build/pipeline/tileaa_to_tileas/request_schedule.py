"""Request a schedule: give each kernel the knobs of the job's schedule file.

In:    kernels; a job with the text of a schedule file.
Out:   ``schedule`` on each kernel: what passes read before they choose (``Knob.is_early``), and the optimizations that it declines. No variant of a kernel: a file is checked against one kernel's resources.
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
from ..schedule.schedule import BY_NAME, of_values
from ..schedule.schedule_attribute import set_schedule
from ..schedule.schedule_file import requested


class RequestSchedule(EdgePass):
    """The knobs of a schedule file."""

    name = "tileas-request-schedule"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.schedule:
            return
        early = {
            name: value for name, value in requested(job).chosen.items() if BY_NAME[name].is_early or value is False
        }
        for func in list(filter(variant_of, module.body.block.ops)):
            func.detach()
            release(func)
        for func in filter(is_function, module.body.block.ops):
            set_schedule(func, of_values(early))
