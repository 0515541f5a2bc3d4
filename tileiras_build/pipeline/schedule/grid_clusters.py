"""Clusters of neighbouring tile programs: which kernels may have them, and which operand their CTAs load alike."""

from __future__ import annotations

from ...ir.dialects.op_definition import TableOp
from ..analysis.enclosing_control_flow import early_returns
from ..analysis.operand_program_axes import ACROSS, program_axes
from ..job import Job

SERIALIZERS = ("nvptx",)  # the LLVM 7 of libNVVM has no cluster registers or directives


def grid_cluster_limit(func: TableOp, job: Job) -> tuple[str | None, str | None]:
    """Why neighbouring tile programs of a kernel form no cluster, and what would allow it."""
    if not job.target.has("cluster") or job.serializer not in SERIALIZERS:
        return f"{job.target.name} by {job.serializer} has no clusters", None
    if func.num_ctas is not None or func.persistent_axes is not None:
        return "the grid has no CTA for each tile program", "num_ctas: 1"
    if early_returns(func):
        return "a tile program may return early, and not load for the others", None
    return None, None


def shared_operand(dot: TableOp) -> int | None:
    """The operand (0, 1) whose tiles do not depend on the place along axis 0 of the grid; None where none or both do not."""
    alike = [index for index, value in enumerate((dot.lhs, dot.rhs)) if ACROSS not in program_axes(value)]
    return alike[0] if len(alike) == 1 else None
