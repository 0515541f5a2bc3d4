"""Multiply the matrices of a batch one after the other, by instructions that multiply matrices.

In:    nv_tileas kernels whose dots have batches of so many matrices, on GPUs with asynchronous matrix instructions.
Out:   a loop around the program, whose iterations load, compute and store the tiles of one matrix of each batch: batches of one,
       if the family has an instruction for the types, and tiles for it.
After: convert_tileaa_to_tileas. Before: drop_unit_batches (which makes matrices of batches of one).
Sound: as loop_over_tile_slices: no slice needs another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import parent_block
from ...ir.dialects.fast_xdsl import erase
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.op_queries import dots_in
from ..common.cse import Cse
from ..job import Job
from ..mma.dots import dot_shape, rows_of_types
from ..mma.family import fastest_family
from ..pass_manager import EdgePass
from .sliced_program import slice_program, slices_of

BATCH = 0  # the dimension


class LoopOverBatches(EdgePass):
    """A loop over the matrices of batches."""

    name = "tileas-loop-over-batches"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in list(filter(is_function, module.body.block.ops)):
            dots = dots_in(func)
            if (count := _matrices(dots)) > 1 and all(_has_instruction(dot, job) for dot in dots):
                _slice(func, count, job)
                Cse().run(module, job)


def _matrices(dots: Sequence[TableOp]) -> int:
    """The matrices of each batch; 1 where they differ."""
    counts = {dot_shape(dot)[0] or 1 for dot in dots}
    return counts.pop() if len(counts) == 1 else 1


def _has_instruction(dot: TableOp, job: Job) -> bool:
    """Whether an asynchronous instruction multiplies one matrix of a dot."""
    family = fastest_family(job.target)
    if family.async_ops is None or dot.lhs_scale is not None or not rows_of_types(dot, job.target, family.rows):
        return False
    (rows, columns), (_, m, n, _) = family.tile_steps[0], dot_shape(dot)
    return m % rows == 0 and n % columns == 0


def _slice(func: Operation, count: int, job: Job) -> None:
    """Replace the kernel by a copy with the loop; it stays where its slices are not independent."""
    trial = func.clone()
    parent_block(func).insert_op_after(trial, func)
    sharding = slices_of(trial, count, job, BATCH)
    if sharding is not None:
        slice_program(trial, sharding)
    erase(func if sharding is not None else trial)
