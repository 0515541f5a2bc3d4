"""Operations that passes insert: where they go, and the scalar ones, whether a loop runs among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import block_of
from ...ir.dialects import arith
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOperation
from ...ir.layouts.linear_layout import log2_exact

IfOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("if", "yield"))
# The value that the operation gives; of one that gives none nothing is asked.
Insert = Callable[[Operation], SSAValue]


def insert_before(op: Operation, place: Operation) -> Any:
    """Insert an operation before ``place``; its first result."""
    block_of(place).insert_op_before(op, place)
    return _given_by(op)


def inserter(place: Operation) -> Insert:
    """A function that inserts an operation before ``place`` and returns its result."""
    return lambda op: insert_before(op, place)


def appender(block: Block) -> Insert:
    """A function that adds an operation to a block and returns its result."""

    def insert(op: Operation) -> SSAValue:
        block.add_op(op)
        return _given_by(op)

    return insert


def _given_by(op: Operation) -> Any:
    return op.results[0] if op.results else None


def constant(number: int, type: IntegerType) -> Operation:
    return arith.ConstantOp.create(result_types=[type], properties={"value": IntegerAttr(number, type)})


def constant_i32(number: int) -> Operation:
    return constant(number, i32)


def constant_i1(value: bool) -> Operation:
    return constant(int(value), i1)


def binary(kind: type[TableOperation], a: SSAValue, b: SSAValue) -> Operation:
    return kind.make([a, b], [a.type])


def equal(a: SSAValue, b: SSAValue) -> Operation:
    return _compare("eq", a, b)


def below(a: SSAValue, b: SSAValue) -> Operation:
    return _compare("ult", a, b)


def group_of(index: SSAValue, steps: int, insert: Insert) -> SSAValue:
    """Which group of ``steps`` (a power of two) an index from 0 on is in."""
    return insert(binary(arith.ShRUIOp, index, insert(constant_i32(log2_exact(steps)))))


def is_first_of(index: SSAValue, steps: int, insert: Insert) -> SSAValue:
    """Whether an index is the first of its group."""
    place = insert(binary(arith.AndIOp, index, insert(constant_i32(steps - 1))))
    return insert(equal(place, insert(constant_i32(0))))


def when(condition: SSAValue, block: Block) -> Operation:
    """The operations of a block, where a condition holds."""
    never = Block()
    for arm in (block, never):
        arm.add_op(YieldOp.make([[]], []))
    return IfOp.make([condition], [], {}, [Region(block), Region(never)])


def runs_at(loop: TableOperation, index: SSAValue) -> Operation:
    """Whether the loop still runs at this index."""
    return is_before(loop, index, loop.upper)


def is_before(loop: TableOperation, index: SSAValue, end: SSAValue) -> Operation:
    """Whether an index is below another one, as the loop compares them."""
    return _compare("ult" if loop.unsigned else "slt", index, end)


def never_runs(loop: TableOperation) -> Operation:
    """Whether a loop does not run at all."""
    return _compare("uge" if loop.unsigned else "sge", loop.lower, loop.upper)


def is_later(loop: TableOperation, index: SSAValue) -> Operation:
    """Whether an iteration of a loop is not its first."""
    return _compare("ne", index, loop.lower)


def _compare(predicate: str, a: SSAValue, b: SSAValue) -> Operation:
    return arith.CmpiOp.make([a, b], [i1], predicate=predicate)
