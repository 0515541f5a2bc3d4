"""Stationary left operands: loop-invariant operands, and whether wgmma reads them from shared memory."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, parent_block, parent_op, unwrap
from ....ir.dialects.op_definition import TableOp
from ...analysis.axis_info import AxisAnalysis
from ...analysis.chained_dots import stationary_lhs_load
from ...analysis.dot_buffer_sharing import is_lhs_computed_in_loop
from ...analysis.dot_loop_registers import tile_registers
from ...analysis.dot_operand_chains import source_load_of
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.op_queries import DOT, dots_in
from ...analysis.peak_registers import peak_of_block
from ...analysis.resource_model import (
    STAGES_SMEM_OVERHEAD,
    choose_warps,
    live_registers_fit,
    min_stages,
    registers_fit,
    registers_fit_with_setmaxnreg,
)
from ...analysis.tma_operands import (
    TmaOperand,
    may_prefetch_in_loop,
    operand_placement,
    tma_loads_allowed,
    tma_operand,
    with_tma_box,
)
from ...common.optimization_hints import occupancy
from ...job import Job
from ...pipelining_strategies import choose
from ...schedule.schedule_attribute import schedule_of
from ..smem_operands import readable_operand
from .operands import row_for_types

# Minimal columns for which reading both operands of a wgmma from shared memory takes less time than the MMA: 64 rows
# and 128 columns of 16 bits with k = 16 are 6 KiB in 64 clocks, in which shared memory delivers 8 KiB.
WIDE_DOT = 128


def is_stationary(other: TableOp, job: Job) -> bool:
    """Whether the left operand of a dot is loaded before its loop, and stays in shared memory."""
    return stationary_lhs(other, job) is not None


def stationary_lhs(other: TableOp, job: Job) -> TmaOperand | None:
    """The load, the view chain and the box of a stationary operand; None if there is none, or it stays in registers."""
    if stationary_lhs_load(other) is None or row_for_types(other, job.target) is None:
        return None
    func = enclosing_kernel(other)
    if not tma_loads_allowed(func) or as_op(func).num_ctas is not None or not choose(job).uses_tma:
        return None
    readers, analysis = dots_reading_same_lhs(other), AxisAnalysis()
    found = [one for reader in readers if (one := _operand_location(reader, job, analysis)) is not None]
    # All its readers must read it there: it is not in registers.
    if len(found) < len(readers) or len({operand_placement(one) for one in found}) > 1:
        return None
    stationary = any(_is_profitable(reader, job) for reader in readers) and all(
        _fits_shared_memory(reader, job) for reader in readers
    )
    return found[readers.index(other)] if stationary else None


def dots_reading_same_lhs(dot: TableOp) -> list[TableOp]:
    """The dots whose left operand comes from the same load."""
    load = unwrap(source_load_of(dot.lhs))[0]
    dots = dots_in(enclosing_kernel(dot))
    return [other for other in dots if (source := source_load_of(other.lhs)) is not None and source[0] is load]


def _operand_location(other: TableOp, job: Job, analysis: AxisAnalysis) -> TmaOperand | None:
    """The placement of the operand for an instruction, if TMA may load it and the right operand ahead of the program."""
    source, atom = stationary_lhs_load(other), row_for_types(other, job.target)
    if source is None or atom is None or not may_prefetch_in_loop(other):
        return None
    held, right = with_tma_box(*source, job, analysis), tma_operand(other, 1, job, analysis)
    if held is None or right is None or readable_operand(right, 0, atom.mn_major) is None:
        return None
    return readable_operand(held, 1, atom.mn_major)


def _is_profitable(other: TableOp, job: Job) -> bool:
    """Whether shared memory bandwidth suffices for the dot, or registers do not hold the operand."""
    if other.rhs.type.get_shape()[1] >= WIDE_DOT:
        return True
    func = enclosing_kernel(other)
    regs, warps = max(sum(map(tile_registers, _tiles(other))), _registers_around(other, job)), choose_warps(func, job)
    ctas = occupancy(func, job) or 1
    if schedule_of(func).setmaxnreg:
        return not registers_fit_with_setmaxnreg(regs, warps, ctas, job.target)
    return not (
        live_registers_fit(regs, warps, job.target) if ctas == 1 else registers_fit(regs, warps, ctas, job.target)
    )


def _registers_around(dot: TableOp, job: Job) -> int:
    """Registers of the tiles that are live at once between the load of a stationary operand and the loop of its dot."""
    first, block, most = parent_block(unwrap(stationary_lhs_load(dot))[0]), parent_block(parent_op(dot)), 0
    while block is not first:
        most = max(most, peak_of_block(block, job.target))
        block = parent_block(unwrap(block.parent_op()))
    return most


def _tiles(dot: TableOp) -> dict[SSAValue, None]:
    """The tiles that the dots of a loop would keep in registers: accumulators, and computed or stationary left
    operands.
    """
    dots = _other_live_registers(dot)
    lefts = [other.lhs for other in dots if is_lhs_computed_in_loop(other) or stationary_lhs_load(other) is not None]
    return dict.fromkeys([*(other.result for other in dots), *lefts])


def _other_live_registers(other: TableOp) -> list[TableOp]:
    return [as_op(op) for op in parent_block(other).ops if op.name == DOT]


def _fits_shared_memory(dot: TableOp, job: Job) -> bool:
    """Whether as many stages fit beside the operand as without it, or at least the minimum."""
    ctas, analysis = occupancy(enclosing_kernel(dot), job) or 1, AxisAnalysis()
    dots = _other_live_registers(dot)
    size = _stage_bytes(dots, job, analysis)
    held = sum(_stationary_bytes(other, job, analysis) for other in dots if other.lhs is dot.lhs)
    without = _stages(size, len(dots), 0, ctas, job)
    return _stages(size, len(dots), held, ctas, job) >= min(max(without, 1), min_stages(ctas))


def stages_fit(other: TableOp, ctas: int, job: Job) -> bool:
    """Whether the stages of a dot's loop and its stationary operands fit in the shared memory of each CTA."""
    analysis = AxisAnalysis()
    held = _stationary_bytes(other, job, analysis) if is_stationary(other, job) else 0
    dots = _other_live_registers(other)
    return _stages(_stage_bytes(dots, job, analysis), len(dots), held, ctas, job) >= min_stages(ctas)


def _stages(size: int, dots: int, held: int, ctas: int, job: Job) -> int:
    """The stages of ``size`` bytes for so many dots of a loop that fit in a CTA's shared memory beside ``held`` bytes."""
    available = job.target.shared_memory_of(ctas) - STAGES_SMEM_OVERHEAD * (dots + 1) - held
    return available // size if size else 0


def _stage_bytes(dots: list[TableOp], job: Job, analysis: AxisAnalysis) -> int:
    """Bytes of the operands that TMA loads in each iteration."""
    found = (tma_operand(dot, index, job, analysis) for dot in dots for index in (0, 1))
    return sum(box.tile_bytes for _, _, box in filter(None, found))


def _stationary_bytes(other: Operation, job: Job, analysis: AxisAnalysis) -> int:
    source = stationary_lhs_load(as_op(other))
    box = None if source is None else with_tma_box(*source, job, analysis)
    return 0 if box is None else box[2].tile_bytes
