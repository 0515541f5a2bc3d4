"""Which kernels have four threads share each row of their results: those that combine results with rows that they load.

A thread with a whole row of 128 (shape 32x32b) has an element of such a row for each of its columns: as many registers as for the result,
and loads of shared memory that all lanes repeat. With a quarter of a row (16x256b) it has a quarter of both. Maxima and sums of rows then
take exchanges between threads, so kernels that reduce results along columns keep whole rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from ....ir.casting import tile_shape, tile_type
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import tmem_tile
from ....ir.layouts.tmem_layout import COLUMN_BITS, ROWS
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.op_queries import LOADS, REDUCE, dots_in, is_tile, operations_behind
from ...common.llvm_element_types import element_of

BROADCAST = "nv_tileas.broadcast"
# Of left operands whose registers are those of results that share rows: neighbors of two elements.
LHS_BITS = 16, COLUMN_BITS


def choose_row_sharing(op: TableOp, warps: int) -> None:
    """Let four threads share each row of a dot's results, if its kernel combines them with loaded rows."""
    dots = dots_in(enclosing_kernel(op))
    if all(_may_share(dot, warps) for dot in dots) and _combines_with_rows(dots):
        op.shares_rows = True


def _may_share(dot: TableOp, warps: int) -> bool:
    """Whether tensor memory holds the results of a dot, and what threads write for it, in tiles whose rows four threads may share."""
    if dot.tmem_columns is None or dot.rescaled or dot.pair or dot.lhs_scale is not None:
        return False
    shape, lhs = tile_shape(dot.result), tile_type(dot.lhs)
    if shape[0] % ROWS or element_of(dot.result.type).bits != COLUMN_BITS:
        return False
    bits = element_of(lhs).bits
    tiles = (
        tmem_tile(*shape, COLUMN_BITS, warps, shares_rows=True),
        tmem_tile(*lhs.get_shape(), bits, warps, shares_rows=True),
    )
    return bits in LHS_BITS and None not in tiles


def _combines_with_rows(dots: list[TableOp]) -> bool:
    """Whether a block of dots has a loaded row for all rows of a result, and reduces no result along columns."""
    shapes = {tuple(tile_shape(dot.result)) for dot in dots}
    ops = _ops_beside(dots)
    if any(op.name == REDUCE and is_tile(op.operands[0]) and tuple(tile_shape(op.operands[0])) in shapes for op in ops):
        return False
    return bool(loaded_rows(dots))


def loaded_rows(dots: list[TableOp]) -> list[SSAValue]:
    """The loaded rows that threads combine with results in the blocks of dots."""
    shapes = {tuple(tile_shape(dot.result)) for dot in dots}
    return [value for value in dict.fromkeys(_rows_of(_ops_beside(dots), shapes)) if _is_loaded(value)]


def _ops_beside(dots: list[TableOp]) -> list[Operation]:
    return [op for block in dict.fromkeys(dot.parent for dot in dots) if block is not None for op in block.ops]


def _rows_of(ops: list[Operation], shapes: set[tuple[int, ...]]) -> Iterator[SSAValue]:
    """The rows that are repeated to tiles of these shapes."""
    for op in ops:
        if op.name == BROADCAST and tuple(tile_shape(op.results[0])) in shapes:
            rows, columns = tile_shape(op.operands[0])
            if rows == 1 and columns > 1:
                yield op.operands[0]


def _is_loaded(value: SSAValue) -> bool:
    owner = value.owner
    if not isinstance(owner, Operation):
        return False
    return any(op.name in LOADS for op in (owner, *operations_behind(owner.operands, owner.parent)))
