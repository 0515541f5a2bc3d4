"""Which dots a pair of CTAs computes as one MMA (cta_group::2): each CTA has half of the rows, and half of the right operand."""

from __future__ import annotations

from collections.abc import Mapping

from ....ir.casting import as_op
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_mma
from ....ir.layouts.tmem_layout import PAIR, has_pair_shape
from ...analysis.axis_info import AxisAnalysis
from ...analysis.cluster_uniformity import is_rank_dependent
from ...analysis.enclosing_control_flow import accumulates_from_zero, enclosing_kernel
from ...analysis.tma_operands import TmaOperand, is_copied_by_tma, tma_loads_allowed, tma_operand
from ...job import Job
from ...schedule.schedule_attribute import schedule_of
from ..halved_operands import half_of_operand


def may_be_of_pair(op: TableOp, job: Job) -> bool:
    """Whether a pair computes a dot if its CTAs divide the rows: the only dot of a kernel, accumulated from zero, without scales."""
    kernel = enclosing_kernel(op)
    if not job.target.has("tma_cta_group") or schedule_of(kernel).two_cta_mma is False or op.lhs_scale is not None:
        return False
    return sum(is_mma(other) for other in walk(kernel)) == 1 and accumulates_from_zero(op)


def gains_by_rows(op: TableOp, ctas: int, job: Job) -> bool:
    """Whether pairs compute the tile of a dot once so many CTAs divide the rows, as TMA copies both operands."""
    rows, columns = op.result.type.get_shape()[-2:]
    if ctas % PAIR or rows % ctas or not has_pair_shape(rows // ctas, columns) or not may_be_of_pair(op, job):
        return False
    if not tma_loads_allowed(enclosing_kernel(op)) or not is_copied_by_tma(op, job):
        return False
    right = tma_operand(op, 1, job, AxisAnalysis())
    return right is not None and half_of_operand(right) is not None


def is_of_pair(op: TableOp, read: Mapping[int, TmaOperand], job: Job) -> bool:
    """Whether a pair computes a dot of one CTA's rows, from the operands that TMA copies."""
    kernel = as_op(enclosing_kernel(op))
    if (kernel.num_ctas or 1) % PAIR or not has_pair_shape(*op.result.type.get_shape()) or not may_be_of_pair(op, job):
        return False
    if set(read) != {0, 1} or not is_rank_dependent(read[0][0]) or is_rank_dependent(read[1][0]):
        return False
    return half_of_operand(read[1]) is not None
