"""Converts one operation of the public dialect: its values, types, attributes and regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...core.errors import Diagnostics, Unsupported
from ...ir.dialects.checked_cast import cast
from ...ir.dialects.cuda_tile.enums import EnumAttr
from ...ir.dialects.cuda_tile.location import source_location
from ...ir.dialects.fast_xdsl import append
from ...ir.dialects.nv_tileaa import ops
from ...ir.dialects.op_definition import TableOp
from .type_conversion import converted_type

# Attributes carried over by name, as strings or units.
ENUM_ATTRIBUTES = ("rounding_mode", "mode")
UNIT_ATTRIBUTES = ("flush_to_zero", "propagate_nan", "fast_acc", "saturating")
MEMORY_ATTRIBUTES = {"memory_ordering_semantics": "mem_semantic", "memory_scope": "mem_scope"}


Kind = type[Operation]
Operand = SSAValue | Sequence[SSAValue] | None  # one group


class Converter:
    """Walks the public module once, building the new one at the end of the same builtin module.

    ``handlers``: the conversion of each operation, by name without the dialect.
    """

    def __init__(self, handlers: Mapping[str, Handler]):
        self.handlers = handlers
        self.values: dict[SSAValue, SSAValue] = {}
        self.types: dict[Attribute, Attribute] = {}
        self.diagnostics = Diagnostics()

    # ---- types ---------------------------------------------------------------------------------
    def type(self, source: Attribute) -> Attribute:
        """The converted type."""
        if (known := self.types.get(source)) is None:
            known = self.types[source] = converted_type(source, self.type)
        return known

    def value(self, source: SSAValue) -> SSAValue:
        """The converted value."""
        return self.values[source]

    # ---- operations ----------------------------------------------------------------------------
    def convert(self, op: Operation, block: Block) -> None:
        """Append the conversion of an operation to a block; an error is kept until all operations are converted."""
        name = op.name.removeprefix("cuda_tile.")
        handler = self.handlers.get(name, refuse)
        try:
            handler(self, op, block)
        except Unsupported as error:
            error.location = error.location or source_location(op)
            self.diagnostics.add(error)
            self._poison(op)

    def _poison(self, op: Operation) -> None:
        """Map the results of a reported operation to placeholders, so that its users raise no further errors."""
        for result in op.results:
            self.values.setdefault(
                result, ops.CreateMemTokenOp.create(result_types=[self.type(result.type)]).results[0]
            )

    def emit(self, op: Operation, new: Operation, block: Block, *, bind: bool = True) -> Operation:
        """Add ``new``, the conversion of ``op``; its results replace those of ``op`` if ``bind``."""
        if (location := op.attributes.get("loc")) is not None:
            new.attributes["loc"] = location
        append(block, new)
        if bind:
            for old, result in zip(op.results, new.results):
                self.values[old] = result
        return new

    def build(
        self,
        op: Operation,
        block: Block,
        target: Kind,
        operands: Sequence[Operand],
        attributes: Mapping[str, Attribute] | None = None,
        types: Sequence[Attribute] | None = None,
    ) -> Operation:
        """Add a ``target`` in place of ``op``, with its results' types unless others are given."""
        result_types = [self.type(result.type) for result in op.results] if types is None else types
        return self.emit(op, make(target, operands, result_types, attributes), block, bind=types is None)

    def region(self, source: Region) -> Region:
        """The converted region."""
        if not source.blocks:
            return Region(Block([], arg_types=[]))
        old = source.blocks[0]
        new = Block(arg_types=[self.type(arg.type) for arg in old.args])
        for before, after in zip(old.args, new.args):
            self.values[before] = after
        for op in old.ops:
            self.convert(op, new)
        return Region(new)


def refuse(cv: Converter, op: Operation, block: Block) -> None:
    """The diagnostic for an operation without a row."""
    raise Unsupported(
        "operation-unsupported",
        f"operation {op.name.removeprefix('cuda_tile.')} ({_types_text(op)}) has no lowering yet",
        remedy="see docs/coverage.md for what is supported (convert_cudatile_to_tileaa.py has no row for it)",
    )


def _types_text(op: Operation) -> str:
    return ", ".join(str(operand.type) for operand in op.operands) or "no operands"


def same_operand_rules(rows: Mapping[str, type[Operation]]) -> dict[str, Handler]:
    """Handlers for operations that become others with the same operands."""

    def convert(cv: Converter, op: Operation, block: Block) -> None:
        target = rows[op.name.removeprefix("cuda_tile.")]
        cv.build(op, block, target, operands_of(cv, op), attributes_of(op))

    return dict.fromkeys(rows, convert)


def make(
    target: type[Operation],
    operands: Sequence[Operand],
    result_types: Sequence[Attribute],
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """An operation of a table row or of an xDSL dialect from flat operands."""
    if issubclass(target, TableOp):
        return target.make(operands, result_types, attributes)
    values = [operand for operand in operands if isinstance(operand, SSAValue)]
    return target.create(operands=values, result_types=result_types, attributes=dict(attributes or {}))


def operands_of(cv: Converter, op: Operation) -> list[SSAValue]:
    """The converted operands."""
    return [cv.value(operand) for operand in op.operands]


def optional(cv: Converter, value: SSAValue | None) -> SSAValue | None:
    """The converted operand; None where it is absent."""
    return None if value is None else cv.value(value)


def enum_text(attribute: Attribute) -> str:
    """The public spelling of an enumeration attribute."""
    return str(cast(EnumAttr, attribute).data.value)


def is_signed(op: Operation, key: str = "signedness") -> bool:
    """Whether a signedness attribute is "signed"."""
    return enum_text(op.properties[key]) == "signed"


def attributes_of(op: Operation) -> dict[str, Attribute]:
    """The attributes of an operation that are carried over, under their new names."""
    carried: dict[str, Attribute] = {}
    for key, value in op.properties.items():
        if key in ENUM_ATTRIBUTES:
            carried[key] = StringAttr(enum_text(value))
        elif key in MEMORY_ATTRIBUTES:
            carried[MEMORY_ATTRIBUTES[key]] = StringAttr(enum_text(value))
        elif key in UNIT_ATTRIBUTES:
            carried[key] = UnitAttr()
        elif key == "optimization_hints":
            carried["optimization_hints"] = value
    return carried


# A handler accepts the operation class of its key.
Handler = Callable[[Converter, Any, Block], None]
