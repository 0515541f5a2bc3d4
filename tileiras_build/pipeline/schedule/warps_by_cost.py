"""Warps of a matmul's CTA by cost: half as many, each with twice the rows or columns, where that costs less.

Fewer warps read operands less often from shared memory, and leave registers for the fragments of the next step, or for
another CTA, which computes during the prologue and the epilogue of the first. What follows from a number of warps is expected
here as the passes will choose it: CTAs per SM, stages, fragments that are read ahead.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...target.sm_limits import WARP
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.resource_model import (
    FRAGMENT_REG_OVERHEAD,
    MAX_CP_ASYNC_STAGES,
    MAX_TMA_STAGES,
    MIN_WARPS,
    STAGES_SMEM_OVERHEAD,
    choose_warps,
    estimated_ctas_per_sm,
    registers_at_launch,
    registers_fit,
)
from ..analysis.tma_operands import is_copied_by_tma
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.family import MmaFamily, Storage, families_of, family_with_fragments
from ..pipelining_strategies import choose as choose_strategy
from .cost import STEP_BYTES, cost
from .kernel import DOT, Dot, Kernel, describe
from .schedule import Schedule
from .schedule_attribute import schedule_of, set_knobs

LEAST_GAIN = 0.03  # of the cost; below, the model says nothing


def choose_warps_by_cost(func: TableOp, job: Job) -> None:
    """Set ``num_warps`` of a matmul where half as many warps cost less."""
    usual, dots = choose_warps(func, job), [as_op(op) for op in walk(func) if op.name == DOT]
    if len(dots) != 1 or usual // 2 < MIN_WARPS or func.num_ctas is not None or not _is_free(func, job):
        return
    if dots[0].lhs_scale is not None:
        return  # the warps that load scales, and a warp that issues MMAs, have no cost yet
    if not registers_fit(tile_registers(dots[0].result), usual // 2, 1, job.target):
        return
    copied = choose_strategy(job).uses_tma and is_copied_by_tma(dots[0], job)
    family = families_of(job.target)[0] if copied else family_with_fragments(dots[0], job.target)
    if family.group is not None:
        return  # its warps follow from the rows
    kernel = describe(func, job)
    if not _only_multiplies(kernel) or not _gains(kernel, family, copied):
        return
    few, many = (
        cost(kernel, _expected(func, kernel, family, copied, warps, job), job.target) for warps in (usual // 2, usual)
    )
    if few is not None and many is not None and few.nanoseconds < (1 - LEAST_GAIN) * many.nanoseconds:
        set_knobs(func, num_warps=usual // 2)


def _is_free(func: TableOp, job: Job) -> bool:
    """Whether nobody asks for warps, or for CTAs per SM."""
    chosen = schedule_of(func)
    asked = func.num_warps or chosen.num_warps or chosen.occupancy or hint(func, job, "occupancy")
    return not asked and job.opt_level != 0 and choose_strategy(job).passes != frozenset()


def _only_multiplies(kernel: Kernel) -> bool:
    """Whether the loop has no more work than an instruction for each element of the operands, as to round them."""
    [dot] = kernel.dots
    return sum(kernel.loop.values()) <= dot.trips * dot.k * (dot.m + dot.n)


def _gains(kernel: Kernel, family: MmaFamily, copied_by_tma: bool) -> bool:
    """Whether fewer warps leave space for another CTA. Nothing limits the registers of threads that TMA copies for, and a
    persistent kernel with accumulators in tensor memory overlaps its epilogue already.
    """
    return not (kernel.is_persistent if family.accumulator is Storage.TENSOR else copied_by_tma)


def _expected(func: TableOp, kernel: Kernel, family: MmaFamily, copied_by_tma: bool, warps: int, job: Job) -> Schedule:
    """The schedule with so many warps."""
    before = schedule_of(func)
    set_knobs(func, num_warps=warps)
    ctas = estimated_ctas_per_sm(func, job)
    set_knobs(func, num_warps=before.num_warps)
    most = MAX_TMA_STAGES if copied_by_tma else MAX_CP_ASYNC_STAGES
    fitting = (job.target.shared_memory_of(ctas) - STAGES_SMEM_OVERHEAD) // max(kernel.stage_bytes, 1)
    stages = max(1, min(most, fitting))
    ahead = _prefetches(kernel.dots[0], family, warps, ctas, job)
    found = Schedule(num_warps=warps, occupancy=ctas, mma=(family.name,), prefetch_fragments=ahead)
    return replace(found, num_stages=stages) if copied_by_tma else replace(found, cp_async_stages=(stages,))


def _prefetches(dot: Dot, family: MmaFamily, warps: int, ctas: int, job: Job) -> bool:
    """Whether threads have registers for the fragments of two steps."""
    steps = max(1.0, dot.a_size() / dot.m / STEP_BYTES)
    fragments = family.shared_bytes(dot, warps) / steps / (4 * WARP * warps)
    needed = dot.m * dot.n / (WARP * warps) + 2 * fragments + FRAGMENT_REG_OVERHEAD
    return needed <= registers_at_launch(warps * ctas, job.target)
