"""MMA operations: accumulated in float64 or int64, then perturbed within the error that Tile IR leaves unspecified.

The float64 accumulation is sequential in k, so that results are the same on every CPU, which a BLAS does not guarantee.
"""

from __future__ import annotations

import numpy as np

from ...ir.dialects.cuda_tile.enums import Signedness
from ...ir.dialects.cuda_tile.ops_matrix import MmaFOp, MmaFScaledOp, MmaIOp
from .element_types import F8E4M3, F8E5M2, F32, FORMATS, Format, element_of, to_float64
from .float_ops import narrowed
from .integer_ops import to_int64, wrap
from .summation_error_bounds import exponents, is_exact, overflow_outcomes, sum_error_bound
from .tile_block_interpreter import Frame, handles

# Tensor cores of sm_90 accumulate fp8 with 13 fraction bits (DeepSeek-V3 Technical Report, arXiv 2412.19437, section
# 3.5.2); these partial sums are added to the accumulator in its own precision.
FAST_EPSILON = 2.0**-13
# Half of the smallest bf16: an element times its scale fits the precision of bf16, but may underflow.
SCALED_TINY = 2.0**-134
EIGHT_BITS = (F8E4M3, F8E5M2)


def matmul_float64(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """lhs (…, m, k) @ rhs (…, k, n) in float64."""
    total = np.zeros((*np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2]), lhs.shape[-2], rhs.shape[-1]))
    scratch = np.empty_like(total)
    for k in range(lhs.shape[-1]):
        total += np.multiply(lhs[..., :, k, None], rhs[..., None, k, :], out=scratch)
    return total


def _multiply(frame: Frame, op, lhs: np.ndarray, rhs: np.ndarray, epsilon: float, lost: float = 0.0) -> np.ndarray:
    """lhs @ rhs + acc, perturbed within the error bound of an accumulation in any order (``summation_error_bounds.py``).

    Products are accumulated with precision ``epsilon``, acc in its own. ``lost`` is the absolute error of each element of lhs
    and rhs.
    """
    element_type = element_of(op.acc)
    form, acc = FORMATS[element_type], to_float64(frame.get(op.acc), element_type)
    total = matmul_float64(lhs, rhs) + acc
    finite = [np.where(np.isfinite(value), value, 0) for value in (lhs, rhs, acc)]
    sizes = [np.abs(value) for value in finite]
    magnitudes, count = matmul_float64(sizes[0], sizes[1]), lhs.shape[-1] + 1
    amount = sum_error_bound(magnitudes, count, epsilon, form) + sum_error_bound(sizes[2], count, form.epsilon, form)
    if lost:
        amount += lost * (sizes[0].sum(-1, keepdims=True) + sizes[1].sum(-2, keepdims=True))
        amount *= sizes[0].any(-1, keepdims=True) & sizes[1].any(-2, keepdims=True)
    elif frame.choice.random is not None:
        amount = np.where(_is_exact_sum(finite, magnitudes, sizes[2], epsilon, form), 0, amount)
    result = frame.choice.perturb_stored(narrowed(total, element_type), element_type, amount)
    return _mark_overflow_unspecified(frame, op, result, finite, magnitudes + sizes[2], amount * np.sqrt(count), total)


def _is_exact_sum(
    finite: list[np.ndarray], magnitudes: np.ndarray, acc: np.ndarray, epsilon: float, form: Format
) -> np.ndarray:
    """Which accumulations are exact in any order: all products of an element are multiples of its row's and column's unit."""
    row, column = exponents(finite[0]).min(-1, keepdims=True), exponents(finite[1]).min(-2, keepdims=True)
    unit = row + column
    both = np.minimum(unit, exponents(finite[2]))
    return is_exact(magnitudes, unit, epsilon, form) & is_exact(magnitudes + acc, both, form.epsilon, form)


def _mark_overflow_unspecified(
    frame: Frame,
    op,
    result: np.ndarray,
    finite: list[np.ndarray],
    size: np.ndarray,
    slack: np.ndarray,
    whole: np.ndarray,
) -> np.ndarray:
    """``result``, or an infinity or NaN where a partial sum may overflow and the total does not; ``whole`` is the float64 total."""
    limit = FORMATS[element_of(op.acc)].max_value
    if np.all(size + slack <= limit):
        return result
    with np.errstate(all="ignore"):
        total = matmul_float64(finite[0], finite[1]) + finite[2]
        infinite = np.where(np.isinf(total), 0, whole)
        open_ = overflow_outcomes(total, (size + total) / 2, (total - size) / 2, slack, limit, infinite=infinite)
    return frame.choice.overflow(result, open_)


@handles(MmaFOp)
def multiply_floats(frame: Frame, op: MmaFOp):
    lhs, rhs = (to_float64(frame.get(operand), element_of(operand)) for operand in (op.lhs, op.rhs))
    epsilon = FORMATS[element_of(op.acc)].epsilon
    if element_of(op.lhs) in EIGHT_BITS:
        epsilon = max(epsilon, FAST_EPSILON)
    return _multiply(frame, op, lhs, rhs, epsilon)


def _scaled(frame: Frame, operand, scale, axis: int) -> np.ndarray:
    values, scales = (to_float64(frame.get(value), element_of(value)) for value in (operand, scale))
    return values * np.repeat(scales, values.shape[axis] // scales.shape[axis], axis=axis)


@handles(MmaFScaledOp)
def multiply_scaled(frame: Frame, op: MmaFScaledOp):
    """The operands are scaled first, in an unspecified type that has the range of the result.

    The result for a negative f8E4M3FN scale is unspecified (CudaTile/IR/Ops.td, note of ``mmaf_scaled``).
    """
    lhs, rhs = _scaled(frame, op.lhs, op.lhs_scale, -1), _scaled(frame, op.rhs, op.rhs_scale, -2)
    fast = element_of(op.lhs) in EIGHT_BITS
    epsilon = FAST_EPSILON if fast else FORMATS[element_of(op.acc)].epsilon
    result = _multiply(frame, op, lhs, rhs, epsilon, SCALED_TINY)
    over = [_overflows(scaled, axis) for scaled, axis in ((lhs, -1), (rhs, -2))]
    over += [_is_negative(frame, scale, axis) for scale, axis in ((op.lhs_scale, -1), (op.rhs_scale, -2))]
    return frame.choice.fill_unspecified(
        result, np.broadcast_to(np.logical_or.reduce(np.broadcast_arrays(*over)), result.shape)
    )


def _overflows(scaled: np.ndarray, axis: int) -> np.ndarray:
    """The rows or columns in which a scaled element overflows f32."""
    large = np.isfinite(scaled) & (np.abs(scaled) > FORMATS[F32].max_value)
    return large.any(axis=axis, keepdims=True)


def _is_negative(frame: Frame, scale, axis: int) -> np.ndarray:
    """The rows or columns with a negative f8E4M3FN scale."""
    type = element_of(scale)
    values = frame.get(scale)
    negative = to_float64(values, type) < 0 if type == F8E4M3 else np.zeros(np.shape(values), bool)
    return np.any(negative, axis=axis, keepdims=True)


@handles(MmaIOp)
def multiply_integers(frame: Frame, op: MmaIOp):
    def widened(operand, sign) -> np.ndarray:
        return to_int64(frame.get(operand), element_of(operand), sign.data is Signedness.SIGNED).astype(np.int64)

    lhs, rhs = widened(op.lhs, op.signedness_lhs), widened(op.rhs, op.signedness_rhs)
    total = np.matmul(lhs, rhs) + to_int64(frame.get(op.acc), element_of(op.acc), True)
    return wrap(total, element_of(op.acc))
