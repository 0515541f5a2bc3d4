"""Which dots a pair of CTAs computes as one MMA (cta_group::2): each CTA has half of the rows, and half of the right operand."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ....ir.casting import as_op
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_mma
from ....ir.layouts.shared_layout import VECTOR_BYTES
from ....ir.layouts.tmem_layout import PAIR, ROWS, has_pair_shape
from ...analysis.axis_info import AxisAnalysis
from ...analysis.cluster_uniformity import is_rank_dependent, is_same_in_cluster
from ...analysis.copied_operands import half_of_copied_rhs, is_copyable
from ...analysis.enclosing_control_flow import accumulates_from_zero, enclosing_kernel, is_in_counted_loop
from ...analysis.stored_operands import half_of_computed_rhs, loads_by_threads
from ...analysis.tma_operands import TmaOperand, may_prefetch_in_loop, tma_loads_allowed, tma_operand
from ...job import Job
from ...schedule.schedule_attribute import schedule_of
from ..halved_operands import half_of_operand


def may_be_of_pair(op: TableOp, job: Job) -> bool:
    """Whether a pair computes a dot if its CTAs divide the rows: the only dot of a kernel, accumulated from zero."""
    kernel = enclosing_kernel(op)
    if not job.target.has("tma_cta_group") or schedule_of(kernel).two_cta_mma is False:
        return False
    return sum(is_mma(other) for other in walk(kernel)) == 1 and accumulates_from_zero(op)


def gains_by_rows(op: TableOp, ctas: int, mn_major: tuple[str, ...], job: Job) -> bool:
    """Whether pairs compute the tile of a dot once so many CTAs divide the rows: TMA or threads copy the operands, or threads
    compute the left one from what they gather.
    """
    rows, columns = op.result.type.get_shape()[-2:]
    if ctas % PAIR or rows % ctas or not _has_shape(op, rows // ctas, columns) or not may_be_of_pair(op, job):
        return False
    if len(op.result.type.get_shape()) == 2 and _are_copied(op, mn_major) and is_in_counted_loop(op):
        return True
    if not tma_loads_allowed(enclosing_kernel(op)) or not may_prefetch_in_loop(op):
        return False
    left, right = (tma_operand(op, index, job, AxisAnalysis()) for index in (0, 1))
    if (right is None or half_of_operand(right) is None) and half_of_computed_rhs(op, mn_major) is None:
        return False
    return left is not None or loads_by_threads(op, 0)


def is_of_pair(
    op: TableOp, read: Mapping[int, TmaOperand], stored: Collection[int], mn_major: tuple[str, ...], job: Job
) -> bool:
    """Whether a pair computes a dot of one CTA's rows, from operands that TMA copies, or threads write (``stored``). A left one of
    those is of the CTA's rows, as it computes no others; a right one is copied as it is.
    """
    kernel = as_op(enclosing_kernel(op))
    if (kernel.num_ctas or 1) % PAIR or not _has_shape(op, *op.result.type.get_shape()) or not may_be_of_pair(op, job):
        return False
    if 0 not in stored and (0 not in read or not is_rank_dependent(read[0][0])):
        return False
    if 1 in stored:
        return _is_written_by_half(op, mn_major)
    return 1 in read and not is_rank_dependent(read[1][0]) and half_of_operand(read[1]) is not None


def _has_shape(op: TableOp, rows: int, columns: int) -> bool:
    """Whether MMAs of pairs compute the tile of a dot of which each CTA has so many rows; those with block scales have 256."""
    return has_pair_shape(rows, columns) and (op.lhs_scale is None or rows % ROWS == 0)


def _are_copied(op: TableOp, mn_major: tuple[str, ...]) -> bool:
    """Whether threads may copy both operands by cp.async, and half of the right one."""
    return is_copyable(op, 0, mn_major, VECTOR_BYTES) and _is_copied_by_half(op, mn_major)


def _is_copied_by_half(op: TableOp, mn_major: tuple[str, ...]) -> bool:
    if not is_copyable(op, 1, mn_major, VECTOR_BYTES):
        return False
    found = half_of_copied_rhs(op, mn_major)
    return found is not None and not is_rank_dependent(found[0])


def _is_written_by_half(op: TableOp, mn_major: tuple[str, ...]) -> bool:
    """Whether threads may write half of the right operand: copy it, or else compute it."""
    if is_copyable(op, 1, mn_major, VECTOR_BYTES):
        return _is_copied_by_half(op, mn_major)
    return is_same_in_cluster(op.rhs) and half_of_computed_rhs(op, mn_major) is not None
