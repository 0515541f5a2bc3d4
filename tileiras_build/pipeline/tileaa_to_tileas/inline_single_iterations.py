"""Inline loops of one trip: what they load and reduce is then beside what stands around them.

In:    kernels without dots, whose only control flow are counted loops of one trip; passes look for loads and reductions outside of loops.
       Kernels with dots: counted loops of one trip that continue what a counted loop around them carries; passes pipeline innermost loops.
Out:   the iterations in place of the loops. Kernels without dots that have other loops, or branches, are unchanged.
After: hoist_views, which looks for loops. Before: load_rows_once and all passes that count the tiles of a block.
Sound: a loop of one trip is its iteration with the first value of its counter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.fast_xdsl import erase, walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_combiner_region, is_counted_loop
from ..analysis.enclosing_control_flow import exits_of, is_in_counted_loop
from ..analysis.integer_ranges import constant_of, trips_of
from ..analysis.op_queries import has_dots
from ..job import Job
from ..pass_manager import EdgePass
from .op_insertion import insertion_before


class InlineSingleIterations(EdgePass):
    """Iterations in place of loops of one trip."""

    name = "tileas-inline-single-iterations"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if job.opt_level == 0:
            return
        regions = [as_op(op) for op in walk(func) if op.regions and op is not func and not is_combiner_region(op)]
        single = [op for op in regions if has_trips(op, 1) and len(exits_of(op)) == 1]
        if has_dots(func):
            for loop in reversed(single):  # inner ones first
                if _continues_outer_loop(loop):
                    unroll(loop)
        elif len(single) == len(regions):
            for loop in reversed(single):
                unroll(loop)


def _continues_outer_loop(loop: TableOp) -> bool:
    """Whether a loop takes each iteration what a counted loop around it carries, such as an accumulator."""
    if not loop.initial or not is_in_counted_loop(loop):
        return False
    carried = parent_block(loop).args[1:]
    return all(value in carried for value in loop.initial)


def has_trips(op: Operation, most: int) -> bool:
    """Whether an operation is a loop with at most so many trips, known here."""
    if not is_counted_loop(op) or not 0 < (trips_of(op) or 0) <= most:
        return False
    return unwrap(constant_of(op.operands[0])) >= 0  # a negative bound of an unsigned loop is another number


def unroll(loop: TableOp, loaded: Sequence[Mapping[SSAValue, SSAValue]] = ()) -> None:
    """Replace a loop by its iterations. ``loaded``: of each what stands for results of the loop's loads, which are dropped."""
    counter, *carried = loop.regions[0].blocks[0].args
    lower, step = unwrap(constant_of(loop.lower)), unwrap(constant_of(loop.step))
    insert, values = insertion_before(loop), list[SSAValue](loop.initial)
    *body, end = loop.regions[0].blocks[0].ops
    for trip in range(unwrap(trips_of(loop))):
        known: dict[SSAValue, SSAValue] = {**(loaded[trip] if loaded else {}), **dict(zip(carried, values))}
        known[counter] = insert.constant(lower + trip * step, counter.type)
        for op in body:
            if known.keys().isdisjoint(op.results):
                insert(op.clone(known))
        values = [known.get(value, value) for value in end.operands]
    for result, value in zip(loop.results, values):
        result.replace_all_uses_with(value)
    erase(loop)
