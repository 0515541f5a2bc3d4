"""Give the addresses of gathered operands tiles of their own, whose layout does not decide that of accumulators.

A kernel that gathers an operand of a dot computes its addresses and masks from rows and columns, and those of its result from the same
ones. Elementwise operations have one layout, and the gather's is preferred to that of an accumulator, which would be converted in
each iteration. Nor does what two gathers share decide that both have one layout, where memory is contiguous along the rows of one and the columns of the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, parent_block, parent_op, tile_type
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_counted_loop
from ...analysis.access_vectorization import pointer_vector
from ...analysis.axis_info import AxisAnalysis
from ...analysis.copied_operands import RENAMING
from ...analysis.op_queries import DOT, POINTER_LOAD, is_pure, is_tile


def is_gathered(op: TableOp) -> bool:
    """Whether each iteration of a loop gathers a tile that a dot reads, through shared memory: its addresses are computed in
    the layout of the access.
    """
    return is_counted_loop(parent_op(op)) and _is_operand(op.value)


def _is_operand(tile: SSAValue) -> bool:
    """Whether a dot reads a tile, or one that has the same elements by other names."""
    users = [use.operation for use in tile.uses]
    return any(user.name == DOT or user.name in RENAMING and _is_operand(user.results[0]) for user in users)


def separate_addresses(func: Operation) -> None:
    """Clone the tiles of which gathers compute their addresses, element by element, for all other uses, among them gathers along another dimension."""
    gathers = [as_op(op) for op in walk(func) if op.name == POINTER_LOAD and is_tile(as_op(op).value)]
    along: dict[int, list[TableOp]] = defaultdict(list)
    analysis = AxisAnalysis()
    for gather in filter(is_gathered, gathers):
        along[pointer_vector(gather, analysis)[1]].append(gather)
    for alike in along.values():
        _separate(func, alike)


def _separate(func: Operation, gathers: Sequence[TableOp]) -> None:
    cone = {op for gather in gathers for op in _address_ops(gather)}
    for op in reversed([op for op in walk(func) if op in cone]):
        others = [use for use in op.results[0].uses if use.operation not in cone and use.operation not in gathers]
        if not others:
            continue
        clone = op.clone()
        parent_block(op).insert_op_after(clone, op)
        for use in others:
            use.operation.operands[use.index] = clone.results[0]


def _address_ops(gather: TableOp) -> Iterator[Operation]:
    """The pure operations that compute tiles of a gather's size, from which its addresses and mask follow."""
    waiting: list[SSAValue] = [value for value in gather.operands if is_tile(value)]
    size = _size(gather.value)
    while waiting:
        value = waiting.pop()
        op = value.owner
        if isinstance(op, Operation) and is_pure(op) and not op.regions and _size(value) == size:
            yield op
            waiting += filter(is_tile, op.operands)


def _size(tile: SSAValue) -> int:
    """Elements of a tile."""
    return prod(tile_type(tile).get_shape())
