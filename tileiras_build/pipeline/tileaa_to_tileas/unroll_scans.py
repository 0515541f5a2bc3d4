"""Load the single elements that a short loop scans before its first iteration.

In:    counted loops of few trips, known here, that write nothing and have no loops: each iteration loads single elements, as of the rows of an
       expert, at places that depend on its index alone, and computes with scalars.
Out:   the loads of all iterations, and behind them the iterations in place of the loop. A thread waits once for what it waited for in
       each iteration.
After: specialize_warps and copy_operands_ahead, which look for loops. Before: prefetch_gathered_tiles: the loads of an enclosing loop.
Sound: no token orders such a load after a write of the loop, and all iterations are executed.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, defining_op, parent_op, tile_size, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import BarrierOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import has_side_effects, is_async_mma, is_counted_loop, is_loop, is_mma
from ..analysis.copied_operands import depends_on_index_alone
from ..analysis.enclosing_control_flow import has_no_early_exit, is_defined_in_loop
from ..analysis.integer_ranges import trips_of
from ..analysis.op_queries import LOADS, TILED_LOAD, is_outside, is_tile, operations_behind
from ..analysis.unrolled_loops import MAX_UNROLLED_LOADS
from ..job import Job
from ..pass_manager import EdgePass
from .inline_single_iterations import has_trips, unroll
from .op_insertion import insertion_before
from .software_pipelining.loop_iteration import LoopIteration

MAX_TRIPS = 32
MAX_OPERATIONS = 1024  # of all iterations: instructions of a thread that are fetched once


class UnrollScans(EdgePass):
    """Iterations in place of short loops over single elements."""

    name = "tileas-unroll-scans"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if job.opt_level == 0:
            return
        for loop in [as_op(op) for op in walk(func) if is_counted_loop(op)]:
            if has_trips(loop, MAX_TRIPS) and (loads := _scanned(loop)):
                _unroll(loop, loads)


def _scanned(loop: TableOp) -> list[TableOp]:
    """The loads of a loop over single elements; none of other loops."""
    block, inner = loop.regions[0].blocks[0], [op for op in walk(loop) if op is not loop]
    loads = [as_op(op) for op in inner if op.name in LOADS]
    trips = unwrap(trips_of(loop))
    if trips * len(loads) > MAX_UNROLLED_LOADS or trips * len(inner) > MAX_OPERATIONS or not has_no_early_exit(loop):
        return []
    is_scan = not any(map(_is_other, inner)) and all(_is_ready(load) and load.parent is block for load in loads)
    return loads if trips > 1 and is_scan else []


def _is_other(op: Operation) -> bool:
    """Whether an operation has effects on others, or computes with more than single elements."""
    acts = is_loop(op) or is_mma(op) or is_async_mma(op) or isinstance(op, BarrierOp) or has_side_effects(op)
    return acts or any(is_tile(value) and tile_size(value) > 1 for value in op.results)


def _is_ready(load: TableOp) -> bool:
    """Whether a load may be executed before the loop."""
    return depends_on_index_alone(load, unwrap(load.parent))


def _unroll(loop: TableOp, loads: list[TableOp]) -> None:
    """Replace a loop by the loads of all its iterations, and the iterations."""
    block = loop.regions[0].blocks[0]
    first = LoopIteration(block, [loop.lower, *loop.initial], insertion_before(_place(loop, loads)), loop.step)
    ahead = [_load(first, loads, trip) for trip in range(unwrap(trips_of(loop)))]
    as_op(defining_op(ahead[-1][loads[-1].value])).ends_block = True
    unroll(loop, ahead)


def _load(first: LoopIteration, loads: list[TableOp], trip: int) -> dict[SSAValue, SSAValue]:
    """What the loads of an iteration load, by the loop's own results."""
    return {result: first.at(result, trip) for load in loads for result in load.results}


def _place(loop: TableOp, loads: list[TableOp]) -> Operation:
    """The outermost of the loops around whose iterations all load the same tiles of views, or the scan. An address may be that of no memory
    where a loop has no trips.
    """
    block = loop.regions[0].blocks[0]
    behind = operations_behind((value for load in loads for value in load.operands), block)
    operands = {value for op in (*loads, *behind) for value in op.operands}
    carried = loop.initial if operands & {*block.args[1:]} else []
    needed = {value for value in (loop.lower, loop.step, *carried, *operands) if is_outside(value, block)}
    place = loop
    while all(load.name == TILED_LOAD for load in loads) and is_loop(around := parent_op(place)):
        if any(is_defined_in_loop(value, around) for value in needed):
            break
        place = as_op(around)
    return place
