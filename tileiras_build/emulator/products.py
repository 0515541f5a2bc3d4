"""Products of matrices, with sums that are exact, or in the order of the BLAS.

The PTX ISA leaves the order and the rounding of the additions of a product open, above single precision (PTX ISA 9.0,
sections 9.7.14.5.14, 9.7.15.5 and 9.7.16.10). Here an element of A B is the exact sum of its k products, rounded once to
float32: to nearest even, a zero is +0. So a product is the same on every CPU, with every BLAS, for any number of threads,
and however matrices are batched. (``sums="blas"`` of a launch leaves the order to NumPy's BLAS in float32: faster, and other
last bits on another CPU.)

BLAS does the work where the order cannot matter. With numbers of A that are multiples of a unit u and at most a, those of B
of v and b, all products are multiples of u v, and every sum of k of them is exact in float64 if k a b <= 2^53 u v. For f16
within [-1, 1] and k = 16 that always holds: u is 2^-24. What may not be exact is compared with the bound of its error: only
a sum that could round to either of two float32 numbers is added up anew, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import numerics
from .numerics import f32, f64

FEW = -30  # types with smaller exponents have units that say nothing
EXACT = {f32: 2.0**24, f64: 2.0**53}  # up to which all multiples of 1 are in the type


@dataclass(frozen=True)
class Numbers:
    """Floats of ``bits`` significant bits, at least 2^lowest but for subnormal ones, at most ``maximum``."""

    bits: int
    lowest: int
    maximum: float

    @cached_property
    def ratio(self) -> float:
        """The largest number over the unit that all are multiples of."""
        return self.maximum * 2.0 ** min(self.bits - 1 - self.lowest, 1000)


def _numbers(fmt: numerics.Format) -> Numbers:
    return Numbers(fmt.mantissa + 1, 1 - fmt.bias, fmt.maximum)


NUMBERS = {
    **{name: _numbers(fmt) for name, fmt in numerics.FORMATS.items()},
    "e2m1_packed": _numbers(numerics.FORMATS["e2m1"]),
    "scaled": Numbers(8, -1022, math.inf),  # fp8 times a power of two, or fp4 times fp8
    **{name: Numbers(bits, bits - 1, 2.0**bits) for bits, names in ((8, ("s8", "u8")), (4, ("s4", "u4"))) for name in names},
}  # fmt: skip


class Factor:
    """A stack of matrices A (…, m, k), or the columns (…, n, k) of matrices B.

    ``kind`` is a row of ``NUMBERS``, or f64, which ``multiply`` does not take: its products are not exact.
    """

    def __init__(self, values: np.ndarray, kind: str):
        self.values, self.kind, self.numbers = values, kind, NUMBERS.get(kind)

    @cached_property
    def wide(self) -> np.ndarray:
        return self.values.astype(f64, copy=False)

    @cached_property
    def magnitudes(self) -> np.ndarray:
        """The bits of all numbers but for their signs: their order is that of the magnitudes."""
        kind = np.dtype(f"u{self.values.itemsize}").type
        return np.ascontiguousarray(self.values).view(kind) & kind((1 << 8 * self.values.itemsize - 1) - 1)

    def extremes(self, bits: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The largest magnitude along an axis, and the unit that all numbers there are multiples of."""
        one = bits.dtype.type(1)
        largest = bits.max(axis=axis).view(self.values.dtype).astype(f64)
        smallest = ((bits - one).min(axis=axis) + one).view(self.values.dtype)  # a zero less one is the largest of all
        exponents = np.maximum(np.frexp(smallest)[1] - 1, self.numbers.lowest)
        return largest, np.ldexp(1.0, exponents + 1 - self.numbers.bits)

    @cached_property
    def bound(self) -> float:
        """At least ``ratio``, by the smallest unit of the type: quickly known, and enough for types of few exponents."""
        if self.numbers.lowest < FEW:
            return math.inf
        largest = max(float(self.values.max()), -float(self.values.min()))
        return largest * 2.0 ** (self.numbers.bits - 1 - self.numbers.lowest)

    @cached_property
    def ratio(self) -> float:
        """The largest magnitude of the stack over the unit of all its numbers."""
        largest, unit = self.extremes(self.magnitudes, None)
        return float(largest) / float(unit)

    @cached_property
    def ratios(self) -> np.ndarray:
        """``ratio`` of each matrix."""
        largest, unit = self.extremes(self.magnitudes.reshape(*self.values.shape[:-2], -1), -1)
        return largest / unit

    def largest_finite(self) -> np.ndarray:
        """Per matrix: the largest magnitude but for infinities and NaNs."""
        finite = np.isfinite(self.wide)
        return np.abs(self.wide, where=finite, out=np.zeros_like(self.wide)).max(axis=(-2, -1))


EXACTLY, BY_BLAS = SUMS = ("exact", "blas")  # how a launch may have its products added up


