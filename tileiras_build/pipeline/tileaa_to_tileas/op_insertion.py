"""Helpers that insert operations: insertion points, scalar constants and arithmetic, loop conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.dialects import arith
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.linear_layout import log2_exact
from ..rewriting.arith_builder import ArithBuilder

IfOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("if", "yield"))
Inserter = ArithBuilder
insertion_before = ArithBuilder.before
insertion_at_end = ArithBuilder.at_end


def insert_before(op: Operation, place: Operation) -> Any:
    """Insert an operation before ``place``; return its first result."""
    return insertion_before(place)(op)


def constant_i1(value: bool) -> Operation:
    return arith.ConstantOp.create(result_types=[i1], properties={"value": IntegerAttr(int(value), i1)})


def group_index(index: SSAValue, steps: int, insert: Inserter) -> SSAValue:
    """The group of ``steps`` (a power of two) iterations that a non-negative index belongs to."""
    return insert.binary("lshr", index, log2_exact(steps))


def is_first_of_group(index: SSAValue, steps: int, insert: Inserter) -> SSAValue:
    """Whether an index is the first one of its group."""
    return insert.compare("eq", insert.binary("and", index, steps - 1), 0)


def build_if(condition: SSAValue, block: Block) -> Operation:
    """An ``if`` with the operations of a block."""
    never = Block()
    for arm in (block, never):
        arm.add_op(YieldOp.make([[]], []))
    return IfOp.make([condition], [], {}, [Region(block), Region(never)])


def insert_if(condition: SSAValue | None, insert: Inserter, emit: Callable[[Inserter], object]) -> None:
    """Insert the operations of ``emit``, under a condition if there is one."""
    if condition is None:
        emit(insert)
        return
    block = Block()
    emit(insertion_at_end(block))
    insert(build_if(condition, block))


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
