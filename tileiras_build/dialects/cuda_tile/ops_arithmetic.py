"""Element-wise arithmetic, comparison and matrix-multiply operations of cuda_tile.

Operand and attribute names are those of the public dialect (Tile IR Ops.td) in snake_case.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatTF32Type,
    UnitAttr,
    i1,
    i8,
    i32,
)
from xdsl.ir import Operation
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from tileiras_build.dialects.cuda_tile.base import (
    Check,
    TileOperation,
    define,
    elements,
    fail,
    one_of,
    same_elements,
    same_ranks,
    same_types,
    tile,
)
from tileiras_build.dialects.cuda_tile.enums import (
    ComparisonOrderingAttr,
    ComparisonPredicateAttr,
    IntegerOverflow,
    IntegerOverflowAttr,
    RoundingMode,
    RoundingModeAttr,
    Signedness,
    SignednessAttr,
)
from tileiras_build.dialects.cuda_tile.types import BASE_FLOATS, INTEGERS, TileType

F16, BF16, F32, F64 = Float16Type(), BFloat16Type(), Float32Type(), Float64Type()
TF32, F8E4M3, F8E5M2 = FloatTF32Type(), Float8E4M3FNType(), Float8E5M2Type()
F8E8M0, F4E2M1 = Float8E8M0FNUType(), Float4E2M1FNType()

IEEE_MODES = (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF)
IEEE = one_of("rounding_mode", *IEEE_MODES)
F32_ONLY_MODES = (RoundingMode.APPROX, RoundingMode.FULL)


def flush_only_f32(op: Operation) -> None:
    """flush_to_zero is for f32 only."""
    if "flush_to_zero" in op.properties and op.results[0].type.element_type != F32:
        fail(f"flush_to_zero modifier only supported for f32 data type, but got: {op.results[0].type.element_type}")


def modes_only_f32(*modes: RoundingMode) -> Check:
    """The listed rounding modes are for f32 only."""

    def check(op: Operation) -> None:
        mode = op.properties.get("rounding_mode")
        if mode is not None and mode.data in modes and op.results[0].type.element_type != F32:
            fail(f"{mode.data.value} modifier only supported for f32 data type, "
                 f"but got: {op.results[0].type.element_type}")

    return check


class FloatUnary(TileOperation):
    """One float tile to one of the same type."""

    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(BASE_FLOATS, "source"), same_types("source", "result"))


class IntegerUnary(TileOperation):
    """One integer tile to one of the same type."""

    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(INTEGERS, "source"), same_types("source", "result"))


class FloatBinary(TileOperation):
    """Two float tiles to one of the same type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(BASE_FLOATS, "lhs"), same_types("lhs", "rhs", "result"))


