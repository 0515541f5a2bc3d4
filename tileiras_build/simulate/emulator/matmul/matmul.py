"""Matrix multiplication with exact accumulation, or in the order of BLAS.

The PTX ISA leaves the order and the rounding of the additions in an MMA unspecified, with at least single precision (PTX ISA
9.0, sections 9.7.14.5.14, 9.7.15.5 and 9.7.16.10). Here an element of A B is the exact sum of its k products, rounded once to
float32: to nearest even, and zeros are +0. The result is therefore the same on every CPU, with every BLAS, for any number of
threads and any batching of matrices. (``matmul_rounding="blas"`` of a launch uses NumPy's BLAS in float32: it is faster, and
the last bits depend on the CPU.)

BLAS does the work where the order cannot matter. With numbers of A that are multiples of a unit u and at most a, those of B
of v and b, all products are multiples of u v, and every sum of k of them is exact in float64 if k a b <= 2^53 u v. For f16
within [-1, 1] and k = 16 that always holds: u is 2^-24. What may not be exact is compared with the bound of its error: only
a sum that could round to either of two float32 numbers is added up anew, exactly.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from ..native.native_code import is_ready
from ..numerics import float_arithmetic
from ..numerics.float_formats import f32, f64
from ..simt.broadcasting import are_all, is_any
from . import gemm, pack_operands
from .operand_value_ranges import MIN_EXACT_EXPONENT, MatmulOperand, compute_extremes

SMALLEST_NORMAL = 2.0**-126  # of float32
EXACT = {f32: 2.0**24, f64: 2.0**53}  # up to which all multiples of 1 are in the type


ROUNDED_ONCE, BLAS_ORDER = ROUNDING_MODES = ("exact", "blas")  # values of ``matmul_rounding``


def multiply(left: MatmulOperand, right: MatmulOperand, rounding: str = ROUNDED_ONCE) -> np.ndarray:
    """A B (stack, m, n) in float32; the stacks are as long as each other, or one is of length 1."""
    if rounding == BLAS_ORDER:
        return in_blocks(left.values.astype(f32, copy=False), right.values.astype(f32, copy=False).swapaxes(-1, -2))
    stack = max(len(left.values), len(right.values))
    out = np.empty((stack, left.values.shape[1], right.values.shape[1]), f32)
    accumulate(out, [(left, right)], fresh=True)
    return out


@np.errstate(all="ignore")
def accumulate(
    total: np.ndarray,
    steps: list[tuple[MatmulOperand, MatmulOperand]],
    rounding: str = ROUNDED_ONCE,
    *,
    fresh: bool = False,
) -> None:
    """Add the products of pairs (A, B) to ``total`` (stack, m, n), in order, each rounded like the result of ``multiply``.

    ``fresh``: ``total`` is uninitialized. The loop is blocked for the CPU's caches.
    """
    if rounding == BLAS_ORDER:
        return _add_by_blas(total, steps, fresh)
    layout = gemm.contiguous_layout(total)
    if layout is not None and (errors := native_error_bounds(steps, len(total))) is not None:
        return gemm.accumulate(total, [] if fresh else [total], layout, steps, errors)
    accumulate_in_slices(total, steps, fresh=fresh)


@np.errstate(all="ignore")
def accumulate_in_slices(total: np.ndarray, steps: list[tuple[MatmulOperand, MatmulOperand]], *, fresh: bool) -> None:
    """Like ``accumulate``, by NumPy, for operands that native code does not support."""
    ways = [_MultiplyPlan(left, right) for left, right in steps]
    scratch = None
    for part in slices(total.shape, max(way.k for way in ways)):
        old = total[part]
        scratch = scratch or _Scratch(old.size)  # the first part is the largest
        views = scratch.of(old.shape)
        _add_first(old, ways[0].multiply_slice(part, views), fresh)
        for way in ways[1:]:
            np.add(way.multiply_slice(part, views), old, out=old)


def native_error_bounds(steps: list[tuple[MatmulOperand, MatmulOperand]], stack: int) -> np.ndarray | None:
    """The error bounds (stack, steps) for ``gemm.accumulate`` of these steps to ``stack`` matrices.

    None if NumPy must do it, or if native code does not pay off.
    """
    (left, right), *_ = steps
    (_, m, k), n = left.shape, right.shape[1]
    if k % gemm.K_MULTIPLE or not all(map(_needs_float64, steps)):
        return None
    sides = [(pack_operands.kind_of(side), bool(side.blocks)) for step in steps for side in step]
    if None in {kind for kind, _ in sides} or any(len(set(sides[side::2])) > 1 for side in (0, 1)):
        return None
    if not is_ready(stack * m * n * k * len(steps)):
        return None
    if _types_sum_exactly(left, right):
        return np.zeros((stack, len(steps))) if all(map(_are_finite, zip(*steps))) else None
    if min(left.float_range.lowest, right.float_range.lowest) < MIN_EXACT_EXPONENT:  # the types alone give no bound
        known = matrix_error_bounds(steps, stack)
        if known is not None:
            return known
    for factors in zip(*steps):
        compute_extremes(factors)
    errors = np.array([_largest_error(*step) for step in steps])
    if not are_all(np.isfinite(errors)):
        return None
    known = matrix_error_bounds(steps, stack) if is_any(errors) else None
    return np.broadcast_to(errors, (stack, len(steps))) if known is None else known


def _types_sum_exactly(left: MatmulOperand, right: MatmulOperand) -> bool:
    """Whether all products of numbers of these types have exact sums in float64."""
    return left.shape[-1] * left.float_range.ratio * right.float_range.ratio <= EXACT[f64]


def _are_finite(factors: Sequence[MatmulOperand]) -> bool:
    """Whether all numbers of factors of one kind and shape are finite."""
    compute_extremes(factors)
    return all(math.isfinite(factor.extremes[0]) for factor in factors)


def matrix_error_bounds(steps: list[tuple[MatmulOperand, MatmulOperand]], stack: int) -> np.ndarray | None:
    """The error bounds (stack, steps) by the extremes of each matrix, computed by native code; None if unsupported or not finite."""
    of_left, of_right = (_extremes(factors) for factors in zip(*steps))
    if of_left is None or of_right is None:
        return None
    (left, left_bound), (right, right_bound) = of_left, of_right
    k = steps[0][0].shape[-1]
    errors = left.max(axis=0) * right.max(axis=0) * (k * (k + 2) * 2.0**-53)
    if not are_all(np.isfinite(errors)):
        return None
    return np.broadcast_to(np.where(left_bound * right_bound * k <= EXACT[f64], 0.0, errors), (stack, len(steps)))


def _needs_float64(step: tuple[MatmulOperand, MatmulOperand]) -> bool:
    left, right = step
    return left.shape[-1] * left.float_range.ratio * right.float_range.ratio > EXACT[f32]


def _largest_error(left: MatmulOperand, right: MatmulOperand) -> float:
    """Of k fused or other additions in float64 in any order, and of one more (Higham, "Accuracy and Stability", section 3.1);
    not finite where a number is not."""
    k = left.shape[-1]
    if k * left.bound * right.bound <= EXACT[f64]:
        return 0.0
    return left.extremes[0] * right.extremes[0] * (k * (k + 2) * 2.0**-53)


def _extremes(factors: Sequence[MatmulOperand]) -> tuple[np.ndarray, np.ndarray] | None:
    """(largest magnitude, bound), both (stack, steps), of the matrices of factors of one kind; None if native code does not support them."""
    groups = [pieces for factor in factors if (pieces := factor.memory_pieces())]
    count, kind = factors[0].shape[0], pack_operands.known_kind_of(factors[0])
    if len(groups) < len(factors) or any(piece.nbytes % (32 * count) for pieces in groups for piece in pieces):
        return None
    found = pack_operands.numbers_of(pack_operands.magnitudes(groups, kind, count), kind).astype(f64)
    float_range, (largest, smallest) = factors[0].float_range, np.moveaxis(found, -1, 0)
    exponents = np.maximum(np.frexp(smallest)[1] - 1, float_range.lowest) + 1 - float_range.bits
    return largest.T, np.ldexp(largest, -exponents).T


def _matrices_sum_exactly(left: MatmulOperand, right: MatmulOperand) -> np.ndarray:
    """Per matrix: whether what is added is a multiple of a unit and adds up to at most 2^53 of them (Cauchy and Schwarz)."""
    return left.row_norms * right.row_norms <= EXACT[f64] * left.units * right.units


def _add_by_blas(total: np.ndarray, steps: list[tuple[MatmulOperand, MatmulOperand]], fresh: bool) -> None:
    for number, (left, right) in enumerate(steps):
        product = multiply(left, right, BLAS_ORDER)
        if fresh and not number:
            total[...] = product
        else:
            np.add(product, total, out=total)


def in_blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """np.matmul of stacks of small matrices, in blocks of columns for which BLAS starts no threads."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    step = max(BLAS_ONE_THREAD // (m * k), 1)
    if n <= step:
        return np.matmul(a, b)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n)
    out = np.empty(shape, np.result_type(a, b))
    for at in range(0, n, step):
        out[..., at : at + step] = np.matmul(a, b[..., at : at + step])
    return out


