"""Choose the order of tile programs: in groups of rows, for locality in L2; the longest first, for a short tail.

In:    nv_tileaa operations; ``grid_swizzle``: rows of a group, 1 for the order of the grid, 0 for what is best.
Out:   ``grid_swizzle`` and ``grid_reversed`` on the kernel, or ``grid_swizzle_declined`` with the reason why its programs
       keep the order of the grid (``rewriting/permuted_program_ids.py``). Longest first: where loops have more
       trips the larger the id along an axis is (causal attention), ids are counted down along it; the programs of the
       rows of a group (heads) that are equally long start together. CTAs of a persistent kernel take programs in turn,
       so there it is not done. In groups: where each dot has one operand whose tiles depend on axis 0 and one whose tiles
       depend on axis 1, at least but for what a table says (grouped matmuls). Program ids of persistent kernels are permuted
       here, others by order_grid.
After: cse (unused program ids are erased). Before: all passes that match scalars.
Sound: any order is a bijection of the grid. A cluster is one tile program. Tile IR does not order programs; if one may wait
       for another (accesses that are not weak), the order is kept.
Source: L2 hit rates are higher for a wave of programs that is a square of tiles than for one that is a line: Triton's
       tutorial on matrix multiplication ("L2 cache optimizations"), CUTLASS ("threadblock rasterization"). Longest
       first: Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17(2), 1969; FlashAttention-3
       and 4 start causal tiles so.
"""

from __future__ import annotations

from math import sqrt

from xdsl.ir import Operation

from ...ir.casting import as_op, int_attr
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...target.gpu_models import DEFAULT_GPUS, GPUS
from ...target.targets import Target
from ..analysis.memory_semantics import is_unordered, semantic_of
from ..analysis.operand_program_axes import matmul_tile
from ..analysis.trip_count_direction import trip_count_directions
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.permuted_program_ids import ACROSS, DOWN, ProgramOrder, permute_program_ids, program_ids

ROW_MAJOR = 1  # of the option
HEADS = 8  # rows of a group with the longest programs first: few enough for L2 to hold their keys and values
ROWS = (4, 8, 16)  # of a group of a matmul


class SwizzleGrid(EdgePass):
    """Choose the order of program ids."""

    name = "tileaa-swizzle-grid"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if job.grid_swizzle != ROW_MAJOR:
            _choose(func, job)


def _choose(func: Operation, job: Job) -> None:
    axes = {int_attr(op, "axis") for op in program_ids(func)}
    order = _order(func, axes, job)
    if order == ProgramOrder():
        return
    reason = _obstacle(func, axes, order)
    if reason is None:
        order.record(func)
        if job.persistent:
            permute_program_ids(func, order)
    elif job.grid_swizzle:
        as_op(func).grid_swizzle_declined = reason


def _order(func: Operation, axes: set[int], job: Job) -> ProgramOrder:
    directions = {} if job.persistent else trip_count_directions(func)
    longest = next((axis for axis, sign in sorted(directions.items()) if sign), None)
    rows = (HEADS if longest == ACROSS else _matmul_rows(func, job.target)) if {ACROSS, DOWN} <= axes else 1
    return ProgramOrder(job.grid_swizzle or rows, longest if longest is not None and directions[longest] > 0 else None)


def _matmul_rows(func: Operation, target: Target) -> int:
    """The rows of a group with which a wave of one CTA per SM loads the fewest bytes; 1 for kernels that are no matmuls.

    A group of r rows loads r tiles of one operand and n / r of the other for n CTAs.
    """
    tile, name = matmul_tile(func), DEFAULT_GPUS.get(target.number)
    if tile is None or name is None:
        return 1
    best = sqrt(GPUS[name].sm_count * tile[ACROSS] / tile[DOWN])
    return max((rows for rows in ROWS if rows <= best), default=ROWS[0])


def _obstacle(func: Operation, axes: set[int], order: ProgramOrder) -> str | None:
    """Why the programs of a kernel keep the order of the grid; None if they can be permuted."""
    if order.group > 1 and not {ACROSS, DOWN} <= axes:
        return "the kernel does not read its program ids along both axis 0 and axis 1 of its grid"
    for op in walk(func):
        if not is_unordered(op):
            return f"{op.name} is {semantic_of(op)}, not weak"
    return None