class IntegerBinary(TileOperation):
    """Two integer tiles to one of the same type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements(INTEGERS, "lhs"), same_types("lhs", "rhs", "result"))


class RoundedFloatBinary(FloatBinary):
    """A float operation with an IEEE rounding mode."""

    rounding_mode = prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (IEEE, flush_only_f32)


class FloatExtremum(FloatBinary):
    """Minimum or maximum; without ``propagate_nan`` a number wins over a NaN."""

    propagate_nan = opt_prop_def(UnitAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (flush_only_f32,)


class OverflowBinary(IntegerBinary):
    """An integer operation with an assumption on overflow."""

    overflow = prop_def(IntegerOverflowAttr)


class SignedBinary(IntegerBinary):
    """An integer operation that depends on the signedness of its operands."""

    signedness = prop_def(SignednessAttr)


@define
class AbsFOp(FloatUnary):
    """Absolute value of floats."""

    name = "cuda_tile.absf"


@define
class AbsIOp(IntegerUnary):
    """Absolute value of integers."""

    name = "cuda_tile.absi"


@define
class AddFOp(RoundedFloatBinary):
    """lhs + rhs of floats."""

    name = "cuda_tile.addf"


@define
class AddIOp(OverflowBinary):
    """lhs + rhs of integers, wrapping."""

    name = "cuda_tile.addi"


@define
class AndIOp(IntegerBinary):
    """Bitwise and."""

    name = "cuda_tile.andi"


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


def _result_is_i1(op: Operation) -> None:
    lhs = tile(op, "lhs")
    if op.results[0].type != TileType(lhs.shape, i1):
        fail(f"'result' must be a tile of i1 in the shape of the operands, got {op.results[0].type}")


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
    CHECKS: ClassVar = (elements(BASE_FLOATS, "lhs"), same_types("lhs", "rhs"), _result_is_i1)


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
    CHECKS: ClassVar = (elements(INTEGERS, "lhs"), same_types("lhs", "rhs"), _result_is_i1)


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
class MaxIOp(SignedBinary):
    """Maximum of integers."""

    name = "cuda_tile.maxi"


@define
class MinFOp(FloatExtremum):
    """Minimum of floats."""

    name = "cuda_tile.minf"


@define
class MinIOp(SignedBinary):
    """Minimum of integers."""

    name = "cuda_tile.mini"


def matrix_shapes(op: Operation) -> None:
    """lhs [B]xMxK, rhs [B]xKxN, acc [B]xMxN."""
    lhs, rhs, acc = (tile(op, name).shape for name in ("lhs", "rhs", "acc"))
    if len(lhs) not in (2, 3):
        fail("operands must be 2D or 3D tiles")
    if lhs[:-2] != rhs[:-2] or lhs[:-2] != acc[:-2]:
        fail(f"shape error: the batch dimensions of lhs {lhs}, rhs {rhs} and acc {acc} must match")
    if lhs[-1] != rhs[-2]:
        fail(f"shape error: the columns of lhs {lhs} and the rows of rhs {rhs} must match")
    if lhs[-2] != acc[-2] or rhs[-1] != acc[-1]:
        fail(f"shape error: lhs {lhs} times rhs {rhs} does not give the shape of acc {acc}")


# Element type of the factors -> element types of the accumulator (Tile IR, mmaf).
MMA_ACCUMULATORS = {
    F8E4M3: (F16, F32),
    F8E5M2: (F16, F32),
    F16: (F16, F32),
    BF16: (F32,),
    TF32: (F32,),
    F32: (F32,),
    F64: (F64,),
}


def _accumulator_type(op: MmaFOp) -> None:
    factor, accumulator = tile(op, "lhs").element_type, tile(op, "acc").element_type
    if accumulator not in MMA_ACCUMULATORS[factor]:
        listed = ", ".join(map(str, MMA_ACCUMULATORS[factor]))
        fail(f"unsupported combination of element types. Input type {factor} expects accumulator/result type "
             f"to be one of {{{listed}}}, but got {accumulator}")


class MatrixMultiply(TileOperation):
    """lhs times rhs plus acc."""

    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (
        same_types("acc", "result"),
        same_elements("lhs", "rhs"),
        same_ranks("lhs", "rhs", "acc"),
        matrix_shapes,
    )


@define
class MmaFOp(MatrixMultiply):
    """Matrix product of floats; ``fast_acc`` allows a less precise accumulation (since bytecode 13.3)."""

    name = "cuda_tile.mmaf"
    fast_acc = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (elements(MMA_ACCUMULATORS, "lhs", "rhs"), elements((F16, F32, F64), "acc"), _accumulator_type)


# (factor, scale) element types -> how many elements along K may share a scale (Tile IR, mmaf_scaled).
SCALE_BLOCKS = {
    (F8E4M3, F8E8M0): (32,),
    (F8E5M2, F8E8M0): (32,),
    (F4E2M1, F8E4M3): (16,),
    (F4E2M1, F8E8M0): (16, 32),
}


def _scales(op: MmaFScaledOp) -> None:
    lhs, rhs, lhs_scale, rhs_scale = (tile(op, name) for name in ("lhs", "rhs", "lhs_scale", "rhs_scale"))
    if lhs.shape[:-1] != lhs_scale.shape[:-1]:
        fail(f"shape error: lhs {lhs.shape} and lhs_scale {lhs_scale.shape} may differ in the last dimension only")
    if rhs.shape[:-2] != rhs_scale.shape[:-2] or rhs.shape[-1] != rhs_scale.shape[-1]:
        fail(f"shape error: rhs {rhs.shape} and rhs_scale {rhs_scale.shape} may differ in the rows only")
    if lhs_scale.shape[-1] != rhs_scale.shape[-2]:
        fail(f"shape error: lhs_scale {lhs_scale.shape} and rhs_scale {rhs_scale.shape} have different scale counts")
    pair = lhs.element_type, lhs_scale.element_type
    if pair not in SCALE_BLOCKS:
        fail(f"unsupported combination of element types: {pair[0]} scaled by {pair[1]}")
    columns, scales = lhs.shape[-1], lhs_scale.shape[-1]
    if columns % scales or columns // scales not in SCALE_BLOCKS[pair]:
        blocks = " or ".join(map(str, SCALE_BLOCKS[pair]))
        fail(f"shape error: {pair[0]} with {pair[1]} scales requires a block scale factor of {blocks}, "
             f"but got {columns} elements for {scales} scales")


@define
class MmaFScaledOp(MatrixMultiply):
    """Matrix product of floats scaled per block along K (since bytecode 13.3)."""

    name = "cuda_tile.mmaf_scaled"
    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()
    lhs_scale = operand_def()
    rhs_scale = operand_def()
    CHECKS: ClassVar = (
        elements((F8E4M3, F8E5M2, F4E2M1), "lhs", "rhs"),
        elements((F32,), "acc"),
        same_elements("lhs_scale", "rhs_scale"),
        same_ranks("lhs", "lhs_scale", "rhs_scale"),
        _scales,
    )


@define
class MmaIOp(MatrixMultiply):
    """Matrix product of i8 into i32."""

    name = "cuda_tile.mmai"
    signedness_lhs = prop_def(SignednessAttr)
    signedness_rhs = prop_def(SignednessAttr)
    CHECKS: ClassVar = (elements((i8,), "lhs", "rhs"), elements((i32,), "acc"))


@define
class MulFOp(RoundedFloatBinary):
    """lhs * rhs of floats."""

    name = "cuda_tile.mulf"


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
class NegFOp(FloatUnary):
    """Negation of floats."""

    name = "cuda_tile.negf"


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
class RemFOp(FloatBinary):
    """Remainder of lhs / rhs rounded toward zero, of floats."""

    name = "cuda_tile.remf"


@define
class RemIOp(SignedBinary):
    """Remainder of lhs / rhs rounded toward zero, of integers."""

    name = "cuda_tile.remi"


@define
class RsqrtOp(FloatUnary):
    """1 / sqrt(source)."""

    name = "cuda_tile.rsqrt"
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (flush_only_f32,)


@define
class ShLIOp(OverflowBinary):
    """Shift left; the amount is unsigned."""

    name = "cuda_tile.shli"


@define
class ShRIOp(SignedBinary):
    """Shift right, arithmetic if signed; the amount is unsigned."""

    name = "cuda_tile.shri"


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
class SubIOp(OverflowBinary):
    """lhs - rhs of integers, wrapping."""

    name = "cuda_tile.subi"


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


@define
class XOrIOp(IntegerBinary):
    """Bitwise exclusive or."""

    name = "cuda_tile.xori"


ARITHMETIC_OPS = tuple(
    value for key, value in list(globals().items())
    if key.endswith("Op") and isinstance(value, type) and "name" in value.__dict__ and key != "PowOp")
