"""Load each tile of a row once, where a kernel loads it again after a reduction and registers hold it meanwhile.

In:    kernels that reduce tiles and multiply none, of which loads repeat earlier ones, perhaps in loops of few trips, or of one.
Out:   the iterations of these loops one after the other; a load that repeats one that dominates it is that one.
After: hoist_views (loads of the same memory have the same view). Before: elide_bounds_checks (indices of iterations are
       constants), choose_cta_shape (it counts the registers of a row).
Sound: only weak loads are merged, which no token orders after a write, an acquire or another grid, or the same token. So no write to
       their bytes happens between them: it would be concurrent to the later one, and a weak access may be assumed to meet no concurrent
       one (CUDA Tile IR, Memory Model, section Scopes). What tokens order after either of them is ordered after the first one.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.fast_xdsl import erase, walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..analysis.enclosing_control_flow import exits_of
from ..analysis.memory_semantics import semantic_of
from ..analysis.op_queries import LOADS
from ..analysis.resource_model import (
    MAX_WARPS,
    choose_warps,
    has_rows_in_loop,
    reduces_only,
    registers_at_launch,
    row_registers,
)
from ..analysis.row_registers import row_words
from ..analysis.scalar_slice import is_unordered_token
from ..common.cse import eliminate_dead_code, is_pure, merge
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass
from .inline_single_iterations import has_trips, unroll
from .op_insertion import insertion_before

CreateTokenOp = COUNTERPARTS["nv_tileaa.create_mem_token"]
MOST_TRIPS = 8  # of a loop: more make long code, and rows that registers seldom hold
# Warps of an SM that hold their rows, so that some load while others compute. Fewer would load less at once: on sm_100, by `estimate`, rows
# of 4,096 elements of bf16 that a warp reads twice take 19 k clocks, and 24 k where it holds them.
BUSY_WARPS = 32


class LoadRowsOnce(EdgePass):
    """Rows that stay in registers between a reduction and its use."""

    name = "tileas-load-rows-once"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        operations = walk(func)
        if job.opt_level == 0 or not reduces_only(operations) or not _may_repeat(operations):
            return
        trial = as_op(func.clone())
        parent_block(func).insert_op_after(trial, func)
        merged = _merge_loads(trial)
        erase(func if merged and _row_fits(trial, job) else trial)


def _may_repeat(operations: list[Operation]) -> bool:
    """Whether two loads have tiles of one type. Early pruning: most kernels have none, and are not copied."""
    types = [as_op(op).value.type for op in operations if op.name in LOADS]
    return len(set(types)) < len(types)


def _merge_loads(func: TableOp) -> bool:
    """Merge the loads that repeat an earlier one; False where there are none."""
    for loop in [as_op(op) for op in reversed(walk(func)) if _is_short(op)]:  # inner loops first
        unroll(loop)
    loads = [as_op(op) for op in walk(func) if op.name in LOADS]
    movable: set[Operation] = {load for load in loads if semantic_of(load) == "weak"}
    body, none = func.regions[0].blocks[0], None
    for load in filter(_is_unordered, map(as_op, movable)):
        if (old := as_op(load).token) is not None:
            none = none or insertion_before(unwrap(body.first_op))(CreateTokenOp.make([], [old.type]))
            load.operands = [none if value is old else value for value in load.operands]
    merge(body, lambda op: is_pure(op) or op in movable)
    eliminate_dead_code(body)
    return sum(op.name in LOADS for op in walk(func)) < len(loads)


def _is_short(op: Operation) -> bool:
    """Whether an operation is a loop of few trips that loads tiles and ends at its bound.

    One of several trips has no other loop inside, nor does it reduce: iterations that wait for reductions hold their tiles for long, one
    after the other. By `estimate`, an online softmax of four parts of 2,048 elements takes a third more on sm_90 as straight code. Nor are
    its loads ordered: those of its later iterations follow writes of earlier ones.
    """
    if not has_trips(op, MOST_TRIPS) or len(exits_of(op)) != 1:
        return False
    body = op.regions[0].blocks[0]
    loads = [as_op(inner) for inner in body.ops if inner.name in LOADS]
    is_straight = not any(inner.regions for inner in body.ops) and all(map(_is_unordered, loads))
    return bool(loads) and (has_trips(op, 1) or is_straight)


def _is_unordered(load: TableOp) -> bool:
    return is_unordered_token(load.token)


def _row_fits(func: TableOp, job: Job) -> bool:
    """Whether the threads that keep DRAM busy have registers for the row; more warps than usual may be chosen, where a slow DRAM is busy
    with few loads.
    """
    is_free = func.num_warps is None and not has_rows_in_loop(func, walk(func))
    warps = MAX_WARPS if is_free and not job.target.sm_limits.has_fast_dram else choose_warps(func, job)
    held = registers_at_launch(max(BUSY_WARPS, warps * (occupancy(func, job) or 1)), job.target)
    return row_registers(row_words(func), warps) <= held