def _add_first(old: np.ndarray, product_f32: np.ndarray, fresh: bool) -> None:
    """Add a product after making its zeros positive; then the sum has no negative zeros, and later products may."""
    np.add(product_f32, f32(0), out=old if fresh else product_f32)
    if not fresh:
        np.add(product_f32, old, out=old)


class _Scratch:
    """Arrays for one part at a time: its sums in float64 and float32, those that an error could make of them, and a mask."""

    def __init__(self, size: int):
        self.arrays = [np.empty(size, kind) for kind in (f64, f32, f32, bool)]

    def of(self, shape: tuple[int, ...]) -> list[np.ndarray]:
        size = math.prod(shape)
        return [array[:size].reshape(shape) for array in self.arrays]


BLAS_ONE_THREAD = 1 << 18  # m * n * k up to which OpenBLAS uses no threads, which do not pay off here
SLICE_ELEMENTS = 1 << 14  # elements whose sums, in float64 and float32, fit a second-level cache


def slices(shape: tuple[int, int, int], k: int):
    """Slices (of the stack, of the rows) of parts of a stack of products."""
    stack, m, n = shape
    most = min(BLAS_ONE_THREAD // k, SLICE_ELEMENTS)
    count = max(most // (m * n), 1)
    rows = m if count > 1 else min(max(most // n, 1), m)
    for first in range(0, stack, count):
        for row in range(0, m, rows):
            yield slice(first, first + count), slice(row, row + rows)


class _MultiplyPlan:
    """The multiplication of a pair of factors: the ``type``, and the error bound of a sum per matrix, or None if all are exact."""

    def __init__(self, left: MatmulOperand, right: MatmulOperand):
        self.k = left.values.shape[-1]
        self.errors = None
        exact = [EXACT[kind] for kind in (f32, f64) if self.surely_within(left, right, EXACT[kind])]
        self.type = f32 if EXACT[f32] in exact else f64
        if not exact:
            self.errors = self.possible_errors(left, right)
        self.left, self.right = left.values, right.values
        self.columns, self.columns_of = self.right, slice(0)  # of ``right`` in ``type``, and which part

    def surely_within(self, left: MatmulOperand, right: MatmulOperand, limit: float) -> bool:
        """A quick test whether all sums are exact in a type that has all integers up to ``limit``."""
        if self.k * left.float_range.ratio * right.float_range.ratio <= limit:
            return True
        leaves_float32 = min(left.float_range.lowest, right.float_range.lowest) < MIN_EXACT_EXPONENT
        return not (leaves_float32 and limit == EXACT[f32]) and self.k * left.bound * right.bound <= limit

    def possible_errors(self, left: MatmulOperand, right: MatmulOperand) -> np.ndarray | None:
        """Per matrix, of k additions in float64 in any order (Higham, "Accuracy and Stability", section 3.1)."""
        exact = _matrices_sum_exactly(left, right)
        if are_all(exact):
            return None
        return np.where(exact, 0, left.largest * right.largest * (self.k * (self.k + 1) * 2.0**-53))

    def multiply_slice(self, piece: tuple[slice, slice], views: list[np.ndarray]) -> np.ndarray:
        """The part's sums in float32, in one of the arrays of a ``_Scratch``."""
        wide, out, other, near = views
        scratch = out if self.type is f32 else wide
        stack, rows = piece
        a = self.left[stack if len(self.left) > 1 else slice(1), rows].astype(self.type)
        which = stack if len(self.right) > 1 else slice(1)
        if which != self.columns_of:
            self.columns, self.columns_of = self.right[which].astype(self.type), which
        np.matmul(a, self.columns.swapaxes(-1, -2), out=scratch)
        if self.type is f32:
            return scratch
        errors = None if self.errors is None else self.errors[stack if len(self.errors) > 1 else slice(1)]
        if errors is None or not is_any(errors):
            np.copyto(out, scratch, casting="same_kind")
            return out
        error = errors[:, None, None]
        np.subtract(scratch, error, out=out, casting="same_kind")
        np.add(scratch, error, out=other, casting="same_kind")
        if is_any(np.not_equal(out, other, out=near)):
            _round_near_midpoints(out, scratch, near, a, self.columns)
        return out


# -- sums that float64 may not hold ------------------------------------------------------------------
CHUNK = 1 << 14  # sums at a time: their products fit a second-level cache
FEW_DOTS = 64  # that are added up one by one


def _round_near_midpoints(
    out: np.ndarray, results: np.ndarray, near: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> None:
    """Round sums (stack, m, n) that may be ``near`` to the middle of two float32 numbers from their exact values."""
    near &= np.isfinite(results)
    np.copyto(out, results, casting="same_kind", where=~np.isfinite(results))
    flat, (_, m, n) = np.flatnonzero(near), results.shape
    for start in range(0, len(flat), CHUNK):
        some = flat[start : start + CHUNK]
        at, row, column = some // (m * n), some // n % m, some % n
        terms = rows[at if len(rows) > 1 else 0, row] * columns[at if len(columns) > 1 else 0, column]
        out[at, row, column] = (
            round_dots(terms) if len(at) > FEW_DOTS else [_round_dot(line) for line in terms.tolist()]
        )


@np.errstate(over="ignore")
def round_dots(terms: np.ndarray) -> np.ndarray:
    """The exact sums of float64 terms (sums, k), rounded once to float32."""
    terms = np.ascontiguousarray(terms.T)
    total, lost = terms[0], np.zeros(terms.shape[1], bool)
    for term in terms[1:]:
        total, error = float_arithmetic.two_sum(total, term)
        lost |= error != 0
    out = total.astype(f32)
    if is_any(lost):
        out[lost] = _round_inexact(terms[:, lost])
    return out


def _round_inexact(terms: np.ndarray) -> np.ndarray:
    """As ``round_dots``, of (k, sums): with a second sum, of the errors of the first."""
    total, rest = terms[0], np.zeros(terms.shape[1])
    lost = np.zeros(terms.shape[1], bool)
    for term in terms[1:]:
        total, error = float_arithmetic.two_sum(total, term)
        rest, error = float_arithmetic.two_sum(rest, error)
        lost |= error != 0
    out = float_arithmetic.add_to_odd(total, rest).astype(f32)
    for i in np.flatnonzero(lost):
        out[i] = _round_dot(terms[:, i].tolist())
    return out


def _round_dot(terms: list[float]) -> np.float32:
    high = math.fsum(terms)
    if _rounds_the_same(high):
        return f32(high)
    return float_arithmetic.add_to_odd(f64(high), f64(math.fsum([*terms, -high]))).astype(f32)


def _rounds_the_same(nearest: float) -> bool:
    """Whether the float64 nearest to a number rounds to the same float32 as the number itself."""
    low = struct.unpack("<Q", struct.pack("<d", nearest))[0] & (1 << 29) - 1
    return low != 1 << 28 and abs(nearest) >= SMALLEST_NORMAL
