"""Matrix multiplication and accumulation of finite values, in native code (``native/matmul.c``).

BLAS writes each product to memory, in float64, and NumPy reads, rounds and accumulates it. Here a tile of accumulators stays in
registers for all steps, with each product rounded to float32 as in ``matmul.py``. The results are written in the layout of their
PTX registers (``AccumulatorLayout``).

The order of the additions, and fused multiply-adds, do not matter if every sum is exact in float64. This is tested per matrix, then
per rows and columns of a tile. A sum that may still be inexact is accepted if all values within its error round to the same float32.

The others are recomputed exactly. The products of a row of A and a column of B are added to an expansion: non-overlapping floats
whose sum is exact. A term is added to its components in ascending order, each addition giving a sum and its error (Shewchuk,
"Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", grow-expansion, theorem 10). Then they are
added from the smallest on, rounded to odd, which the last rounding to float32 does not notice (Boldo and Melquiond, "Emulation of
a FMA and Correctly Rounded Sums", theorem 3): a term is more than twice as large as all below it, so that nothing cancels. Factors
have to have at most 26 significant bits, and products in the range of normal float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..native.native_code import address, kernel, record
from ..simt.broadcasting import is_any
from .pack_operands import COLUMNS, ROWS, PackableMatrices, PackedOperand, places_of

K_MULTIPLE = 4  # of which k has to be a multiple
QUAD = 4  # columns of adjacent accumulators in memory
MOST_GROUPS = 2  # groups of rows of a tile, at most
L2_BYTES = 1 << 20  # bytes of packed operands per block of the second-level cache
L1_BYTES = 3 << 13  # bytes of rows of A per block of the first-level cache


@dataclass(frozen=True)
class AccumulatorLayout:
    """Where sums are, counted in float32: the first of four rows at ``rows`` (stack, m / 4), of eight columns at ``columns``
    (n / 8) from there; the next row is ``row`` further, the second four columns ``vector``. ``is_apart``: of eight columns of B
    the even ones come first."""

    rows: np.ndarray
    columns: np.ndarray
    row: int
    vector: int
    is_apart: bool = False

    register: int | None = None  # how far registers are from each other, of which rows and columns hold whole ones

    @property
    def stack(self) -> int:
        """The number of matrices."""
        return len(self.rows)

    @cached_property
    def previous(self) -> PreviousAccumulators:
        """Where the sums before are, in an array of this layout or in arrays for each register."""
        if self.register is None:
            zeros = np.zeros_like(self.rows), np.zeros_like(self.columns)
            return PreviousAccumulators((zeros[0], self.rows), (zeros[1], self.columns), (0, self.vector))
        rows, columns = (np.divmod(places, self.register) for places in (self.rows, self.columns))
        return PreviousAccumulators(rows, columns, (self.vector // self.register, 0))


@dataclass(frozen=True)
class PreviousAccumulators:
    """(array, number in it) of rows, of columns, and of the second four columns; they add up."""

    rows: tuple[np.ndarray, np.ndarray]
    columns: tuple[np.ndarray, np.ndarray]
    vector: tuple[int, int]


def contiguous_layout(total: np.ndarray) -> AccumulatorLayout | None:
    """The layout of matrices (stack, m, n) of float32 whose rows are contiguous; None where they are not, or do not divide."""
    stack, m, n = total.shape
    if m % ROWS or n % COLUMNS or total.strides[2] != 4:
        return None
    return strided_layout(np.arange(stack) * (total.strides[0] // 4), m, n, total.strides[1] // 4)


def strided_layout(firsts: np.ndarray, m: int, n: int, row: int) -> AccumulatorLayout:
    """The layout of matrices (m, n) that begin anywhere, with contiguous rows ``row`` from each other, all counted in float32."""
    return AccumulatorLayout(firsts[:, None] + np.arange(0, m, ROWS) * row, np.arange(0, n, COLUMNS), row, QUAD)


def accumulate(
    out: np.ndarray, old: Sequence[np.ndarray], layout: AccumulatorLayout, steps: Sequence[tuple[PackableMatrices, PackableMatrices]], errors: np.ndarray
) -> None:  # fmt: skip
    """Let ``out`` be ``old`` (zeros if empty) plus the products of the steps: A (stack or 1, m, k), B (stack or 1, n, k).

    ``old`` is an array of the layout, which may be ``out``, or the registers of a layout that has some. ``errors`` (stack,
    steps): of each matrix and step, what its sums in float64 are wrong by at most; 0 where all are exact. All numbers are finite.
    """
    shapes = [side.shape for side in steps[0]]
    is_checked = is_any(errors)
    chunk = max(L1_BYTES // (8 * MOST_GROUPS * ROWS * shapes[0][2] * len(steps)), 1) * MOST_GROUPS
    size = len(steps) * sum(8 * rows * k for _, rows, k in shapes)  # bytes of the factors of one matrix
    each = min(max(L2_BYTES // size, 1), layout.stack)
    a, b = (PackedOperand([step[side] for step in steps], side, each, is_apart=layout.is_apart) for side in (0, 1))
    ratios = [
        MagnitudeRatios(side.out, max(step[i].bits for step in steps)) for i, side in enumerate((a, b)) if is_checked
    ]
    errors = np.ascontiguousarray(errors)
    tables = [layout.rows, *layout.previous.rows]
    columns = [address(table) for table in (layout.columns, *layout.previous.columns)]
    olds = places_of(old) if old else layout.columns
    places = [(address(table), table.strides[0]) for table in tables]
    for first in range(0, layout.stack, each):
        count = min(each, layout.stack - first)
        a.pack(first, count)
        b.pack(first, count)
        is_doubtful = is_checked and is_any(errors[first : first + count])
        for ratio in ratios if is_doubtful else ():
            ratio.measure()
        known = [address(ratio.out) for ratio in ratios] if is_doubtful else [0] * 2
        rows = [place + first * stride for place, stride in places]
        fields = record(
            address(out), address(olds) if old else 0, a.address, b.address, address(errors[first:]), *known, *rows, *columns, len(steps), count,
            layout.rows.shape[1], len(layout.columns), a.step, b.step, a.matrix, b.matrix, layout.row, layout.vector,
            *layout.previous.vector, chunk, shapes[0][2],
        )  # fmt: skip
        kernel("multiply", 1)(address(fields))


class MagnitudeRatios:
    """Of each group of finite float64 (any shape, but for its last two axes, rows of a multiple of 16): the largest magnitude over
    a unit that all are multiples of, if they have ``bits`` significant bits; 0 where all are zero.

    Dot products are exact in float64 if their factors are small multiples of a unit, see ``matmul.py``. The test is made per block
    of a few rows and columns, because tiny values are rare even in random matrices.
    """

    def __init__(self, values: np.ndarray, bits: int):
        self.values, self.bits = values, bits
        self.out = np.empty(values.shape[:-2])

    def measure(self) -> None:
        """Of the values as they are now."""
        count = self.values.shape[-1] * self.values.shape[-2]
        kernel("find_ratios", 5)(address(self.out), address(self.values), self.out.size, count, 1023 + self.bits - 1)
