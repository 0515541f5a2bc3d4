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

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i32
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.ops import GetNumProgramsOp, GetProgramIdOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.memory_semantics import is_unordered, semantic_of
from ..job import Job
from ..pass_manager import EdgePass

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
    places = _SwizzledIds(unwrap(func.regions[0].blocks[0].first_op)).of(group_size)
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


class _SwizzledIds:
    """Swizzled program ids, computed at the start of the kernel, before ``first``."""

    def __init__(self, first: Operation):
        self.first = first

    def of(self, group: int) -> dict[int, SSAValue]:
        """The program ids along both axes."""
        row, column = (self._insert(GetProgramIdOp.make([], [i32], axis=axis)) for axis in (DOWN, ACROSS))
        rows, columns = (self._insert(GetNumProgramsOp.make([], [i32], axis=axis)) for axis in (DOWN, ACROSS))
        start = self._binary(arith.AndIOp, row, self._constant(-group))
        left = self._binary(arith.SubiOp, rows, start)
        height = self._binary(arith.MinUIOp, left, self._constant(group))
        before = self._binary(arith.MuliOp, self._binary(arith.SubiOp, row, start), columns)
        number = self._binary(arith.AddiOp, before, column)
        down = self._binary(arith.AddiOp, start, self._binary(arith.RemUIOp, number, height))
        across = self._binary(arith.DivUIOp, number, height)
        fits = self._insert(arith.CmpiOp.make([columns, self._constant(MAX_EXTENT // group)], [i1], predicate="sle"))
        return {DOWN: self._either(fits, down, row), ACROSS: self._either(fits, across, column)}

    def _either(self, condition: SSAValue, first: SSAValue, second: SSAValue) -> SSAValue:
        return self._insert(arith.SelectOp.make([condition, first, second], [i32]))

    def _binary(self, kind: type[TableOp], left: SSAValue, right: SSAValue) -> SSAValue:
        return self._insert(kind.make([left, right], [i32]))

    def _constant(self, number: int) -> SSAValue:
        return self._insert(arith.ConstantOp.create(result_types=[i32], properties={"value": IntegerAttr(number, i32)}))

    def _insert(self, op: Operation) -> SSAValue:
        parent_block(self.first).insert_op_before(op, self.first)
        return op.results[0]
