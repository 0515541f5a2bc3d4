"""Tiles that lie along m or n in memory, where an instruction reads operands along k alone: threads transpose them in shared memory."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import SSAValue

from ...ir.casting import tile_type
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import LinearLayout, transposing
from ..common.llvm_element_types import element_of
from .access_vectorization import ViewAccessInfo
from .axis_info import AxisAnalysis
from .dot_operand_chains import smem_layout_after_views, source_load_of
from .stored_operands import fastest_first, placements, source_loads
from .tma_operands import TmaOperand


def loads_across_k(dot: TableOp, index: int, sources: Iterable[TmaOperand], mn_major: tuple[str, ...]) -> list[TableOp]:
    """The loads among ``sources`` from which threads compute an operand that an instruction reads only along k, while they lie along m
    or n.
    """
    if len(placements(dot, index, mn_major)) > 1:
        return []
    loads, k_dim = source_loads(dot, index), 1 - index
    own = [source for source in sources if source[0] in loads]
    return [source[0] for source in own if not _lies_along(k_dim, dot.operands[index], source)]


def transposing_layout(load: TableOp, num_warps: int) -> LinearLayout | None:
    """The layout in which threads read a loaded tile from its stage to write it along the other dimension; None where there is none."""
    type = tile_type(load.value)
    order = ViewAccessInfo(load.view, AxisAnalysis()).order
    return transposing(tuple(type.get_shape()), order, element_of(type).bits, num_warps)


def may_transpose(dot: TableOp, index: int, load: TableOp, num_warps: int) -> bool:
    """Whether threads have such a layout, for elements as wide as those of the operand."""
    bits = [element_of(value.type).bits for value in (load.value, dot.operands[index])]
    return bits[0] == bits[1] and transposing_layout(load, num_warps) is not None


def _lies_along(dim: int, operand: SSAValue, source: TmaOperand) -> bool:
    """Whether neighbors in memory of a loaded tile are neighbors along ``dim`` of the operand that is computed from it."""
    load, _, box = source
    found, shape = source_load_of(operand), tile_type(operand).get_shape()
    chain = found[1] if found is not None and found[0] is load else []
    placement = smem_layout_after_views(chain, box.placement, renames_only=False)
    if placement is None or len(placement.shape) != len(shape):
        return True
    if placement.shape != tuple(shape):
        dim = 1 - dim
    return fastest_first(placement)[0] == dim
