"""Swizzle the grid: tile programs of ``grid_swizzle`` rows start together, for locality in L2.

In:    nv_tileaa operations; a kernel that reads its program ids along axes 0 and 1; ``grid_swizzle`` above 1.
Out:   permuted program ids: among each ``grid_swizzle`` rows (axis 1), the first programs of the rows (axis 0) start
       first, in the order in which the hardware starts CTAs, axis 0 first. ``grid_swizzle`` on the kernel, or
       ``grid_swizzle_declined`` with the reason why its programs keep the order of the grid.
After: cse (unused program ids are erased). Before: all passes that match scalars.
Sound: the permutation is a bijection in each group: for a group of r rows (the last may have fewer), r * column + row
       and row * columns + column enumerate the same programs in two orders. A grid whose count would not fit in 32 bits
       keeps its order, for all programs. A cluster is one tile program. Tile IR does not order programs; if one may
       wait for another (accesses that are not weak), the order is kept.
Source: L2 hit rates are higher for a wave of programs that is a square of tiles than for one that is a line: Triton's
       tutorial on matrix multiplication ("L2 cache optimizations"), CUTLASS ("threadblock rasterization").
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.ops import GetNumProgramsOp, GetProgramIdOp
from ...ir.dialects.op_traits import is_function
from ..analysis.memory_semantics import is_unordered, semantic_of
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.arith_builder import ArithBuilder

ACROSS, DOWN = 0, 1
MAX_EXTENT = (1 << 31) - 1


class SwizzleGrid(EdgePass):
    """Permute program ids for locality in L2."""

    name = "tileaa-swizzle-grid"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.grid_swizzle == 1:
            return
        for func in module.body.block.ops:
            if is_function(func):
                _swizzle(func, job.grid_swizzle)


def _swizzle(func: Operation, group_size: int) -> None:
    queries = [op for op in walk(func) if isinstance(op, GetProgramIdOp)]
    reason = _obstacle(func, {op.axis for op in queries})
    if reason is not None:
        as_op(func).grid_swizzle_declined = reason
        return
    as_op(func).grid_swizzle = group_size
    places = _swizzled_ids(ArithBuilder.before(unwrap(func.regions[0].blocks[0].first_op)), group_size)
    for op in queries:
        if op.axis in places:
            op.results[0].replace_all_uses_with(places[op.axis])
            parent_block(op).erase_op(op)


def _obstacle(func: Operation, axes: set[int]) -> str | None:
    """Why the programs of a kernel keep the order of the grid; None if they can be permuted."""
    if not {ACROSS, DOWN} <= axes:
        return "the kernel does not read its program ids along both axis 0 and axis 1 of its grid"
    for op in walk(func):
        if not is_unordered(op):
            return f"{op.name} is {semantic_of(op)}, not weak"
    return None


def _swizzled_ids(b: ArithBuilder, group: int) -> dict[int, SSAValue]:
    """The swizzled program ids along both axes."""
    row, column = (b.insert(GetProgramIdOp.make([], [i32], axis=axis)) for axis in (DOWN, ACROSS))
    rows, columns = (b.insert(GetNumProgramsOp.make([], [i32], axis=axis)) for axis in (DOWN, ACROSS))
    start = b.binary("and", row, -group)
    height = b.binary("umin", b.binary("sub", rows, start), group)
    number = b.binary("add", b.mul(b.sub(row, start), columns), column)
    down = b.binary("add", start, b.binary("urem", number, height))
    across = b.binary("udiv", number, height)
    fits = b.compare("sle", columns, MAX_EXTENT // group)
    return {DOWN: b.select(fits, down, row), ACROSS: b.select(fits, across, column)}
