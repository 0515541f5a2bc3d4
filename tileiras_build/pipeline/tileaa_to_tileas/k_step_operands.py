"""Operands of a dot that are read from their stages one k step at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, tile_type
from ...ir.dialects.cute import layout_of
from ...ir.dialects.cute.layout_attr import LayoutAttr
from ...ir.dialects.nv_tileas.ops import LocalLoadOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_value_forwarding
from ...ir.layouts import LinearLayout
from ..common.llvm_element_types import element_of
from .op_insertion import Inserter

PERMUTE, VIEW, CONVERT = "nv_tileas.permute", "nv_tileas.view", "nv_tileas.convert_layout"


@dataclass(frozen=True, eq=False)
class _Link:
    """An operation between the stage and the dot, the dimension of its tile that is k, and the layout of a k step's
    tile.
    """

    op: TableOp
    dim: int
    layout: LinearLayout

    @property
    def type(self) -> TensorType:
        """The type of a k step's tile."""
        whole = tile_type(self.op.results[0])
        return TensorType(whole.element_type, self.layout.shape, LayoutAttr(self.layout))


@dataclass(frozen=True, eq=False)
class KStepOperand:
    """``links``: the local_load of the stage first, then the operations that compute the operand."""

    links: tuple[_Link, ...]

    @property
    def stage_load(self) -> TableOp:
        """The local_load of the whole tile."""
        return self.links[0].op

    @property
    def ops(self) -> list[Operation]:
        return [link.op for link in self.links]

    @property
    def is_computed(self) -> bool:
        """Whether the elements are computed from those of the stage, for example converted."""
        return any(link.op.name not in (PERMUTE, VIEW) for link in self.links[1:])

    @property
    def step_registers(self) -> int:
        """Registers of a thread for the operand in one k step. Elements of less than 32 bits share registers."""
        last = self.links[-1]
        return -(-last.layout.num_registers * element_of(last.type).bits // 32)

    def read(self, step: int, values: Mapping[SSAValue, SSAValue], insert: Inserter) -> SSAValue:
        """Read the operand of one k step from the stage that ``values`` name."""
        first, *others = self.links
        starts = [0] * len(first.type.get_shape())
        starts[first.dim] = step * first.type.get_shape()[first.dim]
        operands = [values.get(value, value) for value in first.op.operands]
        current = insert(LocalLoadOp.make(operands, [first.type], starts=tuple(starts)))
        for link in others:
            current = insert(link.op.make([current], [link.type], dict(link.op.attributes)))
        return current


def k_step_operand(dot: TableOp, index: int, steps: int) -> KStepOperand | None:
    """An operand with a single use, split into ``steps`` k steps. None where it does not come from a stage, or where
    threads would hold parts of a step only.
    """
    value = dot.operands[index]
    links: list[_Link] = []
    dim = len(tile_type(value).get_shape()) - (1 if index == 0 else 2)
    while isinstance(op := value.owner, Operation) and op.parent is dot.parent and len(list(value.uses)) == 1:
        if (layout := _k_step_layout(value, dim, steps)) is None:
            return None
        links.insert(0, _Link(as_op(op), dim, layout))
        if op.name == LocalLoadOp.name:
            return KStepOperand(tuple(links))
        if op.name == CONVERT or not is_value_forwarding(op) or (before := _dim_before(as_op(op), dim)) is None:
            return None
        value, dim = op.operands[0], before
    return None


def _k_step_layout(tile: SSAValue, dim: int, steps: int) -> LinearLayout | None:
    """The layout of a k step's tile; None where threads would hold parts of steps only."""
    cut = layout_of(tile).slice_registers(dim, 0, tile_type(tile).get_shape()[dim] // steps)
    return None if cut is None else cut[0]


def _dim_before(link: TableOp, dim: int) -> int | None:
    """The dimension of its operand that becomes dimension ``dim`` of a link's result; None where it comes from several."""
    if link.name == PERMUTE:
        return link.permutation[dim]
    before, after = (tuple(tile_type(value).get_shape()) for value in (link.operands[0], link.results[0]))
    if link.name != VIEW or before == after:
        return dim
    outside = prod(after[:dim])
    return next((at for at, size in enumerate(before) if size == after[dim] and prod(before[:at]) == outside), None)
