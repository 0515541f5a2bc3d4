"""Register layouts of tcgen05 (PTX ISA 9.0, section 9.7.16.10, "Tensor Memory"; section 9.7.16.10.5, Layout D).

Tensor memory has 128 lanes of 512 columns of 32 bits. A product of 128 rows keeps row r of its accumulators in lane r,
column c of the tile in a column of its own. A warp reaches the 32 lanes of its number modulo 4, so with the shape
32x32b thread t of it holds row 32 (w mod 4) + t:

    C (M, N)   lanes  rows 1 to 16;  warps  rows 32 and 64, then further tiles of 128 rows, then columns from the highest;
               registers  the other columns, then further rows
    A (M, K)   the same with K in the place of N, 32 / element bits neighbors to a column

Each further tile of 128 rows has columns of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .linear_layout import LinearLayout, dim_bases, log2_exact

ROWS, WARPS, MOST_COLUMNS, K_BYTES = 128, 4, 256, 32
COLUMN_BITS, ALL_COLUMNS, LEAST_COLUMNS = 32, 512, 32


@dataclass(frozen=True)
class TensorMemoryTile:
    """A tile of 128 rows or more in tensor memory, spread over warps: ``groups_m`` x ``groups_n`` times four of them."""

    rows: int
    columns: int
    element_bits: int
    groups_m: int
    groups_n: int

    @cached_property
    def layout(self) -> LinearLayout:
        rows, columns = dim_bases((self.rows, self.columns))
        own = log2_exact(self.columns // self.groups_n)
        upper = 7 + log2_exact(self.groups_m)
        return LinearLayout(
            (*columns[:own], *rows[upper:]),
            tuple(rows[:5]),
            (rows[5], rows[6], *rows[7:upper], *columns[own:]),
            (self.rows, self.columns),
        )

    @property
    def words(self) -> int:
        """Columns of tensor memory that 128 rows take."""
        return self.columns * self.element_bits // COLUMN_BITS

    @property
    def total_words(self) -> int:
        return self.words * (self.rows // ROWS)

    @property
    def warp_words(self) -> int:
        """Columns of them that one warp moves."""
        return self.words // self.groups_n

    @property
    def own_tiles(self) -> int:
        """Tiles of 128 rows that one warp moves."""
        return self.rows // (ROWS * self.groups_m)


@lru_cache(maxsize=256)
def tensor_memory_tile(rows: int, columns: int, element_bits: int, num_warps: int) -> TensorMemoryTile | None:
    """The tile over all warps; None where it is too small for them or too large for tensor memory."""
    groups = num_warps // WARPS
    if rows < ROWS or not groups:
        return None
    groups_m = min(groups, rows // ROWS)
    tile = TensorMemoryTile(rows, columns, element_bits, groups_m, groups // groups_m)
    return tile if tile.warp_words >= 1 and tile.total_words <= ALL_COLUMNS else None


@dataclass(frozen=True)
class TensorProduct:
    """A product of M x K by K x N elements as instructions of 128 rows and up to 256 columns."""

    m: int
    n: int
    k: int
    element_bits: int

    @property
    def columns(self) -> int:
        return min(self.n, MOST_COLUMNS)

    @property
    def depth(self) -> int:
        """Elements along K of one instruction."""
        return K_BYTES * 8 // self.element_bits

    def instructions(self) -> Iterator[tuple[int, int, int]]:
        """(row, column, k) where each instruction starts; k innermost."""
        for row in range(0, self.m, ROWS):
            for column in range(0, self.n, self.columns):
                for k in range(0, self.k, self.depth):
                    yield row, column, k
