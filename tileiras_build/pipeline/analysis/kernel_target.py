"""Which GPU a kernel is for."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import row
from ...target.targets import Target, find_target
from ..job import Job
from .view_chains import kernel_of

TARGET_SPEC = "nv_tileaa.target_spec"


def kernel_target(op: Operation, job: Job) -> Target:
    """The GPU that the kernel around an operation says it is for; the job's where it says nothing."""
    spec = row(kernel_of(op)).target_spec
    return job.target if spec is None else find_target(spec)
