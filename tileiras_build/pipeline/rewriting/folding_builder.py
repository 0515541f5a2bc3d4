"""Arithmetic of integers by builders of every dialect; known integers are folded.

A value is a Python int (a known integer, whose type depends on its use) or an SSA value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects.fast_xdsl import create, integer_attr
from ..common.llvm_type_constructors import I32

Value = int | SSAValue


class FoldingBuilder:
    """Integer arithmetic. A builder says how an operation is inserted, and which operations its dialect has.

    ``operations``: by the names of LLVM's instructions; each has two operands and a result of one type.
    """

    operations: ClassVar[Mapping[str, type[Operation]]]
    constants: ClassVar[type[Operation]]

    def insert(self, op: Operation) -> Any:
        """Insert an operation; return its first result, None if it has none."""
        raise NotImplementedError

    def constant(self, value: int, type: Attribute = I32) -> SSAValue:
        """An integer constant."""
        return self.insert(create(self.constants, (), (type,), {"value": integer_attr(value, type)}))

    def of(self, value: Value, type: Attribute) -> SSAValue:
        """A value as an operand: a known integer becomes a constant of ``type``."""
        return self.constant(value, type) if isinstance(value, int) else value

    def binary(self, opcode: str, a: Value, b: Value, type: Attribute = I32) -> SSAValue:
        """An operation of ``operations``."""
        return self.insert(create(self.operations[opcode], (self.of(a, type), self.of(b, type)), (type,)))

    # ---- folded ------------------------------------------------------------------------------------
    def add(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        if isinstance(a, int):
            if isinstance(b, int):
                return a + b
            a, b = b, a
        return a if isinstance(b, int) and b == 0 else self.binary("add", a, b, type)

    def sub(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if isinstance(b, int) and b == 0 else self.binary("sub", a, b, type)

    def mul(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        if isinstance(a, int):
            if isinstance(b, int):
                return a * b
            a, b = b, a
        if isinstance(b, int) and b in (0, 1):
            return a if b else 0
        return self.binary("mul", a, b, type)

    def div(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        """The signed quotient of numbers that are not negative."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        return a if isinstance(b, int) and b == 1 else self.binary("sdiv", a, b, type)

    def rem(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        """The signed remainder of numbers that are not negative."""
        if isinstance(b, int) and (b == 1 or isinstance(a, int)):
            return a % b if isinstance(a, int) else 0
        return self.binary("srem", a, b, type)

    def and_(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a & b
        return self.binary("and", a, b, type)

    def or_(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        if isinstance(a, int) and a == 0:
            return b
        return a if isinstance(b, int) and b == 0 else self.binary("or", a, b, type)

    def xor(self, a: Value, b: Value, type: Attribute = I32) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        if isinstance(a, int) and a == 0:
            return b
        return a if isinstance(b, int) and b == 0 else self.binary("xor", a, b, type)

    def shift(self, a: Value, amount: int, type: Attribute = I32) -> Value:
        """``a`` shifted left by ``amount`` (right, logically, where negative)."""
        if isinstance(a, int):
            return a << amount if amount >= 0 else a >> -amount
        if amount == 0:
            return a
        return self.binary("shl" if amount > 0 else "lshr", a, abs(amount), type)
