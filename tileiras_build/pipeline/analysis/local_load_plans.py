"""How threads read the tile of a stage, or a part of it, from shared memory."""

from __future__ import annotations

from ...ir.dialects.cute import layout_of
from ...ir.dialects.op_definition import TableOperation
from ...ir.layouts import LinearLayout, MatrixAccess, SharedAccess, SharedLayout, matrix_access, pack, shared_access


def plain_reading(op: TableOperation) -> SharedAccess:
    """By loads of each thread, of a local_load."""
    return shared_access(*_whole(op)).moved(_start(op))


def matrix_reading(op: TableOperation) -> MatrixAccess | None:
    """By ldmatrix; None where that does not read the layout."""
    access = matrix_access(*_whole(op))
    return None if access is None else access.moved(_start(op))


def _whole(op: TableOperation) -> tuple[LinearLayout, SharedLayout]:
    """The layout as one of the stage's first elements, and the stage's placement."""
    layout, placement = layout_of(op.result), op.buffer.type.placement.data
    for dim, size in enumerate(placement.shape):
        layout = layout.resize(dim, size)
    return layout, placement


def _start(op: TableOperation) -> int:
    """Where the part starts, in bytes: at multiples of its sizes, which are powers of two, so addresses differ by an XOR."""
    placement = op.buffer.type.placement.data
    if op.starts is None:
        return 0
    return placement.offset(pack(op.starts, placement.shape)) * placement.element_bits // 8
