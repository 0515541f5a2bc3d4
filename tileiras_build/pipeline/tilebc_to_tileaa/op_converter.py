"""Converts one operation of the public dialect: its values, types, attributes and regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...core.errors import Diagnostics, Unsupported
from ...ir.dialects import arith
from ...ir.dialects.checked_cast import cast
from ...ir.dialects.cuda_tile.enums import EnumAttr
from ...ir.dialects.fast_xdsl import append
from ...ir.dialects.nv_tileaa import ops
from ...ir.dialects.op_definition import TableOp, location_of
from ..rewriting.dialect_conversion import Rule, RuleTable, apply_rule
from ..rewriting.folding_builder import FoldingBuilder
from .type_conversion import TileTypeConverter

# Attributes carried over by name, as strings or units.
ENUM_ATTRIBUTES = ("rounding_mode", "mode")
UNIT_ATTRIBUTES = ("flush_to_zero", "propagate_nan", "fast_acc", "saturating")
MEMORY_ATTRIBUTES = {"memory_ordering_semantics": "mem_semantic", "memory_scope": "mem_scope"}


Kind = type[Operation]
Operand = SSAValue | Sequence[SSAValue] | None  # one group


class Converter(FoldingBuilder):
    """Walks the public module once, building the new one at the end of the same builtin module.

    ``rules``: the conversion of each operation; ``op`` is the current one, ``block`` where its conversion is added.
    """

    constants = arith.ConstantOp

    def __init__(self, rules: RuleTable):
        self.rules = rules
        self.values: dict[SSAValue, SSAValue] = {}
        self.type = TileTypeConverter().convert
        self.diagnostics = Diagnostics()

    # ---- values --------------------------------------------------------------------------------
    def value(self, source: SSAValue) -> SSAValue:
        """The converted value."""
        return self.values[source]

    def optional(self, source: SSAValue | None) -> SSAValue | None:
        """The converted value; None where it is absent."""
        return None if source is None else self.values[source]

    def operands(self, op: Operation) -> list[SSAValue]:
        """The converted operands."""
        return [self.values[operand] for operand in op.operands]

    # ---- operations ----------------------------------------------------------------------------
    def convert(self, block: Block, target: Block) -> None:
        """Append the conversion of a block's operations to ``target``; errors are kept until all are converted."""
        outer = getattr(self, "block", target)
        self.block = target
        for op in block.ops:
            self.op = op
            if not apply_rule(self.rules[op.name], self, op, self.diagnostics):
                self._poison(op)
        self.block = outer

    def _poison(self, op: Operation) -> None:
        """Map the results of a reported operation to placeholders, so that its users raise no further errors."""
        for result in op.results:
            self.values.setdefault(
                result, ops.CreateMemTokenOp.create(result_types=[self.type(result.type)]).results[0]
            )

    def insert(self, op: Operation) -> Any:
        """Add a part of the conversion of the current operation; return its first result, if it has one."""
        op.attributes |= location_of(self.op)
        append(self.block, op)
        return op.results[0] if op.results else None

    def bind(self, new: Operation) -> None:
        """Add the conversion of the current operation, whose results replace its results."""
        self.insert(new)
        self.values |= zip(self.op.results, new.results)

    def build(
        self, target: Kind, operands: Sequence[Operand], attributes: Mapping[str, Attribute] | None = None
    ) -> None:
        """Add a ``target`` in place of the current operation, with the types of its results."""
        self.bind(make(target, operands, [self.type(result.type) for result in self.op.results], attributes))

    def region(self, source: Region) -> Region:
        """The converted region."""
        if not source.blocks:
            return Region(Block([], arg_types=[]))
        old, op = source.blocks[0], self.op
        new = Block(arg_types=[self.type(arg.type) for arg in old.args])
        self.values |= zip(old.args, new.args)
        self.convert(old, new)
        self.op = op
        return Region(new)


def refuse(cv: Converter, op: Operation) -> None:
    """The diagnostic for an operation without a row."""
    raise Unsupported(
        "operation-unsupported",
        f"operation {op.name.removeprefix('cuda_tile.')} ({_types_text(op)}) has no lowering yet",
        remedy="see docs/coverage.md for what is supported (convert_cudatile_to_tileaa.py has no row for it)",
    )


def _types_text(op: Operation) -> str:
    return ", ".join(str(operand.type) for operand in op.operands) or "no operands"


def same_operand_rules(rows: Mapping[str, type[Operation]]) -> dict[str, Rule]:
    """The rules of operations that become others with the same operands."""

    def convert(cv: Converter, op: Operation) -> None:
        cv.build(rows[op.name.removeprefix("cuda_tile.")], cv.operands(op), attributes_of(op))

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
