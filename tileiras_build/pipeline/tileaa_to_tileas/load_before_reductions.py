"""Load tiles that are used after a reduction beside those that it reduces: weights of a norm would be waited for on their own.

In:    blocks of kernels with reductions and without dots, whose loads are done by threads.
Out:   loads of tiles after a reduction stand behind the last load before it, with the pure operations that compute their operands, and
       the loads of indices among these, as far as threads have registers for them without fewer CTAs per SM.
After: prefetch_gathered_tiles, whose loads of the next row have the registers first. Before: spill_to_shared and mark_read_only_loads,
       which look at the order of loads.
Sound: no token orders such a load after an access behind its new place, nothing between ends the program, and its mask moves with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from xdsl.ir import Block, Operation

from ...ir.casting import as_op, parent_block
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_combiner_region
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.enclosing_control_flow import is_grid_wait
from ..analysis.memory_semantics import semantic_of
from ..analysis.op_queries import LOADS, REDUCE, is_pure, is_tile, may_end, operations_behind
from ..analysis.resource_model import ctas_by_row_registers, reduces_only, registers_at_launch, row_registers
from ..analysis.row_registers import held_words, row_words
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass


class LoadBeforeReductions(EdgePass):
    """Loads before the reductions whose results their tiles are combined with."""

    name = "tileas-load-before-reductions"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        operations = walk(func)
        if job.opt_level == 0 or not reduces_only(operations):
            return
        words = row_words(func) + held_words(func)
        registers = _registers(func, words, job)
        for block in dict.fromkeys(parent_block(op) for op in operations if op.name == REDUCE):
            if (place := _last_load_before_reductions(block)) is None:
                continue
            for load, computation in movable_loads(block, place, _is_of_tile):
                words += tile_registers(load.value)
                if row_registers(words, func.num_warps) > registers:
                    return
                place = move_behind(place, (*computation, load))


def _registers(func: TableOp, words: int, job: Job) -> int:
    """Registers of a thread for as many CTAs per SM as there are with so many words live across a reduction, or as there are with
    the rows in shared memory (spill_to_shared).
    """
    ctas = occupancy(func, job) or max(
        ctas_by_row_registers(words, func.num_warps, job.target), job.target.sm_limits.memory_bound_ctas_per_sm
    )
    return registers_at_launch(func.num_warps * ctas, job.target)


def _last_load_before_reductions(block: Block) -> Operation | None:
    """The last load before the first reduction of a block; the last operation before it where there is none."""
    before = list(takewhile(lambda op: op.name != REDUCE, block.ops))
    return next((op for op in reversed(before) if op.name in LOADS), before[-1] if before else None)


def movable_loads(
    block: Block, place: Operation, is_wanted: Callable[[Operation], bool]
) -> list[tuple[TableOp, list[Operation]]]:
    """The loads behind ``place`` that are wanted there, each with what it is computed from behind that: pure operations, loads before it."""
    ops = list(block.ops)
    behind = list(takewhile(_may_be_passed, ops[ops.index(place) + 1 :]))
    found: dict[TableOp, list[Operation]] = {}
    for load in [as_op(op) for op in behind if is_wanted(op)]:
        needed = operations_behind(load.operands, block)
        computation = [op for op in behind if op in needed]
        if all(op in found or is_pure(op) and not op.regions for op in computation):
            found[load] = computation
    return list(found.items())


def move_behind(place: Operation, ops: Sequence[Operation]) -> Operation:
    """Move those operations that do not stand before a place behind it, in their order; the last one."""
    for op in ops:
        if place.is_before_in_block(op):
            op.detach()
            parent_block(place).insert_op_after(op, place)
            place = op
    return place


def _may_be_passed(op: Operation) -> bool:
    return (not op.regions or is_combiner_region(op)) and not may_end(op) and not is_grid_wait(op)


def _is_of_tile(op: Operation) -> bool:
    return is_by_threads(op) and is_tile(op.results[0])


def is_by_threads(op: Operation) -> bool:
    """Whether an operation is a load by threads that orders nothing."""
    return op.name in LOADS and semantic_of(op) == "weak" and not op.attributes.get("tma")
