"""Table-driven conversion between dialects: a rule for each operation, a row for each type, all failures together.

A rule is a function of a builder and an operation. A builder that replaces operations in place is a ``Rewriter``;
one that makes a second program has the values of the first (``tilebc_to_tileaa``, ``tileas_to_ll/emission``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from xdsl.dialects.builtin import FileLineColLoc, FunctionType
from xdsl.dialects.llvm import LLVMFunctionType
from xdsl.ir import Attribute, Operation

from ...core.errors import Diagnostics, InternalError, Location, Unsupported
from ...ir.dialects.cuda_tile.location import source_location

Rule = Callable[..., Any]
# A function of the converter and a type of the class of its key.
TypeRow = Callable[[Any, Any], Attribute]
Decorated = TypeVar("Decorated", bound=Rule)


def illegal(builder: Any, op: Operation) -> None:
    """The rule of an operation that a conversion does not know."""
    raise illegal_operation(op, "no rule has it as its root")


class RuleTable(dict[str, Rule]):
    """The rules of a conversion by operation name; an operation has one.

    ``dialect`` is that of operations which are given by their names alone, ``otherwise`` the rule of all others.
    """

    def __init__(self, *tables: Mapping[str, Rule], dialect: str = "", otherwise: Rule = illegal):
        super().__init__()
        self.dialect, self.otherwise = dialect, otherwise
        for table in tables:
            self.add(table)

    def __missing__(self, name: str) -> Rule:
        return self.otherwise

    def add(self, rules: Mapping[str, Rule]) -> None:
        """Add rules of operations that have none yet."""
        if twice := self.keys() & rules.keys():
            raise InternalError("rule-twice", f"{', '.join(sorted(twice))} has two conversions")
        self.update(rules)

    def rule(self, *ops: type[Operation] | str) -> Callable[[Decorated], Decorated]:
        """A decorator: the function is the rule of these operations."""

        def register(function: Decorated) -> Decorated:
            self.add({op.name if isinstance(op, type) else f"{self.dialect}.{op}": function for op in ops})
            return function

        return register


def apply_rule(rule: Rule, builder: Any, op: Operation, failures: Diagnostics) -> bool:
    """Whether a rule converts an operation; the reason why it does not is added to ``failures``, with the source line."""
    try:
        rule(builder, op)
    except Unsupported as error:
        error.location = error.location or source_location(op)
        failures.add(error)
        return False
    return True


def apply_rules(ops: Iterable[Operation], rules: Mapping[str, Rule], builder: Callable[[Operation], Any]) -> None:
    """Apply the rule of each operation that has one, in order; report all failures together.

    ``builder`` makes the first argument of a rule for its operation.
    """
    failures = Diagnostics()
    for op in ops:
        if (rule := rules.get(op.name)) is not None:
            apply_rule(rule, builder(op), op, failures)
    failures.raise_if_any()


def refuse(ops: Iterable[Operation], conversion: str) -> None:
    """Report the operations that a conversion should have removed, if there are any."""
    failures = Diagnostics()
    for op in ops:
        failures.add(illegal_operation(op, f"no rewrite of {conversion} has it as its root"))
    failures.raise_if_any()


def illegal_operation(op: Operation, remedy: str) -> Unsupported:
    """MLIR's diagnostic about an operation that no rule converts."""
    message = f"failed to legalize operation '{op.name}' that was explicitly marked illegal"
    return Unsupported("illegal-operation", message, location=location_of(op), remedy=remedy)


def location_of(op: Operation) -> Location | None:
    """The source location of an operation."""
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return Location(location.filename.data, location.line.data, location.column.data)


class TypeConverter:
    """Converts types by ``rows``, by the type's name."""

    rows: ClassVar[Mapping[str, TypeRow]]

    def convert(self, type: Attribute) -> Attribute:
        """The converted type."""
        row = self.rows.get(type.name)
        return self.without_row(type) if row is None else row(self, type)

    def without_row(self, type: Attribute) -> Attribute:
        """The converted type of one without a row: unchanged."""
        return type


def converted_signature(type: Attribute, convert: Callable[[Attribute], Attribute]) -> Attribute:
    """A function's type with converted arguments and results."""
    if isinstance(type, LLVMFunctionType):
        return LLVMFunctionType([*map(convert, type.inputs)], convert(type.output), type.is_variadic)
    if isinstance(type, FunctionType):
        return FunctionType.from_lists([*map(convert, type.inputs)], [*map(convert, type.outputs)])
    return type


def signature_types(op: Operation) -> Sequence[Attribute]:
    """The argument and result types of a function; none for other operations."""
    type = op.properties.get("function_type")
    if isinstance(type, FunctionType):
        return (*type.inputs, *type.outputs)
    return (*type.inputs, type.output) if isinstance(type, LLVMFunctionType) else ()
