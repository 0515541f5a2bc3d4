"""Layout conversions that go through shared memory in chunks of a limited size."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType

from ...ir.casting import tile_type
from ...ir.dialects.cute import LayoutAttr, layout_of
from ...ir.dialects.fast_xdsl import erase
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.intermediate_layout import intermediate_layout
from ..analysis.scratch_memory_sizes import conversion_bytes
from ..job import Job
from .op_insertion import insert_before


def limit_conversion_chunks(op: TableOp, max_bytes: int, job: Job) -> None:
    """Limit the scratch bytes that a conversion uses at a time, or come as close as possible. Where that needs two
    conversions with a layout in between, insert both.
    """
    op.chunk_bytes = max_bytes
    if len(op.operands) == 1:
        _convert_through_intermediate(op, job)


def _convert_through_intermediate(op: TableOp, job: Job) -> None:
    """Insert a conversion before one whose chunks are too large, if the chunks of both are then small enough."""
    (source,), (result,) = op.operands, op.results
    needed = conversion_bytes(op, job)
    between = intermediate_layout(layout_of(source), layout_of(result)) if needed > op.chunk_bytes else None
    if between is None:
        return
    type = TensorType(tile_type(source).element_type, tile_type(source).get_shape(), LayoutAttr(between))
    first = ConvertLayoutOp.make([source], [type], chunk_bytes=op.chunk_bytes)
    insert_before(first, op)
    op.operands[0] = first.results[0]
    if max(conversion_bytes(one, job) for one in (first, op)) >= needed:
        op.operands[0] = source
        erase(first)
