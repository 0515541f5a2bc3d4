"""Whole schedules of chained dots (attention) whose operands are fragments of warps: 16 or 32 rows of scores for each warp.

A warp with 32 rows reads keys and values half as often from shared memory [Dao, "FlashAttention-2", 2023, section 3.3], and its CTA has
half of the warps. Where its registers do not hold the rows, the tile is computed in slices, each of which reads all keys and values. The
first candidate is what the sizes of the tiles give; the other one must be cheaper.
"""

from __future__ import annotations

from ...ir.dialects.op_definition import TableOp
from ...target.sm_limits import WARP
from ..analysis.chained_dots import chained_dots_of
from ..analysis.dot_loop_registers import live_tile_registers, tile_registers
from ..analysis.op_queries import dots_in
from ..analysis.resource_model import (
    MAX_CP_ASYNC_STAGES,
    MAX_TMA_STAGES,
    choose_stages,
    choose_warps,
    ctas_by_accumulators,
    live_registers_fit,
)
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.family import fastest_family
from ..pipelining_strategies import choose as choose_strategy
from .choose import WholeSchedule, cheapest, hear_schedules
from .cost import cost
from .kernel import Kernel, describe
from .schedule import Schedule
from .schedule_attribute import schedule_of, set_knobs

ROWS_OF_INSTRUCTION = 16
ROWS_OF_WARP = (16, 32)
# One warp of each partition of an SM, or two: of 16 warps for 256 rows cost says 9 % less, where `estimate` says 11 % more.
WARPS_OF_CTA = (4, 8)
SLICES = (1, 2, 4, 8)


def choose_score_warps(func: TableOp, job: Job) -> None:
    """Set the warps of a kernel whose dots are all chained, where another number than that of its tile sizes is cheaper."""
    found = _candidates(func, job)
    if len(found) < 2:
        return
    hear_schedules(func, found)
    best = cheapest(found)
    if best is not None and best is not found[0] and found[0].refused is None:
        set_knobs(func, num_warps=best.schedule.num_warps)


def _candidates(func: TableOp, job: Job) -> list[WholeSchedule]:
    family, chains = fastest_family(job.target), chained_dots_of(func)
    chained = {dot for chain in chains for dot in (chain.first, chain.last)}
    wanted = schedule_of(func)
    is_asked = func.num_warps or wanted.num_warps or wanted.occupancy or hint(func, job, "occupancy")
    if family.async_ops is not None or is_asked or not chains or chained != set(dots_in(func)) or job.opt_level == 0:
        return []
    rows, usual = chains[0].rows, choose_warps(func, job)
    by_rows = [rows // each for each in ROWS_OF_WARP if rows // each in WARPS_OF_CTA]
    first = min(by_rows[0], usual) if by_rows else usual
    choices = dict.fromkeys((first, *by_rows))
    if len(choices) < 2 or any(chain.rows != rows for chain in chains):
        return []
    registers, kernel = live_tile_registers(func, family, lambda dot: False), describe(func, job)
    return [_candidate(func, kernel, rows, registers, warps, job) for warps in choices]


def _candidate(func: TableOp, kernel: Kernel, rows: int, registers: int, warps: int, job: Job) -> WholeSchedule:
    """So many warps, in the fewest slices that fit."""
    fits = (each for each in SLICES if live_registers_fit(registers // each, warps, job.target))
    slices = next(fits, None)
    if slices is None or rows // slices < ROWS_OF_INSTRUCTION * warps:
        text = f"registers: {warps} warps do not hold the tiles that are live at once, nor a slice of {ROWS_OF_INSTRUCTION} rows each"
        return WholeSchedule(Schedule(num_warps=warps), text, "smaller tiles")
    results = sum(tile_registers(dot.result) for dot in dots_in(func)) // slices
    ctas = ctas_by_accumulators(results // (WARP * warps), warps, job)
    stages, _ = choose_stages(max(kernel.stage_bytes, 1), 0, ctas, job)
    uses_tma, names = choose_strategy(job).uses_tma, (fastest_family(job.target).name,) * len(kernel.dots)
    schedule = Schedule(
        num_warps=warps,
        tile_slices=slices if slices > 1 else None,
        mma=names,
        num_stages=min(stages, MAX_TMA_STAGES) if uses_tma else None,
        cp_async_stages=None if uses_tma else (min(stages, MAX_CP_ASYNC_STAGES),),
    )
    return WholeSchedule(schedule, cost=cost(kernel, schedule, job.target))
