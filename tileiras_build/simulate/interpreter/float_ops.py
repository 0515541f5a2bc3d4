"""Float arithmetic: correctly rounded operations, comparisons, and functions with errors of a few ulps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, Operation

from ...ir.dialects.cuda_tile.enums import ComparisonOrdering, RoundingMode
from ...ir.dialects.cuda_tile.ops_float import (
    AbsFOp,
    AddFOp,
    Atan2Op,
    CeilOp,
    CmpFOp,
    CosHOp,
    CosOp,
    DivFOp,
    Exp2Op,
    ExpOp,
    FloorOp,
    FmaOp,
    FPowFOp,
    FPowIOp,
    Log2Op,
    LogOp,
    MaxFOp,
    MinFOp,
    MulFOp,
    NegFOp,
    RemFOp,
    RsqrtOp,
    SinHOp,
    SinOp,
    SqrtOp,
    SubFOp,
    TanHOp,
    TanOp,
)
from .element_types import F32, F64, FORMATS, element_of, from_bit_patterns, from_float64, to_bit_patterns, to_float64
from .ieee_rounding import compute, flush, quantize
from .integer_ops import COMPARISONS, element, to_int64
from .randomize_unspecified_values import ulp_of
from .tile_block_interpreter import Frame, handles

CORRECTLY_ROUNDED_OPS: dict[type[Operation], str] = {
    AddFOp: "add",
    SubFOp: "sub",
    MulFOp: "mul",
    FmaOp: "fma",
    DivFOp: "div",
    SqrtOp: "sqrt",
}
FAST_ROUNDING = (RoundingMode.APPROX, RoundingMode.FULL)
FAST_ULPS = {DivFOp: 2, SqrtOp: 4}


@handles(*CORRECTLY_ROUNDED_OPS)
def rounded(frame: Frame, op):
    """An IEEE operation; inside a reduction its operands depend on the unspecified order."""
    mode, ftz = op.rounding_mode.data, "flush_to_zero" in op.properties
    fast = mode in FAST_ROUNDING
    operands = frame.operands(op)
    result = compute(
        CORRECTLY_ROUNDED_OPS[type(op)], element(op), RoundingMode.NEAREST_EVEN if fast else mode, ftz, *operands
    )
    if fast:
        result = _mark_fast_math_unspecified(
            frame, op, operands, frame.choice.perturb_ulps(result, element(op), FAST_ULPS[type(op)])
        )
    if frame.merged:
        result = frame.choice.perturb_ulps(result, element(op), np.sqrt(frame.merged))
    return result


def _mark_fast_math_unspecified(frame: Frame, op, operands: list, result: np.ndarray) -> np.ndarray:
    """The fast forms are unspecified for divisors above 2^126 and for denormals."""
    wide = [np.abs(to_float64(operand, element(op))) for operand in operands]
    extreme = [(value != 0) & np.isfinite(value) & ((value < 2.0**-126) | (value > 2.0**126)) for value in wide]
    tiny = np.abs(to_float64(result, element(op)))
    return frame.choice.fill_unspecified(result, np.logical_or.reduce(extreme) | ((tiny != 0) & (tiny < 2.0**-125)))


def _change_sign(op, values: np.ndarray, change: Callable) -> np.ndarray:
    words = to_bit_patterns(values, element(op))
    sign = words.dtype.type(1 << words.dtype.itemsize * 8 - 1)
    return from_bit_patterns(change(words, sign), element(op))


@handles(AbsFOp)
def absolute(frame: Frame, op):
    return _change_sign(op, frame.operands(op)[0], lambda words, sign: words & ~sign)


@handles(NegFOp)
def negate(frame: Frame, op):
    return _change_sign(op, frame.operands(op)[0], lambda words, sign: words ^ sign)


EXACT_OPS = {CeilOp: np.ceil, FloorOp: np.floor, RemFOp: np.fmod}


@handles(*EXACT_OPS)
def exact(frame: Frame, op):
    wide = [to_float64(value, element(op)) for value in frame.operands(op)]
    return from_float64(EXACT_OPS[type(op)](*wide), element(op))


EXTREMA = {MaxFOp: 1, MinFOp: -1}


@handles(*EXTREMA)
def extremum(frame: Frame, op):
    """The larger or smaller operand; -0 is less than +0, a lone NaN loses unless it is propagated."""
    x, y = (to_float64(value, element(op)) for value in frame.operands(op))
    if "flush_to_zero" in op.properties:
        x, y = flush(x.astype(np.float32)).astype(np.float64), flush(y.astype(np.float32)).astype(np.float64)
    first = (
        np.where(x == y, np.signbit(x) <= np.signbit(y), x > y)
        if EXTREMA[type(op)] > 0
        else np.where(x == y, np.signbit(x) >= np.signbit(y), x < y)
    )
    result = np.where(first, x, y)
    unordered = np.isnan(x) | np.isnan(y)
    lone = np.nan if "propagate_nan" in op.properties else np.where(np.isnan(x), y, x)
    return from_float64(np.where(unordered, lone, result), element(op))


@handles(CmpFOp)
def compare(frame: Frame, op: CmpFOp):
    x, y = (to_float64(value, element(op)) for value in frame.operands(op))
    unordered = np.isnan(x) | np.isnan(y)
    holds = COMPARISONS[op.comparison_predicate.data](x, y)
    if op.comparison_ordering.data is ComparisonOrdering.ORDERED:
        return np.asarray(holds & ~unordered)
    return np.asarray(holds | unordered)


@dataclass(frozen=True)
class Function:
    """A function with its largest error in units in the last place, of f32 and of f64 (CUDA C++ Programming Guide,
    "Mathematical Functions"), and an absolute error of f32 that hardware approximations have instead."""

    compute: Callable
    ulps: float
    wide_ulps: float = 2
    approximate_ulps: float | None = None
    absolute: float = 0.0


# Hardware approximations: PTX ISA, "Floating Point Instructions": tanh.approx has a relative error of 2^-11.
FUNCTIONS: dict[type, Function] = {
    Atan2Op: Function(np.arctan2, 3),
    CosOp: Function(np.cos, 2),
    CosHOp: Function(np.cosh, 2),
    ExpOp: Function(np.exp, 2, approximate_ulps=4),
    Exp2Op: Function(np.exp2, 3),
    FPowFOp: Function(np.power, 8),
    LogOp: Function(np.log, 2),
    Log2Op: Function(np.log2, 2, absolute=2.0**-22),
    RsqrtOp: Function(lambda x: 1 / np.sqrt(x), 3),
    SinOp: Function(np.sin, 2),
    SinHOp: Function(np.sinh, 3),
    TanOp: Function(np.tan, 4),
    TanHOp: Function(np.tanh, 2, approximate_ulps=2.0**13),
}


@handles(*FUNCTIONS)
def transcendental(frame: Frame, op):
    """A function in float64, perturbed within its error; narrow types are computed in f32 and rounded again."""
    row, wide = FUNCTIONS[type(op)], [to_float64(value, element(op)) for value in frame.operands(op)]
    return _round_function(frame, op, row, wide)


def _round_function(frame: Frame, op, function: Function, wide: list[np.ndarray]) -> np.ndarray:
    ftz = "flush_to_zero" in op.properties
    if ftz:
        wide = [flush(value.astype(np.float32)).astype(np.float64) for value in wide]
    value = np.asarray(function.compute(*wide))
    result = _perturbed(frame, op, function, wide, value)
    result = from_float64(result, element(op))
    return flush(result) if ftz else result


def _perturbed(frame: Frame, op, function: Function, wide: list[np.ndarray], value: np.ndarray) -> np.ndarray:
    if element(op) == F64:
        return frame.choice.perturb(value, ulp_of(value, FORMATS[F64]) * function.wide_ulps, F64)
    approximate = "rounding_mode" in op.properties and op.rounding_mode.data is RoundingMode.APPROX
    ulps: float | np.ndarray = function.ulps
    if approximate and function.approximate_ulps is not None:
        ulps = function.approximate_ulps
    if approximate and type(op) is ExpOp:
        ulps = ulps + np.abs(1.5 * wide[0])  # the argument is scaled in f32 first
    amount = ulp_of(value, FORMATS[F32]) * ulps + function.absolute * (value != 0)
    result = frame.choice.perturb(value, amount, F32)
    if element(op) == F32:
        return result
    narrow = FORMATS[element(op)]  # an error in f32 can change the second rounding
    result = quantize(result, narrow)
    return frame.choice.perturb(result, ulp_of(result, narrow), element(op))


@handles(FPowIOp)
def integer_power(frame: Frame, op: FPowIOp):
    base = to_float64(frame.get(op.source), element(op))
    exponent = to_int64(frame.get(op.exponent), element_of(op.exponent), True).astype(np.float64)
    return _round_function(frame, op, FUNCTIONS[FPowFOp], [base, exponent])


def narrowed(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """float64 values rounded to nearest to an element type."""
    if element_type == F64:
        return np.asarray(values)
    return from_float64(quantize(np.asarray(values), FORMATS[element_type]), element_type)
