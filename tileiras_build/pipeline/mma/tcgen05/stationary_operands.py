"""Stationary left operands: loop-invariant tiles that stay in shared memory where tensor memory would hold fewer CTAs or dots with them.

An operand in tensor memory costs no bandwidth of shared memory, but columns, of which a CTA allocates a power of two.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, parent_block, unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import tmem_tile
from ....ir.layouts.tmem_layout import ALL_COLUMNS, allocated_columns
from ....target.mma_atoms import ELEMENT_BITS, Tcgen05Atom
from ...analysis.axis_info import AxisAnalysis
from ...analysis.chained_dots import stationary_lhs_load
from ...analysis.dot_buffer_sharing import is_lhs_computed_in_loop
from ...analysis.dot_loop_registers import result_registers
from ...analysis.dot_operand_chains import dot_operand_load
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.op_queries import DOT, dots_in
from ...analysis.resource_model import (
    MAX_CTAS_PER_SM,
    MIN_STAGES,
    STAGES_SMEM_OVERHEAD,
    choose_warps,
    min_stages,
    registers_fit,
)
from ...analysis.stored_operands import stored_bytes, stores_fit, tile_bytes
from ...analysis.tma_operands import TmaOperand, tile_key, tma_loads_allowed, tma_operand, with_tma_box
from ...common.optimization_hints import occupancy
from ...job import Job
from ...schedule.schedule_attribute import set_knobs
from ..dots import row_of
from ..smem_operands import load_by_tma, readable_operand
from .kernel_columns import columns_of_kernel, dots_of_same_columns
from .overlaid_operands import CTAS as OVERLAID_CTAS
from .overlaid_operands import overlaid_dots, overlay_operands

_Moved = tuple[TableOp, TmaOperand, int]  # a dot, its left operand, and the columns that this leaves


def keep_in_smem(dot: TableOp, atom: Tcgen05Atom, job: Job) -> None:
    """Mark a stationary left operand of a dot, or one that the loop computes as stored, if more CTAs then share an SM."""
    func = enclosing_kernel(dot)
    alike = dots_of_same_columns(dot)
    held, is_computed = _operand(dot, atom, job, alike), all(_may_be_stored(one, atom) for one in alike)
    if held is None and not is_computed:
        return
    warps = choose_warps(func, job)
    columns, own = columns_of_kernel(dot, warps), _left_columns(dot, atom, warps)
    before, ctas = (ALL_COLUMNS // allocated_columns(count) for count in (columns, columns - own))
    ctas = min(ctas, occupancy(func, job) or MAX_CTAS_PER_SM)
    if ctas <= before:
        return
    if held is not None and _fits(dot, held, ctas, job):
        for one in alike:
            _keep(one, held, own)
        set_knobs(as_op(func), occupancy=ctas)
    elif held is None and _stored_fits(dot, ctas, job):
        for one in alike:
            one.stored, one.tmem_columns = (0,), one.tmem_columns - own
        set_knobs(as_op(func), occupancy=ctas)


def _may_be_stored(dot: TableOp, atom: Tcgen05Atom) -> bool:
    """Whether threads may write a left operand to shared memory that a loop computes and tensor memory holds."""
    if dot.stored or dot.copied or dot.stationary or dot.overlaid or dot.rescaled or dot.lhs_scale is not None:
        return False
    if as_op(enclosing_kernel(dot)).num_ctas is not None or dot_operand_load(dot, 0) is not None:
        return False
    return is_lhs_computed_in_loop(dot) and stores_fit(dot, (0,), atom.mn_major)


def _stored_fits(dot: TableOp, ctas: int, job: Job) -> bool:
    """Whether each of so many CTAs has shared memory for two stages with a left operand, and registers for a result."""
    if not registers_fit(result_registers(dot), choose_warps(enclosing_kernel(dot), job), ctas, job.target):
        return False
    kept, stage = _smem_of_loops(dot)
    beside = kept + STAGES_SMEM_OVERHEAD * len(dots_in(enclosing_kernel(dot)))
    return beside + MIN_STAGES * (stage + stored_bytes(dot, 0)) <= job.target.shared_memory_of(ctas)


def free_columns(op: TableOp, job: Job, warps: int, loaded: Collection[int]) -> bool:
    """Keep left operands of a kernel's dots elsewhere until tensor memory holds all other tiles, with those of ``op``: stationary ones in shared
    memory, then those that loops compute in accumulators, or else in shared memory. None, and False, where it does not, or shared memory does not
    hold a stage beside them.
    """
    moved: list[tuple[TableOp, str, TableOp | None, int]] = []
    kernel = enclosing_kernel(op)
    dots = [dot for dot in dots_in(kernel) if dot.tmem_columns is not None]
    for dot, way in [(dot, way) for way in ("stationary", "overlaid", "stored") for dot in dots]:
        if columns_of_kernel(op, warps, loaded) <= ALL_COLUMNS:
            break
        row, load = cast(Tcgen05Atom, row_of(dot)), None
        if way == "stationary" and (held := _operand(dot, row, job)) is not None:
            own, load = _left_columns(dot, row, warps), held[0]
            _keep(dot, held, own)
        elif way == "overlaid" and dot in (overlaid := dict(overlaid_dots(kernel, warps))):
            dot.overlaid, own = True, overlaid[dot]
            dot.tmem_columns -= own
        elif way == "stored" and _may_be_stored(dot, row):
            own = _left_columns(dot, row, warps)
            dot.stored, dot.tmem_columns = (0,), dot.tmem_columns - own
        else:
            continue
        moved.append((dot, way, load, own))
    kept, stage = _smem_of_loops(op)
    fits = kept + stage + STAGES_SMEM_OVERHEAD * (len(dots) + 1) <= job.target.max_shared_memory
    if columns_of_kernel(op, warps, loaded) <= ALL_COLUMNS and fits:
        return True
    for dot, way, load, own in moved:
        setattr(dot, way, None)
        dot.tmem_columns += own
        if load is not None:
            load.tma = load.swizzle = None
    return False


def share_sm(func: TableOp, job: Job, warps: int) -> None:
    """Have two CTAs per SM where left operands over accumulators, and those from before the loop in shared memory, leave the columns."""
    overlaid = overlay_operands(func, job, warps)
    dots, most = dots_in(func), ALL_COLUMNS // OVERLAID_CTAS
    if not overlaid or (need := columns_of_kernel(dots[0], warps)) <= most:
        return
    moved = _moved_to_smem(dots, need - sum(columns for _, columns in overlaid) - most, job, warps)
    if moved is None or not _two_stages_fit(dots, moved, job):
        return
    for dot, held, columns in moved:
        _keep(dot, held, columns)
    for dot, columns in overlaid:
        dot.overlaid, dot.tmem_columns = True, dot.tmem_columns - columns
    set_knobs(func, occupancy=OVERLAID_CTAS)


def _moved_to_smem(dots: list[TableOp], excess: int, job: Job, warps: int) -> list[_Moved] | None:
    """The first operands from before the loop that leave so many columns in shared memory; None where all of them do not."""
    moved: list[_Moved] = []
    for dot in dots:
        if excess <= 0:
            break
        row = cast(Tcgen05Atom, row_of(dot))
        if (held := _operand(dot, row, job)) is not None:
            moved.append((dot, held, _left_columns(dot, row, warps)))
            excess -= moved[-1][2]
    return moved if excess <= 0 else None


def _two_stages_fit(dots: list[TableOp], moved: list[_Moved], job: Job) -> bool:
    """Whether shared memory holds two stages for each of the CTAs beside operands that are moved there."""
    kept, stage = _smem_of_loops(dots[0])
    kept += sum(held[2].tile_bytes for _, held, _ in moved) + STAGES_SMEM_OVERHEAD * (len(dots) + 1)
    return kept + MIN_STAGES * stage <= job.target.shared_memory_of(OVERLAID_CTAS)


def _smem_of_loops(op: TableOp) -> tuple[int, int]:
    """Shared memory for the stationary operands of a kernel, and for a stage of what is loaded and written for the dots of a loop, at most."""
    kept, stages = 0, dict[Block, dict[Hashable, int]]()
    for dot in dots_in(enclosing_kernel(op)):
        kept += tile_bytes(dot.lhs) if dot.stationary else 0
        found = {index: dot_operand_load(dot, index) for index in (0, 1)}
        of_loop = stages.setdefault(parent_block(dot), {})
        of_loop |= {
            tile_key(one[0]): tile_bytes(dot.operands[index]) for index, one in found.items() if one is not None
        }
        of_loop |= {(dot, index): stored_bytes(dot, index) for index in dot.stored or ()}
    return kept, max(sum(of_loop.values()) for of_loop in stages.values())


def _keep(dot: TableOp, held: TmaOperand, columns: int) -> None:
    load_by_tma(held)
    dot.stationary, dot.tmem_columns = True, dot.tmem_columns - columns


def _operand(
    dot: TableOp, atom: Tcgen05Atom, job: Job, readers: Collection[TableOp] | None = None
) -> TmaOperand | None:
    """The load of the operand, which no dots but ``readers`` read (this one, unless told otherwise), with its placement in shared memory; None
    where it cannot stay there.
    """
    func = enclosing_kernel(dot)
    if dot.stationary or dot.stored or dot.copied or as_op(func).num_ctas is not None or not tma_loads_allowed(func):
        return None
    source = stationary_lhs_load(dot)
    if source is None or dot.lhs_scale is not None or set(_readers(source[0].value)) != set(readers or (dot,)):
        return None
    held = with_tma_box(*source, job, AxisAnalysis())
    return None if held is None else readable_operand(held, 1, atom.mn_major)


def _readers(tile: SSAValue) -> Iterator[Operation]:
    """The dots that read a tile, whatever its elements are called."""
    for user in [use.operation for use in tile.uses]:
        if user.name == DOT:
            yield user
        else:
            yield from _readers(user.results[0])


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
