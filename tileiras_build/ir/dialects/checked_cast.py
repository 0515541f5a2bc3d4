"""Casts of IR objects to the class that the operation holding them guarantees.

The functions raise InternalError[ir-shape] for an object of another class.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Attribute, SSAValue

from ...core.errors import InternalError

Kind = TypeVar("Kind")
KindOfType = TypeVar("KindOfType", bound=Attribute)


def cast(kind: type[Kind], found: object) -> Kind:
    """``found`` as a ``kind``."""
    if isinstance(found, kind):
        return found
    shown = f"the attribute {found}" if isinstance(found, Attribute) else type(found).__name__
    raise InternalError("ir-shape", f"expected {kind.__name__}, found {shown}")


def type_as(value: SSAValue, kind: type[KindOfType]) -> KindOfType:
    """The type of a value as a ``kind``."""
    return cast(kind, value.type)
