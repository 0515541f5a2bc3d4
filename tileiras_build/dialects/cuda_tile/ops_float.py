"""Element-wise operations of cuda_tile on floats."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from tileiras_build.dialects.cuda_tile.base import TileOperation, define, elements, fail, one_of, same_types, tile
from tileiras_build.dialects.cuda_tile.element_types import BASE_FLOATS, INTEGERS
from tileiras_build.dialects.cuda_tile.elementwise import (
    F32_ONLY_MODES,
    IEEE,
    IEEE_MODES,
    FloatBinary,
    FloatExtremum,
    FloatUnary,
    RoundedFloatBinary,
    flush_only_f32,
    modes_only_f32,
    result_is_i1,
)
from tileiras_build.dialects.cuda_tile.enums import (
    ComparisonOrderingAttr,
    ComparisonPredicateAttr,
    RoundingMode,
    RoundingModeAttr,
)


@define
class AbsFOp(FloatUnary):
    """Absolute value of floats."""

    name = "cuda_tile.absf"


@define
class AddFOp(RoundedFloatBinary):
    """lhs + rhs of floats."""

    name = "cuda_tile.addf"


@define
class Atan2Op(TileOperation):
    """Angle of the point (x, y): atan2(x, y) in operand order."""

    name = "cuda_tile.atan2"
    x = operand_def()
    y = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(BASE_FLOATS, "x"), same_types("x", "y", "result"))


@define
class CeilOp(FloatUnary):
    """Round up to an integral value."""

    name = "cuda_tile.ceil"


@define
class CmpFOp(TileOperation):
    """Compare floats; an unordered comparison is also true if one operand is a NaN."""

    name = "cuda_tile.cmpf"
    lhs = operand_def()
    rhs = operand_def()
    comparison_predicate = prop_def(ComparisonPredicateAttr)
    comparison_ordering = prop_def(ComparisonOrderingAttr)
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(BASE_FLOATS, "lhs"), same_types("lhs", "rhs"), result_is_i1)


@define
class CosOp(FloatUnary):
    """Cosine."""

    name = "cuda_tile.cos"


@define
class CosHOp(FloatUnary):
    """Hyperbolic cosine."""

    name = "cuda_tile.cosh"


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


@define
class FloorOp(FloatUnary):
    """Round down to an integral value."""

    name = "cuda_tile.floor"


@define
class FmaOp(TileOperation):
    """lhs * rhs + acc, rounded once."""

    name = "cuda_tile.fma"
    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()
    rounding_mode = prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(BASE_FLOATS, "lhs"), same_types("lhs", "rhs", "acc", "result"), IEEE, flush_only_f32)


@define
class FPowFOp(TileOperation):
    """source to the power of a float exponent (``pow`` up to bytecode 13.3)."""

    name = "cuda_tile.fpowf"
    source = operand_def()
    exponent = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(BASE_FLOATS, "source"), same_types("source", "exponent", "result"))


PowOp = FPowFOp


def _exponent_shape(op: FPowIOp) -> None:
    if tile(op, "exponent").shape != tile(op, "source").shape:
        fail(f"'exponent' must have the shape of 'source', got {op.exponent.type} and {op.source.type}")


@define
class FPowIOp(TileOperation):
    """source to the power of an integer exponent (since bytecode 13.4)."""

    name = "cuda_tile.fpowi"
    source = operand_def()
    exponent = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (
        elements(BASE_FLOATS, "source"),
        elements(INTEGERS, "exponent"),
        same_types("source", "result"),
        _exponent_shape,
    )


@define
class LogOp(FloatUnary):
    """Natural logarithm."""

    name = "cuda_tile.log"


@define
class Log2Op(FloatUnary):
    """Base-2 logarithm."""

    name = "cuda_tile.log2"


@define
class MaxFOp(FloatExtremum):
    """Maximum of floats."""

    name = "cuda_tile.maxf"


@define
class MinFOp(FloatExtremum):
    """Minimum of floats."""

    name = "cuda_tile.minf"


@define
class MulFOp(RoundedFloatBinary):
    """lhs * rhs of floats."""

    name = "cuda_tile.mulf"


@define
class NegFOp(FloatUnary):
    """Negation of floats."""

    name = "cuda_tile.negf"


@define
class RemFOp(FloatBinary):
    """Remainder of lhs / rhs rounded toward zero, of floats."""

    name = "cuda_tile.remf"


@define
class RsqrtOp(FloatUnary):
    """1 / sqrt(source)."""

    name = "cuda_tile.rsqrt"
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (flush_only_f32,)


@define
class SinOp(FloatUnary):
    """Sine."""

    name = "cuda_tile.sin"


@define
class SinHOp(FloatUnary):
    """Hyperbolic sine."""

    name = "cuda_tile.sinh"


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


@define
class SubFOp(RoundedFloatBinary):
    """lhs - rhs of floats."""

    name = "cuda_tile.subf"


@define
class TanOp(FloatUnary):
    """Tangent."""

    name = "cuda_tile.tan"


@define
class TanHOp(FloatUnary):
    """Hyperbolic tangent; approx is a fast one of f32."""

    name = "cuda_tile.tanh"
    rounding_mode = prop_def(RoundingModeAttr)
    CHECKS: ClassVar = (
        one_of("rounding_mode", RoundingMode.FULL, RoundingMode.APPROX),
        modes_only_f32(RoundingMode.APPROX),
    )


FLOAT_OPS = (
    AbsFOp,
    AddFOp,
    Atan2Op,
    CeilOp,
    CmpFOp,
    CosOp,
    CosHOp,
    DivFOp,
    ExpOp,
    Exp2Op,
    FloorOp,
    FmaOp,
    FPowFOp,
    FPowIOp,
    LogOp,
    Log2Op,
    MaxFOp,
    MinFOp,
    MulFOp,
    NegFOp,
    RemFOp,
    RsqrtOp,
    SinOp,
    SinHOp,
    SqrtOp,
    SubFOp,
    TanOp,
    TanHOp,
)
