"""How the operands of a kernel's one dot reach its instruction, as far as its schedules depend on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...ir.casting import unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import ROWS
from ..analysis.axis_info import AxisAnalysis
from ..analysis.copied_operands import written_operands
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.enclosing_control_flow import is_in_counted_loop
from ..analysis.resource_model import MIN_WARPS, choose_warps
from ..analysis.stored_operands import is_computed_from_loads, source_loads, stored_bytes, tile_bytes
from ..analysis.tma_operands import (
    is_copied_by_tma,
    may_prefetch_in_loop,
    tma_loads_allowed,
    tma_operand,
    with_tma_box,
)
from ..job import Job
from ..mma.family import Storage, fastest_family
from ..mma.smem_operands import readable_operand
from ..pipelining_strategies import choose as choose_strategy
from .kernel import Dot, Kernel, describe


def copies_both(dot: TableOp, job: Job) -> bool:
    """Whether TMA copies both operands, to where threads read fragments of them if the instruction is not asynchronous."""
    if not is_copied_by_tma(dot, job):
        return False
    family, analysis = fastest_family(job.target), AxisAnalysis()
    if family.async_ops is not None:
        return family.row_for(dot, job.target) is not None
    loaded = {index: unwrap(tma_operand(dot, index, job, analysis)) for index in (0, 1)}
    return family.select(dot, loaded, job, MIN_WARPS) is not None


def loads_scales(dot: TableOp, job: Job) -> bool:
    """Whether a dot has block scales that no instruction of warps multiplies."""
    family = fastest_family(job.target)
    return dot.lhs_scale is not None and (family.async_ops is not None or family.row_for(dot, job.target) is None)


def writes_operands(dot: TableOp, job: Job) -> bool:
    """Whether threads copy an operand, where TMA does not, to where an asynchronous MMA reads it."""
    family = fastest_family(job.target)
    if family.async_ops is None or family.row_for(dot, job.target) is None:
        return False
    return choose_strategy(job).uses_tma and is_in_counted_loop(dot) and bool(written_operands(dot, ()))


def computed_operands(func: TableOp, dot: TableOp, job: Job) -> tuple[int, ...]:
    """The operands that threads compute, from tiles that TMA loads, for an asynchronous MMA with accumulators in registers; none where
    neither they nor TMA provide the other one, or where threads add partial sums, too.
    """
    family = fastest_family(job.target)
    if family.async_ops is None or family.accumulator is not Storage.REGISTERS or not choose_strategy(job).uses_tma:
        return ()
    if (row := family.row_for(dot, job.target)) is None or family.adds_partial_sums(row):
        return ()
    if not tma_loads_allowed(func) or not may_prefetch_in_loop(dot):
        return ()
    found, analysis = tuple(index for index in (0, 1) if _is_computed(dot, index, job)), AxisAnalysis()
    others = (tma_operand(dot, index, job, analysis) for index in (0, 1) if index not in found)
    return () if None in others else found


def transposed_operands(func: TableOp, dot: TableOp, job: Job) -> tuple[int, ...]:
    """The operands that TMA loads along m or n, and that threads transpose in shared memory, since the asynchronous MMA reads them along k
    alone: the right one, as a left one reaches it through registers; none where the transpose of the dot has such a left one.
    """
    family, analysis = fastest_family(job.target), AxisAnalysis()
    if family.async_ops is None or family.accumulator is not Storage.REGISTERS or not is_copied_by_tma(dot, job):
        return ()
    if not choose_strategy(job).uses_tma or not tma_loads_allowed(func):
        return ()
    if (row := family.row_for(dot, job.target)) is None or family.prefers_swapped(dot, job, choose_warps(func, job)):
        return ()
    right = unwrap(tma_operand(dot, 1, job, analysis))
    return () if readable_operand(right, 0, family.mn_major(row)) is not None else (1,)


def described(func: TableOp, dot: TableOp, transposed: Collection[int], job: Job) -> Kernel:
    """The description of a kernel, with the operands that threads transpose."""
    kernel = describe(func, job)
    if not transposed:
        return kernel
    bytes = sum(stored_bytes(dot, index) for index in transposed)
    return replace(kernel, dots=(replace(kernel.dots[0], transposed_bytes=bytes),))


def _is_computed(dot: TableOp, index: int, job: Job) -> bool:
    """Whether threads compute an operand in each iteration, from tiles of which TMA loads one at least."""
    if dot_operand_load(dot, index) is not None or not is_computed_from_loads(dot, index):
        return False
    analysis = AxisAnalysis()
    return any(with_tma_box(load, [], job, analysis) is not None for load in source_loads(dot, index))


def stage_bytes(kernel: Kernel, dot: TableOp, computed: Collection[int]) -> int:
    """Bytes of a stage of a CTA's share: of what is loaded as it is multiplied, and of ``computed`` operands, with the tiles that they
    are computed from.
    """
    share = kernel.dots[0]
    written = sum((share.a_size(), share.b_size())[index] for index in computed)
    sources = {load for index in computed if dot_operand_load(dot, index) is None for load in source_loads(dot, index)}
    return kernel.stage_bytes + int(written) + sum(tile_bytes(load.value) for load in sources)


def columns(dot: Dot) -> int:
    """Columns of accumulators, and of one stage of block scales, which tensor memory has four times."""
    return -(-dot.m // ROWS) * dot.n + dot.scale_bytes // ROWS
