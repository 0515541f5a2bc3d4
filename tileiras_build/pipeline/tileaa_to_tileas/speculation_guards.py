"""Scalars that are computed speculatively: before a loop that may not run, or for one more iteration.

In LLVM, a division by 0 is undefined behavior, from which the optimizer may conclude that the code is unreachable. A
shift by at least the bit width is poison, which may have a different value at each use.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...ir.casting import type_as
from ..analysis.op_queries import SHIFTS, may_divide_by_zero
from .op_insertion import Inserter

UNSIGNED = frozenset(f"arith.{name}" for name in ("divui", "remui", "ceildivui"))


def speculated(op: Operation, operands: list[SSAValue], insert: Inserter) -> SSAValue:
    """A scalar operation on other values, with an arbitrary result where it is undefined."""
    if may_divide_by_zero(op):
        dividend, divisor = operands
        operands = [dividend, _divisor(op, dividend, divisor, insert)]
    elif op.name in SHIFTS:
        operands = [operands[0], _amount(operands[1], insert)]
    return insert(_of(op, operands))


def _of(op: Operation, operands: list[SSAValue]) -> Operation:
    """Clone an operation with other operands."""
    return type(op).create(
        operands=operands,
        result_types=[result.type for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )


def _divisor(op: Operation, dividend: SSAValue, divisor: SSAValue, insert: Inserter) -> SSAValue:
    """Replace a divisor of 0 by 1, and -1 where the quotient would overflow."""
    type = type_as(divisor, IntegerType)
    undefined = insert.compare("eq", divisor, 0)
    if op.name not in UNSIGNED:
        least = insert.constant(-(1 << type.width.data - 1), type)
        overflows = insert.compare("eq", divisor, -1), insert.compare("eq", dividend, least)
        undefined = insert.binary("or", undefined, insert.binary("and", *overflows))
    return insert.select(undefined, insert.constant(1, type), divisor)


def _amount(bits: SSAValue, insert: Inserter) -> SSAValue:
    """Replace a shift amount that is not below the bit width by 0."""
    type = type_as(bits, IntegerType)
    defined = insert.compare("ult", bits, type.width.data)
    return insert.select(defined, bits, insert.constant(0, type))
