"""Layouts along the chain of operations from a load to the dot that reads its tile."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ....ir.casting import tile_type
from ....ir.dialects.cute import layout_of
from ....ir.dialects.cute.layout_attr import LayoutAttr
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from . import layout_inference_rules as rules


def fragment_at_load(op: TableOp, chain: list[Operation]) -> LinearLayout:
    """The operand layout of the dot, propagated back to the loaded tile."""
    last = chain[-1].results[0] if chain else op.value
    layout = layout_of(last)
    for link in reversed(chain):
        if link.name in ("nv_tileas.view", "nv_tileas.permute"):
            layout = rules.operand_layout(link, link.operands[0], layout)
    return layout


def layout_through_view(link: TableOp, layout: LinearLayout) -> LinearLayout:
    """Propagate a layout through one link of a chain."""
    if link.name == "nv_tileas.view":
        return layout.reshape(tuple(tile_type(link.results[0]).get_shape()))
    if link.name == "nv_tileas.permute":
        return layout.permute_dims(list(link.permutation))
    return layout


@lru_cache(maxsize=4096)
def with_layout(type: Any, layout: LinearLayout) -> Any:
    """A tile's type with another layout."""
    return TensorType(type.element_type, type.get_shape(), LayoutAttr(layout))
