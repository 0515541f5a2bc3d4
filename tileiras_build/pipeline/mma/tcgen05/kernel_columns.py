"""The columns of tensor memory of a kernel's dots, those that several have once."""

from __future__ import annotations

from collections.abc import Collection

from ....ir.casting import unwrap
from ....ir.dialects.op_definition import TableOp
from ...analysis.dot_buffer_sharing import accumulator_sharing_class, continued_within, summed_within
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.op_queries import dots_in
from ...analysis.tma_operands import is_tma_operand
from ..shared_columns import TmemColumns, share_columns
from ..tmem_tiles import tmem_tiles


def columns_of_kernel(op: TableOp, warps: int, loaded: Collection[int] | None = None) -> int:
    """The columns of the dots of a kernel that have ``tmem_columns``; ``loaded``: the operands that TMA is to load for ``op``."""
    groups = _groups(op, loaded)
    tiles = [_columns_of(dots, operands, warps) for dots, operands in groups]
    share_columns(tiles)
    # A dot that adds to columns of the loop before has none of its own.
    columns = sum(max(dot.tmem_columns for dot in dots) for dots, _ in groups)
    return columns - sum(map(_shared_columns, tiles))


def dots_of_same_columns(op: TableOp) -> list[TableOp]:
    """The dots of a kernel, one of each loop, that have the same columns as ``op``, which is one of them."""
    return next(dots for dots, _ in _groups(op) if op in dots)


def _groups(op: TableOp, loaded: Collection[int] | None = None) -> list[tuple[list[TableOp], Collection[int]]]:
    """The dots of equal columns, and the operands that TMA loads for the first of them."""
    dots = [dot for dot in dots_in(enclosing_kernel(op)) if dot.tmem_columns is not None]
    operands = [loaded if dot is op and loaded is not None else _loaded_by_tma(dot) for dot in dots]
    groups = dict[object, list[int]]()
    for place, key in enumerate(accumulator_sharing_class(zip(dots, operands, strict=True))):
        groups.setdefault(key, []).append(place)
    return [([dots[place] for place in places], operands[places[0]]) for places in groups.values()]


def _loaded_by_tma(op: TableOp) -> list[int]:
    return [index for index in (0, 1) if is_tma_operand(op, index)]


def _columns_of(dots: list[TableOp], loaded: Collection[int], warps: int) -> TmemColumns:
    left, accumulators = tmem_tiles(dots[0], warps)
    in_shared = dots[0].stationary or dots[0].overlaid or 0 in (*loaded, *(dots[0].stored or ()))
    own = 0 if adds_in_tmem(dots[0]) else accumulators.total_tmem_columns
    return TmemColumns(dots, 0 if in_shared else unwrap(left).total_tmem_columns, own)


def adds_in_tmem(op: TableOp) -> bool:
    """Whether a dot adds to the columns of another one, of its loop or of the one before. A later dot of its chain that has no instruction yet
    counts as one that accumulates elsewhere.
    """
    found = {op, *(dot for dot in dots_in(enclosing_kernel(op)) if dot.tmem_columns is not None)}
    return summed_within(op, found)[0] is not op or continued_within(op, found) is not None


def _shared_columns(tiles: TmemColumns) -> int:
    return tiles.left + tiles.accumulators - sum(tiles.own)
