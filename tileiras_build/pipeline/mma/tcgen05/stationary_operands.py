"""Stationary left operands: loop-invariant tiles that stay in shared memory where tensor memory would hold fewer CTAs with them.

An operand in tensor memory costs no bandwidth of shared memory, but columns, of which a CTA allocates a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.casting import as_op, parent_block, unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import tmem_tile
from ....ir.layouts.matrix_descriptor import WIDE
from ....ir.layouts.tmem_layout import ALL_COLUMNS, allocated_columns
from ....target.mma_atoms import ELEMENT_BITS, Tcgen05Atom
from ...analysis.axis_info import AxisAnalysis
from ...analysis.chained_dots import stationary_lhs_load
from ...analysis.dot_loop_registers import result_registers
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.op_queries import DOT
from ...analysis.resource_model import (
    MAX_CTAS_PER_SM,
    STAGES_SMEM_OVERHEAD,
    choose_warps,
    min_stages,
    registers_fit,
)
from ...analysis.tma_operands import TmaOperand, tma_loads_allowed, tma_operand, with_tma_box
from ...common.optimization_hints import occupancy
from ...job import Job
from ...schedule.schedule_attribute import set_knobs
from ..smem_operands import readable_operand
from .kernel_columns import columns_of_kernel


def keep_in_smem(dot: TableOp, atom: Tcgen05Atom, job: Job) -> None:
    """Mark a stationary left operand of a dot, if more CTAs then share an SM."""
    func = enclosing_kernel(dot)
    if dot.stationary or dot.stored or dot.copied or as_op(func).num_ctas is not None or not tma_loads_allowed(func):
        return
    if (held := _operand(dot, atom, job)) is None:
        return
    warps = choose_warps(func, job)
    columns, own = columns_of_kernel(dot, warps), _left_columns(dot, atom, warps)
    before, ctas = (ALL_COLUMNS // allocated_columns(count) for count in (columns, columns - own))
    ctas = min(ctas, occupancy(func, job) or MAX_CTAS_PER_SM)
    if ctas > before and _fits(dot, held, ctas, job):
        load, _, box = held
        load.tma, load.swizzle, dot.stationary = True, WIDE if box.swizzle == WIDE else None, True
        dot.tmem_columns -= own
        set_knobs(as_op(func), occupancy=ctas)


def _operand(dot: TableOp, atom: Tcgen05Atom, job: Job) -> TmaOperand | None:
    """The load of the operand, which no other dot reads, with its placement in shared memory."""
    source = stationary_lhs_load(dot)
    if (
        source is None
        or dot.lhs_scale is not None
        or any(len(list(one.uses)) > 1 for one in (source[0].value, dot.lhs))
    ):
        return None
    held = with_tma_box(*source, job, AxisAnalysis())
    return None if held is None else readable_operand(held, 1, atom.mn_major)


def _left_columns(dot: TableOp, atom: Tcgen05Atom, warps: int) -> int:
    return unwrap(tmem_tile(*dot.lhs.type.get_shape(), ELEMENT_BITS[atom.a_type], warps)).total_tmem_columns


def _fits(dot: TableOp, held: TmaOperand, ctas: int, job: Job) -> bool:
    """Whether each of so many CTAs has shared memory for the operand and the fewest stages, and registers for a result beside the
    accumulators that results are added to.
    """
    if not registers_fit(result_registers(dot), choose_warps(enclosing_kernel(dot), job), ctas, job.target):
        return False
    dots = [as_op(op) for op in parent_block(dot).ops if op.name == DOT]
    stage = sum(box.tile_bytes for other in dots for _, _, box in _loaded(other, job))
    beside = held[2].tile_bytes + STAGES_SMEM_OVERHEAD * (len(dots) + 1)
    return beside + min_stages(ctas) * stage <= job.target.shared_memory_of(ctas)


def _loaded(dot: TableOp, job: Job) -> Iterator[TmaOperand]:
    analysis = AxisAnalysis()
    return (found for index in (0, 1) if (found := tma_operand(dot, index, job, analysis)) is not None)
