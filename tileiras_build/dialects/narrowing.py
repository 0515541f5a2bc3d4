"""Types and attributes by their class, where the operation that holds them says which that is."""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Attribute, SSAValue

from ..errors import InternalError

A = TypeVar("A", bound=Attribute)


def narrowed(attribute: Attribute | None, kind: type[A]) -> A:
    """An attribute that must be of a class; raises InternalError where it is not."""
    if isinstance(attribute, kind):
        return attribute
    raise InternalError("attribute-class", f"expected an attribute {kind.__name__}, got {attribute}")


def type_of(value: SSAValue, kind: type[A]) -> A:
    """The type of a value, which must be of a class; raises InternalError where it is not."""
    return narrowed(value.type, kind)
