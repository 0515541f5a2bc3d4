"""Element-wise operations of cuda_tile by kind of operands: shared base classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from xdsl.dialects.builtin import UnitAttr, i1
from xdsl.ir import Operation
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def

from .element_types import BASE_FLOATS, F32, INTEGERS
from .enums import IntegerOverflowAttr, RoundingMode, RoundingModeAttr, SignednessAttr
from .op_base import Check, PureOperation, elements, fail, one_of, same_types, tile
from .types import TileType

IEEE_MODES = (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF)
IEEE = one_of("rounding_mode", *IEEE_MODES)
F32_ONLY_MODES = (RoundingMode.APPROX, RoundingMode.FULL)


def flush_only_f32(op: Operation) -> None:
    """flush_to_zero is for f32 only."""
    if "flush_to_zero" in op.properties and (element_type := tile(op, "result").element_type) != F32:
        fail(f"flush_to_zero modifier only supported for f32 data type, but got: {element_type}")


def modes_only_f32(*modes: RoundingMode) -> Check:
    """The listed rounding modes are for f32 only."""

    def check(op: Operation) -> None:
        mode = op.properties.get("rounding_mode")
        if not isinstance(mode, RoundingModeAttr) or mode.data not in modes:
            return
        if (element_type := tile(op, "result").element_type) != F32:
            fail(f"{mode.data.value} modifier only supported for f32 data type, but got: {element_type}")

    return check


class FloatUnary(PureOperation):
    """One float tile to one of the same type."""

    source = operand_def()
    result = result_def()
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (
        elements(BASE_FLOATS, "source"),
        same_types("source", "result"),
    )


class IntegerUnary(PureOperation):
    """One integer tile to one of the same type."""

    source = operand_def()
    result = result_def()
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (
        elements(INTEGERS, "source"),
        same_types("source", "result"),
    )


class FloatBinary(PureOperation):
    """Two float tiles to one of the same type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (
        elements(BASE_FLOATS, "lhs"),
        same_types("lhs", "rhs", "result"),
    )


class IntegerBinary(PureOperation):
    """Two integer tiles to one of the same type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (
        elements(INTEGERS, "lhs"),
        same_types("lhs", "rhs", "result"),
    )


class RoundedFloatBinary(FloatBinary):
    """A float operation with an IEEE rounding mode."""

    rounding_mode = prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (IEEE, flush_only_f32)


class FloatMinMax(FloatBinary):
    """Minimum or maximum; without ``propagate_nan`` a NaN operand is ignored."""

    propagate_nan = opt_prop_def(UnitAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (flush_only_f32,)


class OverflowBinary(IntegerBinary):
    """An integer operation with an assumption on overflow."""

    overflow = prop_def(IntegerOverflowAttr)


class SignedBinary(IntegerBinary):
    """An integer operation that depends on the signedness of its operands."""

    signedness = prop_def(SignednessAttr)


def result_is_i1(op: Operation) -> None:
    lhs = tile(op, "lhs")
    if op.results[0].type != TileType(lhs.shape, i1):
        fail(f"'result' must be a tile of i1 in the shape of the operands, got {op.results[0].type}")
