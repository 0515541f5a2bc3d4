"""Kinds of attributes that operation definitions declare: the accepted attributes, and their plain values.

    ScanOp = define("nv_tileaa.scan", …, attributes={"axis": I32, "reverse": FLAG})

defines ``op.axis``, an int, and ``op.reverse``, a bool; both can be assigned. A kind is required by default (except
flags); ``I32.optional()`` reads as None if it is absent, ``TEXT.optional("weak")`` as its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from keyword import iskeyword
from typing import Generic, TypeGuard, TypeVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, Data

A = TypeVar("A", bound=Attribute)
P = TypeVar("P")
N = TypeVar("N", int, bool)


@dataclass(frozen=True)
class AttributeKind(Generic[A, P]):
    """One kind: ``accepts`` tests an attribute, ``read`` returns its plain value, ``make`` is the inverse.

    ``plain`` is the class of plain values.
    """

    text: str
    plain: type
    accepts: Callable[[Attribute], TypeGuard[A]]
    read: Callable[[A], P]
    make: Callable[[P], Attribute]
    required: bool = True
    default: P | None = None

    def optional(self, default: P | None = None) -> AttributeKind[A, P]:
        """The kind for an attribute that may be absent, which then reads as ``default``."""
        return replace(self, required=False, default=default)


Declared = dict[str, AttributeKind]


def _integer(type: IntegerType) -> AttributeKind[IntegerAttr, int]:
    def accepts(attribute: Attribute) -> TypeGuard[IntegerAttr]:
        return isinstance(attribute, IntegerAttr) and attribute.type == type

    @lru_cache(maxsize=4096, typed=True)
    def make(value: int) -> IntegerAttr:
        return IntegerAttr(value, type)

    return AttributeKind(f"an {type}", int, accepts, lambda attribute: attribute.value.data, make)


def _array(type: IntegerType, read: Callable[[int], N]) -> AttributeKind[DenseArrayBase[IntegerType], Sequence[N]]:
    def accepts(attribute: Attribute) -> TypeGuard[DenseArrayBase[IntegerType]]:
        return isinstance(attribute, DenseArrayBase) and attribute.elt_type == type

    def values(attribute: DenseArrayBase[IntegerType]) -> Sequence[N]:
        return tuple(map(read, attribute.get_values()))

    @lru_cache(maxsize=4096)
    def made(values: tuple[N, ...]) -> DenseArrayBase[IntegerType]:
        return DenseArrayBase.from_list(type, values)

    def make(values: Sequence[N]) -> DenseArrayBase[IntegerType]:
        return made(tuple(values))

    return AttributeKind(f"an array of {type}", Sequence, accepts, values, make)


def data_kind(text: str, attribute: type[Data[P]], plain: type[P]) -> AttributeKind[Data[P], P]:
    """The kind of an attribute class that holds one Python object, which is its plain value."""
    return AttributeKind(text, plain, _instances(attribute), lambda found: found.data, attribute)


def named_kind(text: str, *names: str) -> AttributeKind[Attribute, Attribute]:
    """The kind of attributes with these names in MLIR; their plain value is the attribute itself."""

    def accepts(found: Attribute) -> TypeGuard[Attribute]:
        return found.name in names

    return AttributeKind(text, Attribute, accepts, lambda found: found, lambda value: value)


def _instances(kind: type[A]) -> Callable[[Attribute], TypeGuard[A]]:
    def accepts(found: Attribute) -> TypeGuard[A]:
        return isinstance(found, kind)

    return accepts


I32, I64 = _integer(i32), _integer(i64)
I32S, I64S, BOOLS = _array(i32, int), _array(i64, int), _array(i1, bool)
TEXT = data_kind("a string", StringAttr, str)
FLAG: AttributeKind[UnitAttr, bool] = AttributeKind(
    "a unit",
    bool,
    _instances(UnitAttr),
    lambda attribute: True,
    lambda value: UnitAttr(),
    False,
    False,
)

# Attributes that any operation may have: its source location.
ALWAYS_ALLOWED = frozenset({"loc"})


def accessor_name(attribute: str) -> str:
    """The Python name of an attribute: without a dialect's prefix, and with an underscore after a keyword of Python."""
    name = attribute.rpartition(".")[2]
    return f"{name}_" if iskeyword(name) else name


def attribute_fault(
    operation: str, attributes: Mapping[str, Attribute], declared: Mapping[str, AttributeKind]
) -> str | None:
    """The fault of the attributes of an operation; None if they are valid."""
    for name, attribute in attributes.items():
        kind = declared.get(name)
        if kind is None:
            if name not in ALWAYS_ALLOWED:
                return f"{operation} has no attribute {name}"
        elif not kind.accepts(attribute):
            return f"{operation} takes {kind.text} as its attribute {name}, got {attribute}"
    missing = [name for name, kind in declared.items() if kind.required and name not in attributes]
    return f"{operation} needs its attribute {missing[0]}" if missing else None
