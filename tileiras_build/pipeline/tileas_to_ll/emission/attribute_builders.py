"""Convert Python values to attributes of operations, with caching."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from functools import cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute

# The value of an attribute; None and False omit it.
AttributeInput = bool | int | str | tuple[int, ...] | Attribute
Plain = AttributeInput | None
PLAIN = (int, str, tuple)


@cache
def field_position(index: int) -> Attribute:
    """The position of a field in a struct."""
    return DenseArrayBase.from_list(i64, [index])


@cache
def _attribute(type: builtins.type, value: bool | int | str | tuple[int, ...]) -> Attribute:
    """Cached; ``type`` distinguishes True from 1."""
    if value is True:
        return UnitAttr()
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    return StringAttr(value) if isinstance(value, str) else DenseArrayBase.from_list(i64, value)


def attribute(value: AttributeInput) -> Attribute:
    """A Python value as the attribute of an instruction."""
    if not isinstance(value, PLAIN):
        return value
    kind: builtins.type = value.__class__
    return _attribute(kind, value)


def attributes_of(values: Mapping[str, Plain]) -> dict[str, Attribute]:
    """The attributes of an instruction; False and None are omitted."""
    if not values:
        return {}
    return {key: attribute(value) for key, value in values.items() if value is not False and value is not None}
