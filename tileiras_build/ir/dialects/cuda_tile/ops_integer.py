"""Element-wise operations of cuda_tile on integers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import operand_def, prop_def, result_def

from .element_types import INTEGERS
from .elementwise_base import IntegerBinary, IntegerUnary, OverflowBinary, SignedBinary, result_is_i1
from .enums import (
    ComparisonPredicateAttr,
    IntegerOverflow,
    IntegerOverflowAttr,
    RoundingMode,
    RoundingModeAttr,
    Signedness,
    SignednessAttr,
)
from .op_base import PureOperation, define, define_row, defined_in, elements, fail, one_of, same_types

AbsIOp = define_row("absi", IntegerUnary, "Absolute value of integers.")
AddIOp = define_row("addi", OverflowBinary, "lhs + rhs of integers, wrapping.")
AndIOp = define_row("andi", IntegerBinary, "Bitwise and.")


@define
class CmpIOp(PureOperation):
    """Compare integers."""

    name = "cuda_tile.cmpi"
    lhs = operand_def()
    rhs = operand_def()
    comparison_predicate = prop_def(ComparisonPredicateAttr)
    signedness = prop_def(SignednessAttr)
    result = result_def()
    CHECKS: ClassVar = (elements(INTEGERS, "lhs"), same_types("lhs", "rhs"), result_is_i1)


def _no_unsigned_floor(op: DivIOp) -> None:
    if op.rounding.data is RoundingMode.NEGATIVE_INF and op.signedness.data is Signedness.UNSIGNED:
        fail("rounding mode 'negative_inf' is not allowed with 'unsigned' flag")


@define
class DivIOp(SignedBinary):
    """lhs / rhs of integers, rounded toward zero, up or down."""

    name = "cuda_tile.divi"
    rounding = prop_def(RoundingModeAttr)
    CHECKS: ClassVar = (
        one_of("rounding", RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF),
        _no_unsigned_floor,
    )


MaxIOp = define_row("maxi", SignedBinary, "Maximum of integers.")
MinIOp = define_row("mini", SignedBinary, "Minimum of integers.")
MulIOp = define_row("muli", OverflowBinary, "lhs * rhs of integers, wrapping.")


@define
class MulhiIOp(PureOperation):
    """The upper half of the unsigned, double-width x * y."""

    name = "cuda_tile.mulhii"
    x = operand_def()
    y = operand_def()
    result = result_def()
    CHECKS: ClassVar = (elements(INTEGERS, "x"), same_types("x", "y", "result"))


@define
class NegIOp(IntegerUnary):
    """Negation of integers."""

    name = "cuda_tile.negi"
    overflow = prop_def(IntegerOverflowAttr)
    CHECKS: ClassVar = (one_of("overflow", IntegerOverflow.NONE, IntegerOverflow.NSW, IntegerOverflow.NW),)


OrIOp = define_row("ori", IntegerBinary, "Bitwise or.")


@define
class RemIOp(SignedBinary):
    """Remainder of lhs / rhs rounded toward zero, of integers."""

    name = "cuda_tile.remi"


@define
class ShLIOp(OverflowBinary):
    """Shift left; the amount is unsigned."""

    name = "cuda_tile.shli"


@define
class ShRIOp(SignedBinary):
    """Shift right, arithmetic if signed; the amount is unsigned."""

    name = "cuda_tile.shri"


SubIOp = define_row("subi", OverflowBinary, "lhs - rhs of integers, wrapping.")
XOrIOp = define_row("xori", IntegerBinary, "Bitwise exclusive or.")

INTEGER_OPS = defined_in(__name__)
