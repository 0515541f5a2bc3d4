"""Matrix multiplication and accumulation of finite values, in native code compiled by LLVM for this CPU.

BLAS writes each product to memory, in float64, and NumPy reads, rounds and accumulates it. Here a tile of accumulators
(``gemm_microkernel.py``) stays in registers for all steps, with each product rounded to float32 as in ``matmul.py``. The
results are written in the layout of their PTX registers (``AccumulatorLayout``).

The order of the additions, and fused multiply-adds, do not matter if every sum is exact in float64. This is tested per
matrix, then per rows and columns of a tile. A sum that may still be inexact is accepted if all values within its error round
to the same float32; the others are recomputed exactly (``exact_dot_products_jit.py``). Processes use this code after enough
multiplications to amortize the compilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..jit import code_cache
from ..jit.llvm_jit import address
from ..simt.broadcasting import is_any
from .exact_dot_products_jit import MagnitudeRatios
from .gemm_microkernel import PIECE, compile_kernel, select_tile
from .pack_operands import COLUMNS, ROWS, PackableMatrices, PackedOperand, places_of

COMPILE_COST = 1 << 30  # multiplications in the time of a compilation
CACHED_CODE_COST = 1 << 23  # the same if the compiled code is cached
L2_BYTES = 1 << 20  # bytes of packed operands per block of the second-level cache
L1_BYTES = 3 << 13  # bytes of rows of A per block of the first-level cache

_multiplications = 0  # so far, by this process
_recorded = 0  # of these


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
    return AccumulatorLayout(firsts[:, None] + np.arange(0, m, ROWS) * row, np.arange(0, n, COLUMNS), row, PIECE)


def is_profitable(multiplications: int) -> bool:
    """Whether native code pays off for a process that will do ``multiplications`` more."""
    global _multiplications
    _multiplications += multiplications
    return is_ready()


def is_ready() -> bool:
    """Whether this process, together with earlier ones, has done enough multiplications."""
    return _multiplications > COMPILE_COST or (
        _multiplications > CACHED_CODE_COST and _multiplications + _before() > COMPILE_COST
    )


@lru_cache
def _before() -> int:
    """Multiplications recorded by earlier processes."""
    return code_cache.read_count(__name__)


def record_multiplications() -> None:
    """Record the multiplications of a launch for later processes, until they reach the threshold."""
    global _recorded
    if _multiplications > max(CACHED_CODE_COST, _recorded) and _before() <= COMPILE_COST and _recorded <= COMPILE_COST:
        code_cache.write_count(__name__, _before() + _multiplications)
        _recorded = _multiplications


def accumulate(
    out: np.ndarray, old: Sequence[np.ndarray], layout: AccumulatorLayout, steps: Sequence[tuple[PackableMatrices, PackableMatrices]], errors: np.ndarray
) -> None:  # fmt: skip
    """Let ``out`` be ``old`` (zeros if empty) plus the products of the steps: A (stack or 1, m, k), B (stack or 1, n, k).

    ``old`` is an array of the layout, which may be ``out``, or the registers of a layout that has some. ``errors`` (stack,
    steps): of each matrix and step, what its sums in float64 are wrong by at most; 0 where all are exact. All numbers are finite.
    """
    shapes = [side.shape for side in steps[0]]
    is_checked = is_any(errors)
    tile = select_tile(layout.rows.shape[1], len(layout.columns))
    chunk = max(L1_BYTES // (8 * tile.rows * shapes[0][2] * len(steps)), 1) * tile.fours
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
        known = [ratio.address for ratio in ratios] if is_doubtful else [None] * 2
        rows = [place + first * stride for place, stride in places]
        compile_kernel(is_doubtful, tile)(
            address(out), address(olds) if old else None, a.address, b.address, address(errors[first:]), *known, *rows, *columns, len(steps), count,
            layout.rows.shape[1], len(layout.columns), a.step, b.step, a.matrix, b.matrix, layout.row, layout.vector,
            *layout.previous.vector, chunk, shapes[0][2],
        )  # fmt: skip
