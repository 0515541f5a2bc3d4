"""Left operands in the columns of the accumulator that they are computed from: where two CTAs then share an SM, or where tensor memory does
not hold all tiles otherwise.

A thread reads its part of an accumulator, computes with it, and writes what the next dot multiplies over it, as attention kernels do with
their scores. Each warp has lanes, or columns of both tiles, of its own, so that no other thread reads what it overwrites, and MMAs execute
in the order of issue: the accumulator is filled again after the dot that reads the operand. For two CTAs left operands from before the loop
go to shared memory. One CTA multiplies while threads of the other compute.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....ir.casting import as_op, tile_shape, unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts.tmem_layout import COLUMN_BITS, K_BYTES, ROWS, WARPS
from ....target.sm_limits import WARP
from ...analysis.dot_buffer_sharing import is_lhs_computed_in_loop
from ...analysis.dot_loop_registers import tile_registers
from ...analysis.enclosing_control_flow import is_in_counted_loop
from ...analysis.op_queries import dots_in
from ...analysis.peak_registers import peak_registers
from ...analysis.resource_model import registers_of_thread
from ...analysis.tma_operands import is_tma_operand
from ...common.optimization_hints import occupancy
from ...job import Job
from ..shared_columns import accumulator_under
from ..tmem_tiles import tmem_tiles
from .row_sharing import loaded_rows

CTAS = 2  # that overlap one another
INSTRUCTION_COLUMNS = K_BYTES * 8 // COLUMN_BITS  # of a left operand
QUAD = 4  # threads that share a row (``row_sharing.py``)


def overlay_operands(func: Operation, job: Job, warps: int) -> list[tuple[TableOp, int]]:
    """The dots of a kernel whose left operands overwrite accumulators for two CTAs per SM, and the columns that each saves; none where
    this gives no more CTAs, or an SM does not hold them.
    """
    dots = dots_in(func)
    # MMAs of 64 rows take as long as of 128, and shared memory would be as busy as the tensor pipe.
    if occupancy(func, job) not in (None, CTAS) or any(tile_shape(dot.result)[0] % ROWS for dot in dots):
        return []
    found = overlaid_dots(func, warps) if warps == WARPS else []
    return found if found and _registers_fit(func, job, warps) else []


def overlaid_dots(func: Operation, warps: int) -> list[tuple[TableOp, int]]:
    """The dots of a loop whose left operands may overwrite accumulators, of those that have columns, and the columns that each saves."""
    dots = [dot for dot in dots_in(func) if dot.tmem_columns is not None]
    if as_op(func).num_ctas is not None or len({dot.parent for dot in dots}) > 1 or not all(map(_is_plain, dots)):
        return []
    found, taken = list[tuple[TableOp, int]](), set[TableOp]()
    for dot in filter(is_lhs_computed_in_loop, dots):
        under, left = accumulator_under(dot), _left_columns(dot, warps)
        if left and under is not None and under not in taken and _covers(under, dot, left, warps):
            found.append((dot, left))
            taken.add(under)
    return found


def _is_plain(dot: TableOp) -> bool:
    """Whether a dot of a loop has its accumulators to itself in each iteration."""
    return is_in_counted_loop(dot) and not (dot.rescaled or dot.pair or dot.copied or dot.lhs_scale is not None)


def _covers(under: TableOp, dot: TableOp, left: int, warps: int) -> bool:
    """Whether each warp has the rows of a left operand in an accumulator, and columns for its own: those of one instruction or more."""
    operand, below = unwrap(tmem_tiles(dot, warps)[0]), tmem_tiles(under, warps)[1]
    own = (tile.tmem_columns_per_warp for tile in (operand, below))
    return operand.rows == below.rows and INSTRUCTION_COLUMNS <= next(own) <= next(own)


def _left_columns(dot: TableOp, warps: int) -> int:
    """The columns of a left operand; 0 where it is in shared memory."""
    left = tmem_tiles(dot, warps)[0]
    in_shared = dot.overlaid or dot.stationary or is_tma_operand(dot, 0) or 0 in (dot.stored or ())
    return 0 if in_shared or left is None else left.total_tmem_columns


def _registers_fit(func: Operation, job: Job, warps: int) -> bool:
    """Whether the threads of both CTAs have registers for what is live at once; of a row that is repeated each has its columns. The peak
    counts tiles before and after each operation, of which ptxas keeps few elements twice: that leaves enough for all else.
    """
    dots = dots_in(func)
    threads = WARP * warps // (QUAD if all(dot.shares_rows for dot in dots) else 1)
    rows = sum(threads * tile_registers(row) for row in loaded_rows(dots))
    return (peak_registers(func, job.target) + rows) // (WARP * warps) <= registers_of_thread(
        0, warps, CTAS, job.target
    )[1]
