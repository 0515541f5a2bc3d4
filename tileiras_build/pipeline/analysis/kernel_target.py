"""The target of a kernel."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import as_op
from ...target.targets import Target, find_target
from ..job import Job
from .enclosing_control_flow import enclosing_kernel

TARGET_SPEC = "nv_tileaa.target_spec"


def kernel_target(op: Operation, job: Job) -> Target:
    """The target of the kernel that contains an operation; the job's if the kernel has none."""
    spec = as_op(enclosing_kernel(op)).target_spec
    return job.target if spec is None else find_target(spec)
