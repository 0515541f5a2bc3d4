"""Tiles that lie along m or n in memory, where an instruction reads operands along k alone: threads transpose them in shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from ...ir.casting import tile_type, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import LayoutTrait, is_value_forwarding, traits_of
from ...ir.layouts import LinearLayout, transposing
from ..common.llvm_element_types import element_of
from .access_vectorization import ViewAccessInfo
from .axis_info import AxisAnalysis
from .dot_operand_chains import smem_layout_after_views, source_load_of
from .op_queries import operations_behind
from .stored_operands import fastest_first, placements, source_loads
from .tma_operands import TmaOperand

WORD_BITS = 32


def loads_across_k(
    dot: TableOp, index: int, sources: Iterable[TmaOperand], mn_major: tuple[str, ...], *, computed: bool = False
) -> list[TableOp]:
    """The loads among ``sources`` from which threads compute an operand that an instruction reads only along k, while they lie along m
    or n. ``computed``: also those whose views and permutations are followed through arithmetic.
    """
    if len(placements(dot, index, mn_major)) > 1:
        return []
    loads, k_dim, operand = source_loads(dot, index), 1 - index, dot.operands[index]
    chain = _chain_from if computed else _renames_from
    own = [source for source in sources if source[0] in loads]
    return [source[0] for source in own if not _lies_along(k_dim, operand, source, chain(source[0], operand))]


def transposing_layout(load: TableOp, num_warps: int) -> LinearLayout | None:
    """The layout in which threads read a loaded tile from its stage to write it along the other dimension; None where there is none."""
    type = tile_type(load.value)
    order = ViewAccessInfo(load.view, AxisAnalysis()).order
    return transposing(tuple(type.get_shape()), order, element_of(type).bits, num_warps)


def may_transpose(dot: TableOp, index: int, load: TableOp, num_warps: int) -> bool:
    """Whether threads have such a layout, for elements as wide as those of the operand, or of half a word where those of a left one are
    words.
    """
    loaded, written = (element_of(value.type).bits for value in (load.value, dot.operands[index]))
    return (
        written == (WORD_BITS if index == 0 and loaded == WORD_BITS // 2 else loaded)
        and transposing_layout(load, num_warps) is not None
    )


def _lies_along(dim: int, operand: SSAValue, source: TmaOperand, chain: list[Operation]) -> bool:
    """Whether neighbors in memory of a loaded tile are neighbors along ``dim`` of the operand that is computed from it."""
    shape = tile_type(operand).get_shape()
    placement = smem_layout_after_views(chain, source[2].placement, renames_only=False)
    if placement is None or len(placement.shape) != len(shape):
        return True
    if placement.shape != tuple(shape):
        dim = 1 - dim
    return fastest_first(placement)[0] == dim


def _renames_from(load: TableOp, operand: SSAValue) -> list[Operation]:
    """The operations between a load and the operand that its tile becomes; none where it is computed."""
    found = source_load_of(operand)
    return found[1] if found is not None and found[0] is load else []


def _chain_from(load: TableOp, operand: SSAValue) -> list[Operation]:
    """The operations on a way from a load's tile to the operand that is computed from it; none where one of them moves elements."""
    links = operations_behind([operand], load.parent, _moves_none)
    found, reached = list[Operation](), {load.value}
    for op in unwrap(load.parent).ops:
        if op in links and op is not load and reached & set(op.operands):
            found.append(op)
            reached = set(op.results)
    return found if operand in reached else []


def _moves_none(op: Operation) -> Sequence[SSAValue]:
    """What an operation computes each element from, or renames."""
    return op.operands if is_value_forwarding(op) or traits_of(op).layouts is LayoutTrait.ELEMENTWISE else ()