def multiply(left: Factor, right: Factor, sums: str = EXACTLY) -> np.ndarray:
    """A B (…, m, n) in float32; the stacks are as long as each other, or one is of length 1."""
    if sums == EXACTLY:
        return multiply_exactly(left, right)
    return in_blocks(left.values.astype(f32, copy=False), right.values.astype(f32, copy=False).swapaxes(-1, -2))


@np.errstate(all="ignore")
def multiply_exactly(left: Factor, right: Factor) -> np.ndarray:
    """As ``multiply``, every sum exact and rounded once."""
    k = left.values.shape[-1]
    most = k * left.numbers.ratio * right.numbers.ratio
    if most <= EXACT[f32]:
        return in_blocks(left.values, right.values.swapaxes(-1, -2)) + f32(0)
    sums = in_blocks(left.wide, right.wide.swapaxes(-1, -2))
    out = sums.astype(f32)
    if not (
        most <= EXACT[f64] or k * left.bound * right.bound <= EXACT[f64] or k * left.ratio * right.ratio <= EXACT[f64]
    ):
        sure = k * left.ratios * right.ratios <= EXACT[f64]
        if not sure.all():
            _correct(out, sums, left, right, np.nonzero(~sure))
    out += f32(0)
    return out


ONE_THREAD = 1 << 18  # m * n * k up to which OpenBLAS multiplies without threads


def in_blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """np.matmul of stacks of small matrices, in blocks of columns for which BLAS starts no threads.

    Its threads cost far more than they give here, and by orders of magnitude where the machine is busy.
    """
    (m, k), n = a.shape[-2:], b.shape[-1]
    step = max(ONE_THREAD // (m * k), 1)
    if n <= step:
        return np.matmul(a, b)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n)
    out = np.empty(shape, np.result_type(a, b))
    for at in range(0, n, step):
        out[..., at : at + step] = np.matmul(a, b[..., at : at + step])
    return out


# -- sums that float64 may not hold ------------------------------------------------------------------
CHUNK = 1 << 14  # sums at a time: their products fit a second-level cache


def _correct(out: np.ndarray, sums: np.ndarray, left: Factor, right: Factor, stack: tuple) -> None:
    """Add up anew, in the matrices ``stack`` of ``out``, what may not be rounded from its exact sum."""
    near = _between_two(sums[stack], _bounds(left, right, sums.shape, stack))
    which, row, column = near
    rows = _rows(left.wide, sums.shape)
    columns = _rows(right.wide, sums.shape)
    for start in range(0, len(row), CHUNK):
        part = slice(start, start + CHUNK)
        at = tuple(index[which[part]] for index in stack)
        out[(*at, row[part], column[part])] = round_sums(rows[(*at, row[part])] * columns[(*at, column[part])])


def _rows(values: np.ndarray, shape: tuple) -> np.ndarray:
    return np.broadcast_to(values, (*shape[:-2], *values.shape[-2:]))


def _bounds(left: Factor, right: Factor, shape: tuple, stack: tuple) -> np.ndarray:
    """Per matrix, the error of k additions in float64 in any order (Higham, "Accuracy and Stability", section 3.1)."""
    k = left.values.shape[-1]
    largest = np.broadcast_to(left.largest_finite() * right.largest_finite(), shape[:-2])
    return (largest * (k * (k + 1) * 2.0**-53))[stack]


def _between_two(sums: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, ...]:
    """Where finite sums (matrices, m, n) may round to either of two float32 numbers."""
    bounds = bounds[:, None, None]
    near = (sums - bounds).astype(f32) != (sums + bounds).astype(f32)
    return np.unravel_index(np.flatnonzero(near & np.isfinite(sums)), sums.shape)


@np.errstate(over="ignore")
def round_sums(terms: np.ndarray) -> np.ndarray:
    """The exact sums of float64 terms (sums, k), rounded once to float32."""
    terms = np.ascontiguousarray(terms.T)
    total, lost = terms[0], np.zeros(terms.shape[1], bool)
    for term in terms[1:]:
        total, error = numerics.two_sum(total, term)
        lost |= error != 0
    out = total.astype(f32)
    if lost.any():
        out[lost] = _round_inexact(terms[:, lost])
    return out


def _round_inexact(terms: np.ndarray) -> np.ndarray:
    """As ``round_sums``, of (k, sums): with a second sum, of the errors of the first."""
    total, rest = terms[0], np.zeros(terms.shape[1])
    lost = np.zeros(terms.shape[1], bool)
    for term in terms[1:]:
        total, error = numerics.two_sum(total, term)
        rest, error = numerics.two_sum(rest, error)
        lost |= error != 0
    out = numerics.sum_odd(total, rest).astype(f32)
    for i in np.flatnonzero(lost):
        out[i] = _round_sum(terms[:, i].tolist())
    return out


def _round_sum(terms: list[float]) -> np.float32:
    high = math.fsum(terms)
    return numerics.sum_odd(f64(high), f64(math.fsum([*terms, -high]))).astype(f32)
