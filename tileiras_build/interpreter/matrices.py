"""Matrix products: summed in float64 or int64, then moved by what the order and width of a sum leave open.

Sums of float64 are made in the order of k, one product after the other: the same numbers on every CPU, which a BLAS does not
promise.
"""

from __future__ import annotations

import numpy as np

from ..dialects.cuda_tile.enums import Signedness
from ..dialects.cuda_tile.ops_matrix import MmaFOp, MmaFScaledOp, MmaIOp
from .floats import narrowed
from .formats import F8E4M3, F8E5M2, F32, FORMATS, element_of, to_float64
from .integers import to_int64, wrap
from .machine import Frame, handles

# Tensor cores of sm_90 add 8-bit products with 13 fraction bits (DeepSeek-V3 Technical Report, arXiv 2412.19437, section
# 3.5.2); such sums are added to the accumulator in its own precision.
FAST_EPSILON = 2.0**-13
# Half of the smallest bf16: products of a small format and a scale fit bf16 but for its range.
SCALED_TINY = 2.0**-134
EIGHT_BITS = (F8E4M3, F8E5M2)


def product(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """lhs (…, m, k) times rhs (…, k, n) in float64."""
    total = np.zeros((*np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2]), lhs.shape[-2], rhs.shape[-1]))
    scratch = np.empty_like(total)
    for k in range(lhs.shape[-1]):
        total += np.multiply(lhs[..., :, k, None], rhs[..., None, k, :], out=scratch)
    return total


def _multiply(frame: Frame, op, lhs: np.ndarray, rhs: np.ndarray, epsilon: float, lost: float = 0.0) -> np.ndarray:
    """lhs times rhs plus acc, moved by the error of a sum of that many products in that precision, and of acc in its own.

    ``lost`` is the absolute error of each element of lhs and rhs.
    """
    element_type = element_of(op.acc)
    acc = to_float64(frame.get(op.acc), element_type)
    total = product(lhs, rhs) + acc
    depth = np.sqrt(lhs.shape[-1] + 1)
    finite = [np.nan_to_num(np.abs(value), posinf=0) for value in (lhs, rhs, acc)]
    products = product(finite[0], finite[1])
    size = products + finite[2]
    amount = (products * epsilon + finite[2] * FORMATS[element_type].epsilon) * depth
    if lost:
        amount += lost * (finite[0].sum(-1, keepdims=True) + finite[1].sum(-2, keepdims=True))
    result = frame.choice.spread(narrowed(total, element_type), element_type, amount)
    # A partial sum may overflow where the whole does not.
    return frame.choice.fill(result, size > FORMATS[element_type].largest * 0.99)


@handles(MmaFOp)
def multiply_floats(frame: Frame, op: MmaFOp):
    lhs, rhs = (to_float64(frame.get(factor), element_of(factor)) for factor in (op.lhs, op.rhs))
    epsilon = FORMATS[element_of(op.acc)].epsilon
    if element_of(op.lhs) in EIGHT_BITS:
        epsilon = max(epsilon, FAST_EPSILON)
    return _multiply(frame, op, lhs, rhs, epsilon)


def _scaled(frame: Frame, factor, scale, axis: int) -> np.ndarray:
    values, scales = (to_float64(frame.get(value), element_of(value)) for value in (factor, scale))
    return values * np.repeat(scales, values.shape[axis] // scales.shape[axis], axis=axis)


@handles(MmaFScaledOp)
def multiply_scaled(frame: Frame, op: MmaFScaledOp):
    """The factors are scaled first, and in which type is open; one with the range of the result holds them.

    What becomes of a negative scale of f8E4M3FN is open, too (CudaTile/IR/Ops.td, note of ``mmaf_scaled``).
    """
    lhs, rhs = _scaled(frame, op.lhs, op.lhs_scale, -1), _scaled(frame, op.rhs, op.rhs_scale, -2)
    fast = element_of(op.lhs) in EIGHT_BITS
    epsilon = FAST_EPSILON if fast else FORMATS[element_of(op.acc)].epsilon
    result = _multiply(frame, op, lhs, rhs, epsilon, SCALED_TINY)
    over = [_overflows(factor, axis) for factor, axis in ((lhs, -1), (rhs, -2))]
    over += [_is_negative(frame, scale, axis) for scale, axis in ((op.lhs_scale, -1), (op.rhs_scale, -2))]
    return frame.choice.fill(result, np.broadcast_to(np.logical_or.reduce(np.broadcast_arrays(*over)), result.shape))


def _overflows(scaled: np.ndarray, axis: int) -> np.ndarray:
    """In which rows or columns a scaled number is too large for f32."""
    large = np.isfinite(scaled) & (np.abs(scaled) > FORMATS[F32].largest)
    return large.any(axis=axis, keepdims=True)


def _is_negative(frame: Frame, scale, axis: int) -> np.ndarray:
    """In which rows or columns a scale of the type that only has a sign for nothing is less than zero."""
    type = element_of(scale)
    values = frame.get(scale)
    negative = to_float64(values, type) < 0 if type == F8E4M3 else np.zeros(np.shape(values), bool)
    return np.any(negative, axis=axis, keepdims=True)


@handles(MmaIOp)
def multiply_integers(frame: Frame, op: MmaIOp):
    def widened(factor, sign) -> np.ndarray:
        return to_int64(frame.get(factor), element_of(factor), sign.data is Signedness.SIGNED).astype(np.int64)

    lhs, rhs = widened(op.lhs, op.signedness_lhs), widened(op.rhs, op.signedness_rhs)
    total = np.matmul(lhs, rhs) + to_int64(frame.get(op.acc), element_of(op.acc), True)
    return wrap(total, element_of(op.acc))
