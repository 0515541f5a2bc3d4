"""The plan of a layout conversion on a target, used by scratch allocation and by the lowering to LLVM IR."""

from __future__ import annotations

from ...ir.dialects.cute import layout_of
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import LinearLayout, plan_conversion
from ...ir.layouts.conversion_plan import Plan
from ...target.targets import Target
from ..common.llvm_element_types import Element, element_of
from ..schedule.schedule import CHUNK_BYTES

# A larger tile goes through shared memory in several passes.
DEFAULT_CHUNK_BYTES = CHUNK_BYTES[0]


def conversion_plans(op: TableOp, target: Target) -> list[Plan]:
    """The plans of a convert_layout, one for each tile."""
    most = op.chunk_bytes or DEFAULT_CHUNK_BYTES
    pairs = zip(op.operands, op.results, strict=True)
    return [conversion_plan(target, layout_of(a), layout_of(b), element_of(a.type), most) for a, b in pairs]


def conversion_plan(
    target: Target, source: LinearLayout, result: LinearLayout, element: Element, chunk_bytes: int = DEFAULT_CHUNK_BYTES
) -> Plan:
    """The plan for a target, whose matrix instructions (ldmatrix, stmatrix) are candidates.

    ``max_chunk_bytes``: the limit of bytes in shared memory at a time.
    """
    matrices = target.has("ldmatrix")
    return plan_conversion(
        source, result, element.bits, stmatrix=target.has("stmatrix"), ldmatrix=matrices, max_scratch=chunk_bytes
    )
