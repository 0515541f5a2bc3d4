"""Which kernels two CTAs compute without a hint: those with one large matmul on a GPU with MMAs of CTA pairs.

Each CTA of a pair has half of the rows, and loads half of the right operand. For a tile of 256x128 in one CTA, each of two
MMAs reads all of the right operand from shared memory, and shared memory bounds the loop; for 256x256 its stages are twice as
large.
"""

from __future__ import annotations

from ...ir.casting import as_op, tile_shape
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import MAX_TMEM_COLUMNS, PAIR, PAIR_COLUMN_UNIT, ROWS
from ..analysis.enclosing_control_flow import accumulates_from_zero
from ..analysis.tma_operands import is_copied_by_tma, tma_loads_allowed
from ..common.optimization_hints import occupancy
from ..job import Job
from ..mma.family import fastest_family
from ..pipelining_strategies import choose as choose_strategy
from .choose import is_declined
from .mma_choice import DOT
from .schedule_attribute import schedule_of

MIN_COLUMNS = 128  # with fewer columns, the left operand bounds the loop, which a pair does not share


def prefers_cta_pair(func: TableOp, job: Job) -> bool:
    """Whether a pair of CTAs computes a kernel without hints in less time than one CTA."""
    if not job.target.has("tma_cta_group") or not choose_strategy(job).uses_tma or is_declined(func, "two_cta_mma"):
        return False
    if (schedule_of(func).grid_cluster or 1) > 1:
        return False
    dots = [as_op(op) for op in walk(func) if op.name == DOT]
    return len(dots) == 1 and not occupancy(func, job) and tma_loads_allowed(func) and _suits_pair(dots[0], job)


def _suits_pair(dot: TableOp, job: Job) -> bool:
    rows, columns = tile_shape(dot.result)[-2:]
    if (
        len(tile_shape(dot.result)) != 2
        or rows != PAIR * ROWS
        or columns not in range(MIN_COLUMNS, MAX_TMEM_COLUMNS + 1, PAIR_COLUMN_UNIT)
    ):
        return False
    if dot.lhs_scale is not None or fastest_family(job.target).row_for(dot, job.target) is None:
        return False
    return is_copied_by_tma(dot, job) and accumulates_from_zero(dot)
