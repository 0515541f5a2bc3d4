"""Set layouts in the types of values, and insert conversions where operations need others."""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import cast, defining_op, parent_block
from ....ir.dialects.cute import layout_of
from ....ir.dialects.fast_xdsl import set_type
from ....ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ....ir.dialects.op_definition import location_of
from ....ir.dialects.op_traits import is_rematerializable
from ....ir.layouts import LinearLayout
from ...analysis.op_queries import ELEMENTWISE, element_kind, is_tile, tiles
from . import layout_inference_rules as rules
from .equivalence_classes import LayoutClasses
from .view_chain_layouts import with_layout

MAX_REMATERIALIZED = 16


class ConvertLayoutInserter:
    """Set the layouts of values, and give operations the operands they require: converted or rematerialized."""

    def __init__(self, classes: LayoutClasses):
        self.classes = classes
        self.conversions: dict[tuple[SSAValue, LinearLayout, Block], SSAValue] = {}

    def require(self, op: Operation, index: int, layout: LinearLayout, *, exact: bool = True) -> None:
        """Make operand ``index`` have ``layout``; if not ``exact``, registers may also be renamed or repeated."""
        value = op.operands[index]
        held = layout_of(value)
        if held == layout or (not exact and held.register_permutation(layout) is not None):
            return
        op.operands[index] = self.converted(value, layout, op)

    def converted(self, value: SSAValue, layout: LinearLayout, user: Operation) -> SSAValue:
        """``value`` in another layout: rematerialized if that is cheap, else converted near its user or definition."""
        anchor = _insertion_point(value, user)
        key = (value, layout, parent_block(anchor))
        if (known := self.conversions.get(key)) is not None and _dominates(known, user):
            return known
        budget = [MAX_REMATERIALIZED]
        if _can_rematerialize(value, budget):
            new = self._rematerialize(value, layout, user)
        else:
            op = ConvertLayoutOp.make([[value]], [with_layout(value.type, layout)])
            _copy_location(user, op)
            parent_block(anchor).insert_op_before(op, anchor)
            new = op.results[0]
        self.conversions[key] = new
        return new

    def _rematerialize(self, value: SSAValue, layout: LinearLayout, user: Operation) -> SSAValue:
        """Clone the operations that compute ``value``, in ``layout``."""
        if layout_of(value) == layout:
            return value
        op = defining_op(value)
        clone = type(op).create(
            operands=list(op.operands),
            result_types=[with_layout(value.type, layout)],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        for index, operand in enumerate(op.operands):
            if is_tile(operand):
                wanted = rules.operand_layout(op, operand, layout)
                held = layout_of(operand)
                if held != wanted and (element_kind(op) == ELEMENTWISE or held.register_permutation(wanted) is None):
                    clone.operands[index] = self._rematerialize(operand, wanted, user)
        parent_block(user).insert_op_before(clone, user)
        return clone.results[0]

    def produce(self, value: SSAValue, layout: LinearLayout) -> None:
        """Give the result ``value`` the layout ``layout``. Users that expect the layout of its class get a conversion."""
        wanted = self.classes.layout(value)
        set_layout(value, layout)
        if layout == wanted:
            return
        op = defining_op(value)
        conversion = ConvertLayoutOp.make([[value]], [with_layout(value.type, wanted)])
        _copy_location(op, conversion)
        parent_block(op).insert_op_after(conversion, op)
        value.replace_uses_with_if(conversion.results[0], lambda use: use.operation is not conversion)


def _insertion_point(value: SSAValue, user: Operation) -> Operation:
    """Where a conversion goes: before the user if the value is of the same block, else right after its definition."""
    owner = value.owner
    if isinstance(owner, Block):
        return user if owner is user.parent else (owner.first_op or user)
    if owner.parent is user.parent:
        return user
    return owner.next_op or user


def _dominates(value: SSAValue, user: Operation) -> bool:
    """Whether ``value`` is defined on every path to ``user``. A value of one loop is not visible in the next."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    place: Operation | None = user
    while place is not None and place.parent is not block:
        place = place.parent_op()
    return place is not None and (isinstance(owner, Block) or owner.is_before_in_block(place))


def _can_rematerialize(value: SSAValue, budget: list[int]) -> bool:
    budget[0] -= 1
    op = value.owner
    if budget[0] < 0 or not isinstance(op, Operation) or not is_rematerializable(op) or op.regions:
        return False
    return all(_can_rematerialize(operand, budget) for operand in tiles(op.operands))


def _copy_location(source: Operation, target: Operation) -> None:
    target.attributes |= location_of(source)


def set_layout(value: SSAValue, layout: LinearLayout) -> None:
    """Write a layout into a tile's type."""
    type = with_layout(value.type, layout)
    set_type(value, type)
    if isinstance(value.owner, ConstantOp):
        # The elements' type is the result's: text has one for both.
        elements = cast(DenseIntOrFPElementsAttr, value.owner.properties["value"])
        value.owner.properties["value"] = DenseIntOrFPElementsAttr(type, elements.data)
