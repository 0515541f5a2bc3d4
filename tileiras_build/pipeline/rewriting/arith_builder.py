"""Scalar code of ``arith``, for programs of tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.casting import parent_block
from ...ir.dialects import arith
from .folding_builder import FoldingBuilder, Value


class ArithBuilder(FoldingBuilder):
    """Inserts operations by a function, which is called like the builder itself: it returns an operation's first result."""

    operations: ClassVar[Mapping[str, type[Operation]]] = {
        "add": arith.AddiOp, "sub": arith.SubiOp, "mul": arith.MuliOp, "sdiv": arith.DivSIOp, "srem": arith.RemSIOp,
        "udiv": arith.DivUIOp, "urem": arith.RemUIOp, "and": arith.AndIOp, "or": arith.OrIOp, "xor": arith.XOrIOp,
        "shl": arith.ShLIOp, "lshr": arith.ShRUIOp, "umin": arith.MinUIOp,
    }  # fmt: skip
    constants = arith.ConstantOp

    def __init__(self, insert: Callable[[Operation], Any]):
        self.add_op = insert

    @classmethod
    def before(cls, place: Operation) -> ArithBuilder:
        """A builder before an operation."""
        return cls(lambda op: parent_block(place).insert_op_before(op, place))

    @classmethod
    def at_end(cls, block: Block) -> ArithBuilder:
        """A builder at the end of a block."""
        return cls(block.add_op)

    def insert(self, op: Operation) -> Any:
        """Insert an operation; return its first result, if it has one."""
        self.add_op(op)
        return op.results[0] if op.results else None

    __call__ = insert

    def binary(self, opcode: str, a: Value, b: Value, type: Attribute | None = None) -> SSAValue:
        """An operation of ``operations``, of the type of its operands unless told otherwise."""
        return super().binary(opcode, a, b, type or _type_of(a, b))

    def compare(self, predicate: str, a: Value, b: Value) -> SSAValue:
        """``arith.cmpi``"""
        type = _type_of(a, b)
        return self.insert(arith.CmpiOp.make([self.of(a, type), self.of(b, type)], [i1], predicate=predicate))

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        """``arith.select``"""
        return self.insert(arith.SelectOp.make([condition, then, otherwise], [then.type]))


def _type_of(*values: Value) -> Attribute:
    return next((value.type for value in values if isinstance(value, SSAValue)), i32)
