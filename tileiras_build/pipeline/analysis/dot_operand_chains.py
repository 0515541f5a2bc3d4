"""The chain of operations from a load to the dot that reads its tile."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, tile_type
from ...ir.dialects.fast_xdsl import string_of
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    is_value_forwarding,
)
from ...ir.layouts import SharedLayout
from .op_queries import TILED_LOAD


def view_chain_to(load: TableOp, dot: TableOp, index: int) -> list[Operation] | None:
    """The single-use operations from a load's tile to operand ``index`` of a dot of the same block."""
    chain: list[Operation] = []
    value = load.value
    while len(uses := list(value.uses)) == 1:
        user = uses[0].operation
        if user is dot:
            return chain if uses[0].index == index else None
        if not is_value_forwarding(user) or user.parent is not dot.parent or len(user.results) != 1:
            return None
        chain.append(user)
        value = user.results[0]
    return None


def source_load_of(value: SSAValue) -> tuple[TableOp, list[Operation]] | None:
    """The tiled_load that a tile comes from, and the operations between; None where it has another source."""
    chain: list[Operation] = []
    while isinstance(value.owner, Operation) and is_value_forwarding(value.owner):
        chain.insert(0, value.owner)
        value = value.owner.operands[0]
    load = value.owner
    return (as_op(load), chain) if isinstance(load, Operation) and load.name == TILED_LOAD else None


def dot_operand_load(dot: TableOp, index: int) -> tuple[TableOp, list[Operation]] | None:
    """The tiled_load of the dot's own block whose tile only becomes operand ``index``, and the operations between."""
    found = source_load_of(dot.operands[index])
    if found is None or found[0].parent is not dot.parent:
        return None
    chain = view_chain_to(found[0], dot, index)
    return None if chain is None else (found[0], chain)


def rounds_to_tf32(link: Operation) -> bool:
    """Whether a conversion rounds from f32 to tf32 as TMA does: to nearest even (``TensorBox``)."""
    if link.name != "nv_tileas.fp_to_fp" or as_op(link).rounding_mode != "nearest_even":
        return False
    types = [string_of(tile_type(value).element_type) for value in (link.operands[0], link.results[0])]
    return types == ["f32", "tf32"]


def smem_layout_after_views(
    chain: list[Operation], smem_layout: SharedLayout, *, renames_only: bool = True
) -> SharedLayout | None:
    """The placement of the operand in the memory of its load; None if the chain does more than rename elements.

    TMA rounds to tf32 when loading. ``renames_only=False``: conversions of elements after the load are ignored.
    """
    for link in chain:
        if link.name == "nv_tileas.view":
            smem_layout = smem_layout.reshape(tile_type(link.results[0]).get_shape())
        elif link.name == "nv_tileas.permute":
            smem_layout = smem_layout.permute_dims(as_op(link).permutation)
        elif link.name != "nv_tileas.convert_layout" and renames_only and not rounds_to_tf32(link):
            return None
    return smem_layout
