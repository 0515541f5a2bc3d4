"""Helpers that insert operations: insertion points, scalar constants and arithmetic, loop conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import parent_block
from ...ir.dialects import arith
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.linear_layout import log2_exact

IfOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("if", "yield"))
# Inserts an operation and returns its first result, if it has one.
Inserter = Callable[[Operation], SSAValue]


def insert_before(op: Operation, place: Operation) -> Any:
    """Insert an operation before ``place``; return its first result."""
    parent_block(place).insert_op_before(op, place)
    return _result_of(op)


def insertion_before(place: Operation) -> Inserter:
    """A function that inserts an operation before ``place`` and returns its result."""
    return lambda op: insert_before(op, place)


def insertion_at_end(block: Block) -> Inserter:
    """A function that adds an operation to a block and returns its result."""

    def insert(op: Operation) -> SSAValue:
        block.add_op(op)
        return _result_of(op)

    return insert


def _result_of(op: Operation) -> Any:
    return op.results[0] if op.results else None


def constant(number: int, type: IntegerType) -> Operation:
    return arith.ConstantOp.create(result_types=[type], properties={"value": IntegerAttr(number, type)})


def constant_i32(number: int) -> Operation:
    return constant(number, i32)


def constant_i1(value: bool) -> Operation:
    return constant(int(value), i1)


def binary(kind: type[TableOp], a: SSAValue, b: SSAValue) -> Operation:
    return kind.make([a, b], [a.type])


def equal(a: SSAValue, b: SSAValue) -> Operation:
    return _compare("eq", a, b)


def below(a: SSAValue, b: SSAValue) -> Operation:
    return _compare("ult", a, b)


def group_index(index: SSAValue, steps: int, insert: Inserter) -> SSAValue:
    """The group of ``steps`` (a power of two) iterations that a non-negative index belongs to."""
    return insert(binary(arith.ShRUIOp, index, insert(constant_i32(log2_exact(steps)))))


def is_first_of_group(index: SSAValue, steps: int, insert: Inserter) -> SSAValue:
    """Whether an index is the first one of its group."""
    place = insert(binary(arith.AndIOp, index, insert(constant_i32(steps - 1))))
    return insert(equal(place, insert(constant_i32(0))))


def build_if(condition: SSAValue, block: Block) -> Operation:
    """An ``if`` with the operations of a block."""
    never = Block()
    for arm in (block, never):
        arm.add_op(YieldOp.make([[]], []))
    return IfOp.make([condition], [], {}, [Region(block), Region(never)])


def loop_continues_at(loop: TableOp, index: SSAValue) -> Operation:
    """Whether the loop has an iteration with this index."""
    return is_below_bound(loop, index, loop.upper)


def is_below_bound(loop: TableOp, index: SSAValue, end: SSAValue) -> Operation:
    """Whether an index is below a bound, compared as the loop compares them."""
    return _compare("ult" if loop.unsigned else "slt", index, end)


def is_zero_trip(loop: TableOp) -> Operation:
    """Whether a loop has no trips."""
    return _compare("uge" if loop.unsigned else "sge", loop.lower, loop.upper)


def is_not_first_iteration(loop: TableOp, index: SSAValue) -> Operation:
    """Whether an iteration of a loop is not its first."""
    return _compare("ne", index, loop.lower)


def _compare(predicate: str, a: SSAValue, b: SSAValue) -> Operation:
    return arith.CmpiOp.make([a, b], [i1], predicate=predicate)
