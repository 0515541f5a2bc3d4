"""Ranges of integer tiles that are constants, or views of constants."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from .attrs import DenseConstantAttr

MAX_HOPS = 16  # maximal length of a chain to follow: following whole chains for each user would be quadratic

# Operations whose result has the values of their first operand.
_VALUE_FORWARDING = ("cuda_tile.assume", "cuda_tile.broadcast", "cuda_tile.reshape")


def constant_range(value: SSAValue) -> tuple[int, int] | None:
    """The minimum and maximum of a constant integer tile; None if it is not constant."""
    for _ in range(MAX_HOPS):
        op = value.owner
        if not isinstance(op, Operation):
            return None
        if op.name == "cuda_tile.constant":
            return _range_of(op.properties.get("value"))
        if op.name not in _VALUE_FORWARDING:
            return None
        value = op.operands[0]
    return None


def _range_of(constant: Attribute | None) -> tuple[int, int] | None:
    if not isinstance(constant, DenseConstantAttr):
        return None
    if constant.is_splat:
        number = int(constant.splat_scalar())
        return number, number
    elements = constant.as_array()
    return int(elements.min()), int(elements.max())
