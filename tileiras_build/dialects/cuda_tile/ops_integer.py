"""Element-wise operations of cuda_tile on integers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from tileiras_build.dialects.cuda_tile.base import TileOperation, define, elements, fail, one_of, same_types
from tileiras_build.dialects.cuda_tile.element_types import INTEGERS
from tileiras_build.dialects.cuda_tile.elementwise import (
    IntegerBinary,
    IntegerUnary,
    OverflowBinary,
    SignedBinary,
    result_is_i1,
)
from tileiras_build.dialects.cuda_tile.enums import (
    ComparisonPredicateAttr,
    IntegerOverflow,
    IntegerOverflowAttr,
    RoundingMode,
    RoundingModeAttr,
    Signedness,
    SignednessAttr,
)


@define
class AbsIOp(IntegerUnary):
    """Absolute value of integers."""

    name = "cuda_tile.absi"


@define
class AddIOp(OverflowBinary):
    """lhs + rhs of integers, wrapping."""

    name = "cuda_tile.addi"


@define
class AndIOp(IntegerBinary):
    """Bitwise and."""

    name = "cuda_tile.andi"


@define
class CmpIOp(TileOperation):
    """Compare integers."""

    name = "cuda_tile.cmpi"
    lhs = operand_def()
    rhs = operand_def()
    comparison_predicate = prop_def(ComparisonPredicateAttr)
    signedness = prop_def(SignednessAttr)
    result = result_def()
    traits = traits_def(Pure())
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


@define
class MaxIOp(SignedBinary):
    """Maximum of integers."""

    name = "cuda_tile.maxi"


@define
class MinIOp(SignedBinary):
    """Minimum of integers."""

    name = "cuda_tile.mini"


@define
class MulIOp(OverflowBinary):
    """lhs * rhs of integers, wrapping."""

    name = "cuda_tile.muli"


@define
class MulhiIOp(TileOperation):
    """The upper half of the unsigned product x * y."""

    name = "cuda_tile.mulhii"
    x = operand_def()
    y = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(INTEGERS, "x"), same_types("x", "y", "result"))


@define
class NegIOp(IntegerUnary):
    """Negation of integers."""

    name = "cuda_tile.negi"
    overflow = prop_def(IntegerOverflowAttr)
    CHECKS: ClassVar = (one_of("overflow", IntegerOverflow.NONE, IntegerOverflow.NSW, IntegerOverflow.NW),)


@define
class OrIOp(IntegerBinary):
    """Bitwise or."""

    name = "cuda_tile.ori"


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


@define
class SubIOp(OverflowBinary):
    """lhs - rhs of integers, wrapping."""

    name = "cuda_tile.subi"


@define
class XOrIOp(IntegerBinary):
    """Bitwise exclusive or."""

    name = "cuda_tile.xori"


INTEGER_OPS = (
    AbsIOp,
    AddIOp,
    AndIOp,
    CmpIOp,
    DivIOp,
    MaxIOp,
    MinIOp,
    MulIOp,
    MulhiIOp,
    NegIOp,
    OrIOp,
    RemIOp,
    ShLIOp,
    ShRIOp,
    SubIOp,
    XOrIOp,
)
