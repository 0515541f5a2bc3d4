"""Choose the order of tile programs: in groups of rows, for locality in L2; the longest first, for a short tail.

In:    nv_tileaa operations; ``grid_swizzle``: rows of a group, 1 for the order of the grid, 0 for the longest first.
Out:   permuted program ids. Grouped: among each ``grid_swizzle`` rows (axis 1), the first programs of the rows (axis 0)
       start first, in the order in which the hardware starts CTAs, axis 0 first. Longest first: where loops have more
       trips the larger the id along an axis is (causal attention), ids are counted down along it; the programs of the
       rows of a group (heads) that are equally long start together. CTAs of a persistent kernel take programs in turn,
       so there it is not done. ``grid_swizzle`` and ``grid_reversed`` on the
       kernel, or ``grid_swizzle_declined`` with the reason why its programs keep the order of the grid.
After: cse (unused program ids are erased). Before: all passes that match scalars.
Sound: the permutation is a bijection in each group: for a group of r rows (the last may have fewer), r * column + row
       and row * columns + column enumerate the same programs in two orders; so is counting down. A grid whose count
       would not fit in 32 bits keeps its rows, for all programs. A cluster is one tile program. Tile IR does not order
       programs; if one may wait for another (accesses that are not weak), the order is kept.
Source: L2 hit rates are higher for a wave of programs that is a square of tiles than for one that is a line: Triton's
       tutorial on matrix multiplication ("L2 cache optimizations"), CUTLASS ("threadblock rasterization"). Longest
       first: Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17(2), 1969; FlashAttention-3
       and 4 start causal tiles so.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, int_attr, parent_block, unwrap
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.ops import AssumeOp, GetNumProgramsOp, GetProgramIdOp
from ...ir.dialects.op_traits import is_function
from ..analysis.integer_ranges import MAX_GRID_CTAS
from ..analysis.memory_semantics import is_unordered, semantic_of
from ..analysis.trip_count_direction import trip_count_directions
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.arith_builder import ArithBuilder

ACROSS, DOWN = 0, 1
MAX_EXTENT = (1 << 31) - 1
ROW_MAJOR = 1  # of the option
HEADS = 8  # rows of a group with the longest programs first: few enough for L2 to hold their keys and values


class SwizzleGrid(EdgePass):
    """Permute program ids."""

    name = "tileaa-swizzle-grid"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.grid_swizzle == ROW_MAJOR:
            return
        for func in module.body.block.ops:
            if is_function(func):
                _permute(func, job)


@dataclass(frozen=True)
class _Order:
    """``group`` rows whose programs start together, and the axis along which ids are counted down, if any."""

    group: int = 1
    reversed: int | None = None


def _permute(func: Operation, job: Job) -> None:
    queries: list[Operation] = [op for op in walk(func) if isinstance(op, GetProgramIdOp)]
    axes = {int_attr(op, "axis") for op in queries}
    order = _order(func, axes, job)
    if order == _Order():
        return
    reason = _obstacle(func, axes, order)
    if reason is None:
        _apply(func, queries, order)
    elif job.grid_swizzle:
        as_op(func).grid_swizzle_declined = reason


def _order(func: Operation, axes: set[int], job: Job) -> _Order:
    directions = {} if job.persistent else trip_count_directions(func)
    longest = next((axis for axis, sign in sorted(directions.items()) if sign), None)
    heads = HEADS if longest == ACROSS and DOWN in axes else 1
    return _Order(job.grid_swizzle or heads, longest if longest is not None and directions[longest] > 0 else None)


def _obstacle(func: Operation, axes: set[int], order: _Order) -> str | None:
    """Why the programs of a kernel keep the order of the grid; None if they can be permuted."""
    if order.group > 1 and not {ACROSS, DOWN} <= axes:
        return "the kernel does not read its program ids along both axis 0 and axis 1 of its grid"
    for op in walk(func):
        if not is_unordered(op):
            return f"{op.name} is {semantic_of(op)}, not weak"
    return None


def _apply(func: Operation, queries: list[Operation], order: _Order) -> None:
    if order.group > 1:
        as_op(func).grid_swizzle = order.group
    if order.reversed is not None:
        as_op(func).grid_reversed = order.reversed
    places = _permuted_ids(ArithBuilder.before(unwrap(func.regions[0].blocks[0].first_op)), order)
    for op in queries:
        if (place := places.get(int_attr(op, "axis"))) is not None:
            op.results[0].replace_all_uses_with(place)
            parent_block(op).erase_op(op)


def _permuted_ids(b: ArithBuilder, order: _Order) -> dict[int, SSAValue]:
    """The new program ids, by axis."""
    found = _grouped_ids(b, order.group) if order.group > 1 else {}
    if (axis := order.reversed) is not None:
        place = found.get(axis) or b.insert(GetProgramIdOp.make([], [i32], axis=axis))
        extent = b.insert(GetNumProgramsOp.make([], [i32], axis=axis))
        found[axis] = b.binary("sub", b.binary("sub", extent, 1), place)
    return {axis: b.insert(_program_id(value, axis)) for axis, value in found.items()}


def _program_id(value: SSAValue, axis: int) -> Operation:
    """The value, with the range of a program id."""
    return AssumeOp.make([value], [i32], predicate=BoundedAttr(0, MAX_GRID_CTAS[axis] - 1))


def _grouped_ids(b: ArithBuilder, group: int) -> dict[int, SSAValue]:
    """The program ids along both axes, in groups of rows."""
    row, column = (b.insert(GetProgramIdOp.make([], [i32], axis=axis)) for axis in (DOWN, ACROSS))
    rows, columns = (b.insert(GetNumProgramsOp.make([], [i32], axis=axis)) for axis in (DOWN, ACROSS))
    start = b.binary("and", row, -group)
    height = b.binary("umin", b.binary("sub", rows, start), group)
    number = b.binary("add", b.mul(b.sub(row, start), columns), column)
    down = b.binary("add", start, b.binary("urem", number, height))
    across = b.binary("udiv", number, height)
    fits = b.compare("sle", columns, MAX_EXTENT // group)
    return {DOWN: b.select(fits, down, row), ACROSS: b.select(fits, across, column)}
