"""Base of cuda_tile operations: a fast definition decorator and the checks of verifiers.

xDSL's generic verifier walks constraint objects, which costs more than reading the operation. So an operation declares
its operands, results and properties with IRDL (for accessors, text and documentation), and its rules as a tuple
``CHECKS`` of functions that accept the operation and raise VerifyException. ``define`` combines both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from enum import Enum
from typing import ClassVar, NoReturn, Self, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OpDef,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    OptResultDef,
    ResultDef,
    VarOperandDef,
    VarResultDef,
    irdl_op_definition,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..fast_xdsl import item, operands_of
from ..lazy_definitions import on_definition
from .enums import EnumAttr
from .types import PointerType, TileType

Check = Callable[[Operation], None]  # of any operation; checks of a class's own fields accept that class


class TileOperation(IRDLOperation):
    """Base of the operations of cuda_tile."""

    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = ()

    def __post_init__(self):
        """Do not set defaults of properties on creation: the dialect defines the meaning of absence."""


class PureOperation(TileOperation):
    """An operation that neither reads nor writes memory."""

    traits = traits_def(Pure())


SEGMENTED = (AttrSizedOperandSegments(as_property=True),)
SEGMENTS = AttrSizedOperandSegments(as_property=True).attribute_name

C = TypeVar("C", bound=TileOperation)
OPERATIONS: list[type[TileOperation]] = []  # all classes of ``define``


def _count_range(definitions, variadic, optional) -> tuple[int, int | None]:
    least = sum(not isinstance(definition, (variadic, optional)) for _, definition in definitions)
    if any(isinstance(definition, variadic) and not isinstance(definition, optional) for _, definition in definitions):
        return least, None
    return least, len(definitions)


def _out_of_range(count: int, limits: tuple[int, int | None]) -> bool:
    return count < limits[0] or (limits[1] is not None and count > limits[1])


def _read_by_position(cls: type[Operation], definition: OpDef) -> None:
    """Accessors by position for operands and results before all optional ones: IRDL's accessors search each time."""
    for kind, rows in ((OperandDef, definition.operands), (ResultDef, definition.results)):
        for index, (name, row) in enumerate(rows):
            if row.__class__ is not kind:
                break
            setattr(cls, name, _operand(index) if kind is OperandDef else _result(index))


def _operand(index: int) -> property:
    return property(lambda op: item(operands_of(op), index))


def _result(index: int) -> property:
    return property(lambda op: item(op.results, index))


def defined_in(module: str) -> tuple[type[TileOperation], ...]:
    """The operations of one module."""
    return tuple(operation for operation in OPERATIONS if operation.__module__ == module)


def define_row(name: str, kind: type[C], meaning: str) -> type[C]:
    """The operation ``cuda_tile.<name>`` without members beyond its base class."""
    # As in namedtuple: the operation belongs to the calling module.
    module = sys._getframe(1).f_globals["__name__"]
    body = {"__doc__": meaning, "__module__": module, "name": f"cuda_tile.{name}"}
    class_name = "".join(word.capitalize() for word in name.split("_"))
    return define(type(f"{class_name}Op", (kind,), body))


def define(cls: type[C]) -> type[C]:
    """Decorate an operation class: IRDL accessors, and a verifier of counts, properties, traits and CHECKS."""
    cls = irdl_op_definition(cls)
    on_definition(cls, _complete)
    OPERATIONS.append(cls)
    return cls


def _complete(cls: type[TileOperation]) -> None:
    definition = cls.get_irdl_definition()
    _read_by_position(cls, definition)
    operands = _count_range(definition.operands, VarOperandDef, OptOperandDef)
    results = _count_range(definition.results, VarResultDef, OptResultDef)
    regions = len(definition.regions)
    needed = [name for name, prop in definition.properties.items() if not isinstance(prop, OptPropertyDef)]
    kinds = {name: getattr(prop.constr, "attr", None) for name, prop in definition.properties.items()}
    traits = tuple(definition.traits)
    checks = tuple(check for base in reversed(cls.__mro__) for check in base.__dict__.get("CHECKS", ()))

    def verify_(self: Operation) -> None:
        if _out_of_range(len(operands_of(self)), operands):
            raise VerifyException(f"{self.name}: wrong number of operands: {len(operands_of(self))}")
        if _out_of_range(len(self.results), results):
            raise VerifyException(f"{self.name}: wrong number of results: {len(self.results)}")
        if len(self.regions) != regions:
            raise VerifyException(f"{self.name}: expected {regions} regions, got {len(self.regions)}")
        properties = self.properties
        for name in needed:
            if name not in properties:
                raise VerifyException(f"{self.name}: the attribute '{name}' is missing")
        for name, value in properties.items():
            kind = kinds.get(name, False)
            if kind is False or (kind is not None and not isinstance(value, kind)):
                raise VerifyException(f"{self.name}: unexpected attribute '{name}' = {value}")
        for trait in traits:
            trait.verify(self)
        try:
            for check in checks:
                check(self)
        except VerifyException as problem:
            raise InvalidInside(f"{self.name}: {problem}", invalid_op(problem, self)) from None

    cls.verify_ = verify_  # type: ignore[method-assign]  # the class is still being made


