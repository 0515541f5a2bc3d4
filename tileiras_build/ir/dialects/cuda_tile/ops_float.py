"""Element-wise operations of cuda_tile on floats."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def

from .element_types import BASE_FLOATS, INTEGERS
from .elementwise_base import (
    F32_ONLY_MODES,
    IEEE,
    IEEE_MODES,
    FloatBinary,
    FloatMinMax,
    FloatUnary,
    RoundedFloatBinary,
    flush_only_f32,
    modes_only_f32,
    result_is_i1,
)
from .enums import ComparisonOrderingAttr, ComparisonPredicateAttr, RoundingMode, RoundingModeAttr
from .op_base import PureOperation, define, define_row, defined_in, elements, fail, one_of, same_types, tile

AbsFOp = define_row("absf", FloatUnary, "Absolute value of floats.")
AddFOp = define_row("addf", RoundedFloatBinary, "lhs + rhs of floats.")


@define
class Atan2Op(PureOperation):
    """Angle of the point (x, y): atan2(x, y) in operand order."""

    name = "cuda_tile.atan2"
    x = operand_def()
    y = operand_def()
    result = result_def()
    CHECKS: ClassVar = (elements(BASE_FLOATS, "x"), same_types("x", "y", "result"))


CeilOp = define_row("ceil", FloatUnary, "Round up to an integral value.")


@define
class CmpFOp(PureOperation):
    """Compare floats; an unordered comparison is also true if one operand is a NaN."""

    name = "cuda_tile.cmpf"
    lhs = operand_def()
    rhs = operand_def()
    comparison_predicate = prop_def(ComparisonPredicateAttr)
    comparison_ordering = prop_def(ComparisonOrderingAttr)
    result = result_def()
    CHECKS: ClassVar = (elements(BASE_FLOATS, "lhs"), same_types("lhs", "rhs"), result_is_i1)


CosOp = define_row("cos", FloatUnary, "Cosine.")
CosHOp = define_row("cosh", FloatUnary, "Hyperbolic cosine.")


@define
class DivFOp(FloatBinary):
    """lhs / rhs of floats; approx and full are fast divisions of f32."""

    name = "cuda_tile.divf"
    rounding_mode = prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (
        one_of("rounding_mode", *IEEE_MODES, *F32_ONLY_MODES),
        modes_only_f32(*F32_ONLY_MODES),
        flush_only_f32,
    )


@define
class ExpOp(FloatUnary):
    """e to the power of source."""

    name = "cuda_tile.exp"
    rounding_mode = prop_def(RoundingModeAttr)
    CHECKS: ClassVar = (
        one_of("rounding_mode", RoundingMode.FULL, RoundingMode.APPROX),
        modes_only_f32(RoundingMode.APPROX),
    )


@define
class Exp2Op(FloatUnary):
    """2 to the power of source."""

    name = "cuda_tile.exp2"
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (flush_only_f32,)


FloorOp = define_row("floor", FloatUnary, "Round down to an integral value.")


@define
class FmaOp(PureOperation):
    """lhs * rhs + acc, rounded once."""

    name = "cuda_tile.fma"
    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()
    rounding_mode = prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    result = result_def()
    CHECKS: ClassVar = (elements(BASE_FLOATS, "lhs"), same_types("lhs", "rhs", "acc", "result"), IEEE, flush_only_f32)


@define
class FPowFOp(PureOperation):
    """source to the power of a float exponent (``pow`` up to bytecode 13.3)."""

    name = "cuda_tile.fpowf"
    source = operand_def()
    exponent = operand_def()
    result = result_def()
    CHECKS: ClassVar = (elements(BASE_FLOATS, "source"), same_types("source", "exponent", "result"))


PowOp = FPowFOp


def _exponent_shape(op: FPowIOp) -> None:
    if tile(op, "exponent").shape != tile(op, "source").shape:
        fail(f"'exponent' must have the shape of 'source', got {op.exponent.type} and {op.source.type}")


@define
class FPowIOp(PureOperation):
    """source to the power of an integer exponent (since bytecode 13.4)."""

    name = "cuda_tile.fpowi"
    source = operand_def()
    exponent = operand_def()
    result = result_def()
    CHECKS: ClassVar = (
        elements(BASE_FLOATS, "source"),
        elements(INTEGERS, "exponent"),
        same_types("source", "result"),
        _exponent_shape,
    )


LogOp = define_row("log", FloatUnary, "Natural logarithm.")
Log2Op = define_row("log2", FloatUnary, "Base-2 logarithm.")
MaxFOp = define_row("maxf", FloatMinMax, "Maximum of floats.")
MinFOp = define_row("minf", FloatMinMax, "Minimum of floats.")
MulFOp = define_row("mulf", RoundedFloatBinary, "lhs * rhs of floats.")
NegFOp = define_row("negf", FloatUnary, "Negation of floats.")
RemFOp = define_row("remf", FloatBinary, "Remainder of lhs / rhs rounded toward zero, of floats.")


@define
class RsqrtOp(FloatUnary):
    """1 / sqrt(source)."""

    name = "cuda_tile.rsqrt"
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (flush_only_f32,)


SinOp = define_row("sin", FloatUnary, "Sine.")
SinHOp = define_row("sinh", FloatUnary, "Hyperbolic sine.")


@define
class SqrtOp(FloatUnary):
    """Square root; approx is a fast one of f32."""

    name = "cuda_tile.sqrt"
    rounding_mode = prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (
        one_of("rounding_mode", *IEEE_MODES, RoundingMode.APPROX),
        modes_only_f32(RoundingMode.APPROX),
        flush_only_f32,
    )


SubFOp = define_row("subf", RoundedFloatBinary, "lhs - rhs of floats.")
TanOp = define_row("tan", FloatUnary, "Tangent.")


@define
class TanHOp(FloatUnary):
    """Hyperbolic tangent; approx is a fast one of f32."""

    name = "cuda_tile.tanh"
    rounding_mode = prop_def(RoundingModeAttr)
    CHECKS: ClassVar = (
        one_of("rounding_mode", RoundingMode.FULL, RoundingMode.APPROX),
        modes_only_f32(RoundingMode.APPROX),
    )


FLOAT_OPS = defined_in(__name__)
