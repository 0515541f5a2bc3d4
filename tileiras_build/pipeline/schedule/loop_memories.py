"""Shared memory and columns of tensor memory that the loops of a kernel take for their dots."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop
from ...ir.layouts.tmem_layout import ROWS
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.enclosing_control_flow import only_accumulates
from ..analysis.op_queries import DOT
from ..job import Job
from ..mma.family import Storage, fastest_family


def memories_of_loops(func: Operation, job: Job) -> tuple[int, int]:
    """Of the loop that needs most: bytes of a stage of what its dots load, and columns of accumulators in tensor memory."""
    loops = [
        [as_op(op) for op in loop.regions[0].blocks[0].ops if op.name == DOT]
        for loop in walk(func)
        if is_counted_loop(loop)
    ]
    has_columns = fastest_family(job.target).accumulator is Storage.TENSOR
    kept = [dots for dots in loops if has_columns and any(map(only_accumulates, dots))]
    return max(map(_stage_bytes, loops), default=0), max(map(_columns, kept), default=0)


def _stage_bytes(dots: list[TableOp]) -> int:
    loads = [dot_operand_load(dot, index) for dot in dots for index in (0, 1)]
    return sum(4 * tile_registers(tile) for tile in dict.fromkeys(load[0].value for load in loads if load is not None))


def _columns(dots: list[TableOp]) -> int:
    return sum(-(-tile_registers(dot.result) // ROWS) for dot in dots)
