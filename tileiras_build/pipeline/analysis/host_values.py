"""Integers and addresses that the host knows before the launch: parameters, constants, and what follows from them by shifts."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, SSAValue

from ...ir.casting import defining_op
from ...ir.dialects.op_traits import is_function

# Host expressions of integers (``host_value``).
HostInt = dict[str, int] | int | None
FORWARDING_OPS = ("nv_tileas.assume", "nv_tileaa.assume", "nv_tileas.bitcast", "builtin.unrealized_conversion_cast")


def host_value(value: SSAValue) -> HostInt:
    """The host expression of a scalar: ``{"param": i}``, also shifted right (``over``), or a constant; None if only the
    kernel can compute it.
    """
    shifted = 0
    while not isinstance(value, BlockArgument):
        op = defining_op(value)
        if op.name == "arith.shrsi" and isinstance(bits := host_value(op.operands[1]), int):
            shifted, value = shifted + bits, op.operands[0]
            continue
        if op.name == "arith.constant":
            constant = op.properties["value"]
            return constant.value.data >> shifted if isinstance(constant, IntegerAttr) else None
        if op.name not in FORWARDING_OPS:
            return None
        value = op.operands[0]
    parent = value.block.parent_op()
    is_parameter = parent is not None and is_function(parent)
    if not is_parameter:
        return None
    return {"param": value.index} | ({"over": 1 << shifted} if shifted else {})
