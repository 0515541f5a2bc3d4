"""Insert operations before one operation, and replace it."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.errors import Unsupported
from ...ir.casting import unwrap
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import create, erase, insert_before, item, operands_of, replace_uses, set_type
from ..job import Job
from .arith_builder import ArithBuilder
from .dialect_conversion import illegal_operation, location_of
from .folding_builder import FoldingBuilder


@dataclass
class Rewriter(FoldingBuilder):
    """Inserts operations before ``root``, with its location, and replaces it. Its arithmetic is that of ``arith``."""

    root: Operation
    job: Job
    added: list[Operation] = field(default_factory=list)
    # Values that rules share, by block: stack objects of functions by type, descriptors by their fields.
    shared: dict[tuple[Block, object], SSAValue] = field(default_factory=dict)

    operations: ClassVar[Mapping[str, builtins.type[Operation]]] = ArithBuilder.operations
    constants: ClassVar[builtins.type[Operation]] = arith.ConstantOp
    # The attributes of the root that new operations have too.
    inherited: ClassVar[tuple[str, ...]] = ("loc",)

    def at(self, root: Operation) -> Self:
        """A rewriter before another operation."""
        return type(self)(root, self.job, self.added, self.shared)

    def insert(self, op: Operation) -> Any:
        """Insert an operation before the root, with the root's location; return its first result, if it has one."""
        root = self.root
        insert_before(op, root)
        self.added.append(op)
        op.location = root.location
        if root.attributes:
            op.attributes |= {name: root.attributes[name] for name in self.inherited if name in root.attributes}
        return item(op.results, 0) if op.results else None

    def create(
        self,
        kind: builtins.type[Operation],
        operands: Sequence[SSAValue],
        type: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """``insert`` of a new operation with one result, which is not verified."""
        return self.insert(create(kind, operands, (type,), properties))

    # ---- replacement -------------------------------------------------------------------------------
    def replace(self, *values: SSAValue | Operation | None) -> None:
        """Replace the root's results by values, bridged if the type changed, and erase it."""
        for result, entry in zip(self.root.results, values, strict=True):
            value = self.insert(entry) if isinstance(entry, Operation) else unwrap(entry)
            if value.name_hint is None:
                value.name_hint = result.name_hint
            replace_uses(result, self.as_type(value, result.type))
        erase(self.root)

    def replace_first(self, value: SSAValue) -> None:
        """Replace the root's first result by a value of its type, if the others are unused, and erase it."""
        replace_uses(item(self.root.results, 0), value)
        erase(self.root)

    def replace_with(self, op: Operation) -> None:
        """Replace a root without results by one operation."""
        self.insert(op)
        self.replace()

    # ---- types -------------------------------------------------------------------------------------
    def source(self, value: SSAValue, type: Attribute) -> SSAValue | None:
        """The value of ``type`` that was bridged to ``value``; None if there is none."""
        owner = value.owner
        if not isinstance(owner, UnrealizedConversionCastOp) or len(operands_of(owner)) != 1:
            return None
        source = item(operands_of(owner), 0)
        return source if source.type == type else None

    def as_type(self, value: SSAValue, type: Attribute) -> SSAValue:
        """``value`` bridged to ``type``."""
        if value.type == type:
            return value
        if (source := self.source(value, type)) is not None:
            return source
        result = self.create(UnrealizedConversionCastOp, (value,), type)
        result.name_hint = value.name_hint
        return result

    def retype(self, value: SSAValue, type: Attribute) -> None:
        """Change the type of a value in place; its users get it bridged to the old type, before the root."""
        old, uses = value.type, list(value.uses)
        if old == type:
            return
        set_type(value, type)
        bridge = self.as_type(value, old)
        for use in uses:
            use.operation.operands[use.index] = bridge

    # ---- diagnostics -------------------------------------------------------------------------------
    def unsupported(self, id: str, message: str, remedy: str | None = None) -> Unsupported:
        """A diagnostic about the root."""
        return Unsupported(id, f"'{self.root.name}' op {message}", location=location_of(self.root), remedy=remedy)

    def illegal(self, remedy: str) -> Unsupported:
        """MLIR's diagnostic about a root that no rule accepts."""
        return illegal_operation(self.root, remedy)
