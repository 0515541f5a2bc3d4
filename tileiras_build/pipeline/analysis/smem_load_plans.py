"""Plans for reading the tile of a stage, or a slice of it, from shared memory, and for writing it."""

from __future__ import annotations

from ...ir.dialects.cute import layout_of
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import (
    LinearLayout,
    MatrixAccess,
    SharedAccess,
    SharedLayout,
    matrix_access,
    pack,
    separate_warps,
    shared_access,
)
from .op_queries import is_own


def vector_load_plan(op: TableOp) -> SharedAccess:
    """The plan of a local_load by vector loads of each thread."""
    return shared_access(*_stage_layout(op)).with_offset(_chunk_offset(op))


def ldmatrix_plan(op: TableOp) -> MatrixAccess | None:
    """The plan of a local_load by ldmatrix; None if ldmatrix cannot read the layout."""
    access = matrix_access(*_stage_layout(op))
    return None if access is None else access.with_offset(_chunk_offset(op))


def _stage_layout(op: TableOp) -> tuple[LinearLayout, SharedLayout]:
    """The layout as that of the stage's first elements, and the stage's placement."""
    layout, placement = layout_of(op.result), op.buffer.type.placement.data
    if is_own(op.buffer):
        return separate_warps(layout), placement
    for dim, size in enumerate(placement.shape):
        layout = layout.resize(dim, size)
    return layout, placement


def _chunk_offset(op: TableOp) -> int:
    """The start of the slice, in bytes: a multiple of its sizes, which are powers of two, so addresses differ by an
    XOR.
    """
    placement = op.buffer.type.placement.data
    if op.starts is None:
        return 0
    return placement.offset(pack(op.starts, placement.shape)) * placement.element_bits // 8


def vector_store_plan(op: TableOp) -> SharedAccess:
    """The plan of a local_store by vector stores of each thread."""
    return shared_access(layout_of(op.value), op.buffer.type.placement.data)


def stmatrix_plan(op: TableOp) -> MatrixAccess | None:
    """The plan of a local_store by stmatrix; None if stmatrix cannot write the layout."""
    return matrix_access(layout_of(op.value), op.buffer.type.placement.data)