def _type(op: object, name: str) -> Attribute:
    return getattr(op, name).type


def same_types(*names: str) -> Check:
    """All the named operands and results have one type."""
    first, rest = names[0], names[1:]

    def check(op: Operation) -> None:
        expected = getattr(op, first).type
        for name in rest:
            actual = getattr(op, name).type
            if actual is not expected and actual != expected:
                raise VerifyException(f"'{first}' and '{name}' must have the same type, got {expected} and {actual}")

    return check


def same_shapes(*names: str) -> Check:
    """All the named operands and results are tiles of one shape."""
    first, rest = names[0], names[1:]

    def check(op: Operation) -> None:
        expected = tile(op, first).shape
        for name in rest:
            if tile(op, name).shape != expected:
                raise VerifyException(
                    f"'{first}' and '{name}' must have the same shape, got {_type(op, first)} and {_type(op, name)}"
                )

    return check


def same_ranks(*names: str) -> Check:
    """All the named operands and results are tiles of one rank."""
    first, rest = names[0], names[1:]

    def check(op: Operation) -> None:
        expected = tile(op, first).rank
        for name in rest:
            if tile(op, name).rank != expected:
                raise VerifyException(
                    f"'{first}' and '{name}' must have the same rank, got {_type(op, first)} and {_type(op, name)}"
                )

    return check


def same_elements(*names: str) -> Check:
    """All the named operands and results are tiles of one element type."""
    first, rest = names[0], names[1:]

    def check(op: Operation) -> None:
        expected = tile(op, first).element_type
        for name in rest:
            if tile(op, name).element_type != expected:
                raise VerifyException(
                    f"'{first}' and '{name}' must have the same element type, "
                    f"got {_type(op, first)} and {_type(op, name)}"
                )

    return check


def elements(allowed: Iterable[Attribute], *names: str) -> Check:
    """The named operands and results are tiles whose element type is one of ``allowed``."""
    choices = frozenset(allowed)

    def check(op: Operation) -> None:
        for name in names:
            value = getattr(op, name)
            if value is not None and tile_type(value, name).element_type not in choices:
                listed = ", ".join(sorted(map(str, choices)))
                raise VerifyException(f"'{name}' must be a tile of {listed}, got {value.type}")

    return check


def tile_type(value: SSAValue, name: str) -> TileType:
    """The type of a value that must be a tile."""
    if not isinstance(value.type, TileType):
        raise VerifyException(f"'{name}' must be a tile, got {value.type}")
    return value.type


def tile(op: object, name: str) -> TileType:
    """The type of a named operand or result that must be a tile."""
    return tile_type(getattr(op, name), name)


def pointer_type(value: SSAValue, name: str) -> PointerType:
    """The type of the elements of a value that must be a tile of pointers."""
    element_type = tile_type(value, name).element_type
    if not isinstance(element_type, PointerType):
        raise VerifyException(f"'{name}' must be a tile of pointers, got {value.type}")
    return element_type


def tiles(*names: str) -> Check:
    """The named operands and results are tiles."""

    def check(op: Operation) -> None:
        for name in names:
            tile(op, name)

    return check


def scalars(*names: str) -> Check:
    """The named operands and results (variadic ones entirely) are tiles of rank 0."""

    def check(op: Operation) -> None:
        for name in names:
            values = getattr(op, name)
            for value in (values,) if isinstance(values, SSAValue) else values:
                if tile_type(value, name).shape:
                    raise VerifyException(f"'{name}' must be a scalar tile, got {value.type}")

    return check


def of_type(kind: type[Attribute], *names: str) -> Check:
    """The named operands and results, where present, are of a type class."""

    def check(op: Operation) -> None:
        for name in names:
            value = getattr(op, name)
            if value is not None and not isinstance(value.type, kind):
                raise VerifyException(f"'{name}' must be a {kind.name.removeprefix('cuda_tile.')}, got {value.type}")

    return check


def pointers(*names: str) -> Check:
    """The named operands and results are tiles of pointers."""

    def check(op: Operation) -> None:
        for name in names:
            if not tile(op, name).is_pointer:
                raise VerifyException(f"'{name}' must be a tile of pointers, got {_type(op, name)}")

    return check


def one_of(name: str, *allowed: Enum) -> Check:
    """An enumeration attribute, where present, has one of the listed members."""

    def check(op: Operation) -> None:
        value = op.properties.get(name)
        if isinstance(value, EnumAttr) and value.data not in allowed:
            listed = ", ".join(member.value for member in allowed)
            raise VerifyException(f"'{name}' must be one of {listed}, got {value.data.value}")

    return check


class InvalidInside(VerifyException):
    """A rule of an operation that ``op``, inside of it, violates."""

    def __init__(self, message: str, op: Operation):
        super().__init__(message)
        self.op = op


def fail(message: str, inside: Operation | None = None) -> NoReturn:
    """Reject the operation, or one inside of it."""
    raise VerifyException(message) if inside is None else InvalidInside(message, inside)


def invalid_op(problem: VerifyException, op: Operation) -> Operation:
    """The operation that violates the rule: ``op``, which was verified, or one inside of it."""
    return problem.op if isinstance(problem, InvalidInside) else op
