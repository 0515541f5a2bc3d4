"""xDSL's definitions of operations and attributes, evaluated at first use.

``irdl_op_definition`` derives constraints and accessors from a class, and parses its assembly format;
``irdl_attr_definition`` evaluates annotations. The dialects define 600 classes, of which a kernel uses 60, and prints few: a
format is parsed when it is first printed or parsed with. Faults of a class are reported when it is used, not when it is defined.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import xdsl.irdl
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import AttrConstraint, BaseAttr, IRDLOperation, ParamAttrDef, ParamDef, operations
from xdsl.traits import OpTrait

Defined = TypeVar("Defined", bound=type[IRDLOperation])

_define = xdsl.irdl.irdl_op_definition
_parameters = ParamAttrDef.from_pyrdl
_relax = BaseAttr.relax_constraint
# Class -> its own values of the pending names.
_pending: dict[type, dict[str, object]] = {}
_NOTHING = object()
_completions: dict[type, Callable[[Any], None]] = {}
# Names that xDSL's decorator adds besides accessors, and those that it adds for an assembly format.
_ADDED, _OF_FORMAT = ("get_irdl_definition", "verify_"), ("parse", "print")


def enable_lazy_definitions() -> None:
    """Define classes lazily from now on."""
    for module in (xdsl.irdl, operations):
        vars(module)["irdl_op_definition"] = define_operation
    ParamAttrDef.from_pyrdl = LazyParameters  # type: ignore[method-assign,assignment]
    BaseAttr.relax_constraint = _relax_base  # type: ignore[method-assign,assignment]
    for base in (Attribute, Operation, OpTrait, SSAValue):
        base.__subclasshook__ = classmethod(_is_below)  # type: ignore[method-assign,assignment]


def _relax_base(own: BaseAttr, other: AttrConstraint) -> AttrConstraint | None:
    """``BaseAttr.relax_constraint`` without a comparison of dataclasses: the imports of the dialects ask nine thousand times."""
    if other.__class__ is BaseAttr:
        return own if own.attr == other.attr else None
    return _relax(own, other)


def _is_below(base: type, kind: type) -> bool:
    """Whether ``kind`` is derived from ``base``. IR classes are never registered with ABC, whose issubclass would call
    every subclass of ``base`` before it returns False.
    """
    return base in kind.__mro__


class LazyParameters(ParamAttrDef):
    """The parameters of an attribute class."""

    def __init__(self, kind: type[ParametrizedAttribute]):
        self.name, self.kind = kind.name, kind

    @cached_property
    def parameters(self) -> list[tuple[str, ParamDef]]:  # type: ignore[override]
        """The constraint of each; raises PyRDLAttrDefinitionError."""
        return _parameters(self.kind).parameters


class _PendingAccessor:
    """A placeholder for ``name`` until the operation class ``owner`` is defined."""

    def __init__(self, owner: type[IRDLOperation], name: str):
        self.owner, self.name = owner, name

    def __get__(self, op: Operation | None, kind: type):
        _finish_definition(self.owner)
        return getattr(kind if op is None else op, self.name)

    def __set__(self, op: Operation, value: object) -> None:
        _finish_definition(self.owner)
        setattr(op, self.name, value)


def define_operation(kind: Defined) -> Defined:
    """``irdl_op_definition``, when a name that it adds is first used."""
    names = [*_ADDED, *_declared(kind)]
    _pending[kind] = {name: vars(kind).get(name, _NOTHING) for name in names}
    for name in names:
        setattr(kind, name, _PendingAccessor(kind, name))
    return kind


def on_definition(kind: Defined, complete: Callable[[Defined], None]) -> None:
    """Call ``complete`` with an operation class once it is defined, possibly at once."""
    if kind in _pending:
        _completions[kind] = complete
    else:
        complete(kind)


def _declared(kind: type[IRDLOperation]) -> list[str]:
    """The names under which a class and its bases declare operands, results, attributes, regions and successors, and
    the names derived from its traits and format.
    """
    above = [vars(base) for base in kind.__mro__[: kind.__mro__.index(IRDLOperation)]]
    found = {name for space in above for name, value in space.items() if type(value).__module__ == operations.__name__}
    if sum("traits" in space for space in above) != 1:
        found.add("traits")
    if kind.assembly_format is not None:
        found.update(_OF_FORMAT)
    return [*found]


def _finish_definition(kind: type[IRDLOperation]) -> None:
    """Define a class, after its pending bases."""
    for base in reversed(kind.__mro__):
        for name, value in _pending.get(base, {}).items():
            if value is _NOTHING:
                delattr(base, name)
            else:
                setattr(base, name, value)
        if _pending.pop(base, None) is not None:
            _define_except_format(base)
        if (complete := _completions.pop(base, None)) is not None:
            complete(base)


def _define_except_format(kind: type[IRDLOperation]) -> None:
    """Define a class; its assembly format, if it has one, when an operation is printed or parsed."""
    if (text := kind.assembly_format) is None:
        _define(kind)
        return
    own = vars(kind).get("assembly_format", _NOTHING)
    kind.assembly_format = None
    _define(kind)
    if own is _NOTHING:
        del kind.assembly_format
    else:
        kind.assembly_format = text
    kind.get_irdl_definition().assembly_format = text
    for name in _OF_FORMAT:
        setattr(kind, name, _PendingFormat(kind, name))


class _PendingFormat:
    """A placeholder for ``name``, "parse" or "print", of the defined class ``owner`` until its format is parsed."""

    def __init__(self, owner: type[IRDLOperation], name: str):
        self.owner, self.name = owner, name

    def __get__(self, op: Operation | None, kind: type):
        accessors = operations.get_accessors_from_op_def(self.owner.get_irdl_definition(), None)
        for name in _OF_FORMAT:
            setattr(self.owner, name, accessors[name])
        # The owner's: a derived class may have one of its own, and call this one.
        return accessors[self.name].__get__(op, kind)
