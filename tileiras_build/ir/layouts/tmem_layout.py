"""Register layouts of tcgen05 (PTX ISA 9.0, section 9.7.16.10, "Tensor Memory"; section 9.7.16.10.5, Layout D).

Tensor memory has 128 lanes of 512 columns of 32 bits. An MMA of 128 rows has row r of its accumulators in lane r,
column c of the tile in column c. A warp accesses the 32 lanes of its index modulo 4, so with the shape 32x32b thread t
of it holds row 32 (w mod 4) + t:

    C (M, N)   lanes  rows 1 to 16;  warps  rows 32 and 64, then further tiles of 128 rows, then columns from the highest;
               registers  the other columns, then further rows
    A (M, K)   the same with K in the place of N, 32 / element bits neighbors per column

Each further tile of 128 rows has its own columns. An MMA of 64 rows uses the first 16 lanes of each 32 (section
9.7.16.10.5, Layout F), which the shapes 16x256b (elements of 32 bits) and 16x128b (smaller ones) move: thread t of warp
w holds rows 16 (w mod 4) + t / 4 and 8 more, as in mma.sync:

    C, A       registers  neighbors in 8 (16x128b: 4) bytes, row + 8, columns in steps of 32 (16) bytes;
               lanes  columns in between, rows;  warps  rows 16 and 32, then columns from the highest

The same shapes move the rows of an MMA of 128, where four threads are to share each row: a thread then has a quarter of what all rows
have for their columns. The upper 16 lanes of a warp follow the lower ones in its registers:

    C, A       registers  neighbors, row + 8, columns, row + 16, further rows;  lanes  columns, rows;  warps  as with 32x32b

An MMA of 128 rows of a pair of CTAs (Layout B) has 64 of them in each CTA: row r in the lanes r and 64 + r, the lower half of
the columns and the upper one. The shape is 32x32b:

    C (64, N)  lanes  rows 1 to 16;  warps  row 32, the highest column, then the others from the highest;  registers  the rest
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...target.sm_limits import TENSOR_MEMORY_COLUMNS
from .linear_layout import LinearLayout, dim_bases, log2_exact
from .shared_layout import SharedLayout

LANES, SCALES_PER_REGISTER = 32, 4
COPIED_REGISTERS = 4  # columns per tcgen05.cp, 16 bytes of each lane
ROWS, HALF_ROWS, WARPS, MAX_TMEM_COLUMNS, K_BYTES = 128, 64, 4, 256, 32
MIN_COLUMNS = {HALF_ROWS: 8, ROWS: 16}  # of an instruction, by its rows
PAIR = 2  # CTAs of one MMA
PAIR_COLUMN_UNIT = (
    32  # columns of their MMA are a multiple of it, whatever its types and orders (PTX ISA 9.0, table 39)
)
COLUMN_BITS, ALL_COLUMNS, MIN_TMEM_COLUMNS = 32, TENSOR_MEMORY_COLUMNS, 32


@dataclass(frozen=True)
class TcgenShape:
    """A shape of tcgen05.ld and .st: ``tmem_columns`` and ``registers`` of a thread per repetition, and the maximal
    repetitions per instruction.
    """

    name: str
    tmem_columns: int
    registers: int
    max_repetitions: int = 128


WHOLE = TcgenShape("32x32b", 1, 1)
# Bytes of adjacent elements in a thread, if an MMA uses half the lanes -> shape.
HALVES = {8: TcgenShape("16x256b", 8, 4), 4: TcgenShape("16x128b", 4, 2)}


@dataclass(frozen=True)
class TmemTile:
    """A tile of 64, 128 or more rows in tensor memory, distributed over warps: ``groups_m`` x ``groups_n`` times four of them.

    ``min_step``: the fewest columns from 128 rows to the next. ``of_pair``: 64 rows are one CTA's half of an MMA of a pair.
    ``apart``: these, too, are divided among warps that have other columns, each of which has its own at the start of its part.
    ``shares_rows``: four threads share each of 128 rows.
    """

    rows: int
    columns: int
    element_bits: int
    groups_m: int
    groups_n: int
    min_step: int = 0
    of_pair: bool = False
    shares_rows: bool = False
    apart: bool = False

    @cached_property
    def layout(self) -> LinearLayout:
        if self.of_pair:
            return self._half_of_pair
        return self._by_quads if self.rows == HALF_ROWS or self.shares_rows else self._whole

    @property
    def _half_of_pair(self) -> LinearLayout:
        rows, columns = dim_bases((self.rows, self.columns))
        own = log2_exact(self.tmem_columns_per_warp)
        return LinearLayout(
            tuple(columns[:own]), tuple(rows[:5]), (rows[5], columns[-1], *columns[own:-1]), (self.rows, self.columns)
        )

    @property
    def _whole(self) -> LinearLayout:
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
    def _by_quads(self) -> LinearLayout:
        rows, columns = dim_bases((self.rows, self.columns))
        own = log2_exact(self.columns // self.groups_n)
        low = log2_exact(self._neighbor_bytes * 8 // self.element_bits)
        half, first, upper = 4 + log2_exact(self.halves), 6 + log2_exact(self.halves), 7 + log2_exact(self.groups_m)
        return LinearLayout(
            (*columns[:low], rows[3], *columns[low + 2 : own], *rows[4:half], *rows[upper:]),
            (columns[low], columns[low + 1], *rows[:3]),
            (*rows[half:first], *rows[first:upper], *columns[own:]),
            (self.rows, self.columns),
        )

    @property
    def _neighbor_bytes(self) -> int:
        return 8 if self.element_bits == COLUMN_BITS else 4

    @property
    def shape(self) -> TcgenShape:
        """The shape of the instructions that load and store the tile."""
        by_quads = self.shares_rows or self.rows == HALF_ROWS and not self.of_pair
        return HALVES[self._neighbor_bytes] if by_quads else WHOLE

    @property
    def halves(self) -> int:
        """The halves of a warp's 32 lanes that it moves by instructions of their own."""
        return 2 if self.shares_rows else 1

    @property
    def tmem_columns(self) -> int:
        """Columns of tensor memory for 64 or 128 rows."""
        return self.columns * self.element_bits // COLUMN_BITS // (PAIR if self.of_pair else 1)

    @property
    def tmem_step(self) -> int:
        """Columns from 128 rows to the next: also those that the smallest instruction writes beyond the tile."""
        return max(self.tmem_columns, MIN_COLUMNS[min(self.rows, ROWS)], self.min_step)

    @property
    def total_tmem_columns(self) -> int:
        return self.tmem_step * max(1, self.rows // ROWS)

    @property
    def tmem_columns_per_warp(self) -> int:
        """Columns of tensor memory that one warp moves."""
        return self.tmem_columns // self.groups_n

    @property
    def warp_step(self) -> int:
        """Columns of tensor memory from those of a warp to those of the next one with other columns."""
        return (self.tmem_step if self.apart else self.tmem_columns) // self.groups_n

    def column_of(self, column: int) -> int:
        """The column of tensor memory of a column of the tile, from those of its row on."""
        part, inside = divmod(column * self.element_bits // COLUMN_BITS, self.tmem_columns_per_warp)
        return part * self.warp_step + inside

    @property
    def tiles_per_warp(self) -> int:
        """Tiles of 64 or 128 rows that one warp moves."""
        return max(1, self.rows // (ROWS * self.groups_m))

    def pieces(self, max_registers: int) -> Iterator[tuple[int, int, int]]:
        """(tile of the warp, or half of its lanes there, first column, repetitions) of every load or store of a warp, of up to
        ``max_registers`` registers (a power of two) each."""
        shape = self.shape
        step = min(
            self.tmem_columns_per_warp,
            max(min(shape.max_repetitions, max_registers) // shape.registers, 1) * shape.tmem_columns,
        )
        for own in range(self.tiles_per_warp * self.halves):
            for first in range(0, self.tmem_columns_per_warp, step):
                yield own, first, step // shape.tmem_columns

    def lane_and_column(self, own: int) -> tuple[int, int]:
        """The first lane of a warp's 32, and the column, of one of its tiles or halves."""
        tile, half = divmod(own, self.halves)
        return LANES // 2 * half, tile * self.groups_m * self.tmem_step


@lru_cache(maxsize=256)
def tmem_tile(
    rows: int, columns: int, element_bits: int, num_warps: int, *, is_pair: bool = False, shares_rows: bool = False
) -> TmemTile | None:
    """The tile over all warps; None if it is too small for them or too large for tensor memory. ``is_pair``: the accumulator of
    one CTA of a pair. ``shares_rows``: four threads share each row.
    """
    groups = num_warps // WARPS
    if rows < (ROWS if shares_rows else HALF_ROWS) or not groups or (is_pair and shares_rows):
        return None
    groups_m = max(1, min(groups, rows // ROWS))
    of_pair = is_pair and rows == HALF_ROWS
    groups_n = groups // groups_m
    tile = TmemTile(rows, columns, element_bits, groups_m, groups_n, of_pair=of_pair, shares_rows=shares_rows)
    return (
        tile
        if tile.tmem_columns_per_warp >= tile.shape.tmem_columns and tile.total_tmem_columns <= ALL_COLUMNS
        else None
    )


def has_pair_shape(rows: int, columns: int) -> bool:
    """Whether MMAs of pairs compute a tile of which each CTA has so many rows."""
    rows_fit = rows == HALF_ROWS or rows % ROWS == 0
    return rows_fit and columns % PAIR_COLUMN_UNIT == 0 and columns <= MAX_TMEM_COLUMNS


def allocated_columns(columns: int) -> int:
    """Columns of an allocation: a power of two, at least ``columns`` (section 9.7.16.7.1)."""
    return max(1 << (columns - 1).bit_length(), MIN_TMEM_COLUMNS)


@dataclass(frozen=True)
class ScaleColumns:
    """Scales of blocks along k in tensor memory (section 9.7.16.10.7); an instruction reads one, two or four of each
    line.

    The scales of line i (a row of A, a column of B) are in lane i mod 32 of every warp, column i / 32; four of one line
    fill the column, the next four follow after all lines of an instruction. ``line_dim``: the lines' dimension of the
    tile of scales.
    """

    shape: tuple[int, int]
    line_dim: int
    num_warps: int

    @property
    def lines(self) -> int:
        return self.shape[self.line_dim]

    @property
    def count(self) -> int:
        """Scales of one line."""
        return self.shape[1 - self.line_dim]

    @property
    def scales_per_tmem_column(self) -> int:
        return min(self.count, SCALES_PER_REGISTER)

    @property
    def tmem_columns_per_instruction(self) -> int:
        """Columns of the scales of an instruction."""
        max_lines = MAX_TMEM_COLUMNS if self.line_dim else ROWS
        return max(1, min(self.lines, max_lines) // LANES)

    @property
    def tmem_columns(self) -> int:
        """Columns of all scales."""
        return max(1, self.lines // LANES) * max(1, self.count // SCALES_PER_REGISTER)

    def tmem_column_of(self, line: int, scale: int) -> int:
        """The first column of the scales of an instruction that starts at a line and uses the scale ``scale`` of each line."""
        groups = max(1, self.count // SCALES_PER_REGISTER)
        return (
            line // (LANES * self.tmem_columns_per_instruction) * groups + scale // SCALES_PER_REGISTER
        ) * self.tmem_columns_per_instruction

    @cached_property
    def layout(self) -> LinearLayout:
        """The registers of each warp, which has all scales: the columns in order."""
        units = dim_bases(self.shape)
        lines, along = units[self.line_dim], units[1 - self.line_dim]
        low, inside = log2_exact(self.scales_per_tmem_column), 5 + log2_exact(self.tmem_columns_per_instruction)
        return LinearLayout(
            (*along[:low], *lines[5:inside], *along[low:], *lines[inside:]),
            (*lines[:5], *[0] * (5 - len(lines[:5]))),
            (0,) * log2_exact(self.num_warps),
            self.shape,
        )

    @cached_property
    def loaded(self) -> LinearLayout:
        """The layout in which one warp loads the scales: vectors of each line; two threads load the two vectors of a
        sector.
        """
        units = dim_bases(self.shape)
        lines, along = units[self.line_dim], units[1 - self.line_dim]
        lanes = (*lines[:4], along[4]) if len(along) > 4 else tuple(lines[:5])
        return LinearLayout(tuple(unit for unit in (*along, *lines) if unit not in lanes), lanes, (), self.shape)

    @property
    def placement(self) -> SharedLayout:
        """The placement in shared memory for tcgen05.cp: the 16 bytes of a lane, those of all lanes, then further
        columns.
        """
        held, of_lane = self.layout, log2_exact(COPIED_REGISTERS * SCALES_PER_REGISTER)
        return SharedLayout(self.shape, 8, (*held.registers[:of_lane], *held.lanes, *held.registers[of_lane:]))


@dataclass(frozen=True)
class TcgenMma:
    """An MMA of M x K by K x N elements as instructions of 64 or 128 rows and up to 256 columns. Where N is less than the columns
    of the smallest instruction, that reads the N columns again, and writes more columns of tensor memory than the tile has.
    """

    m: int
    n: int
    k: int
    element_bits: int

    @property
    def rows(self) -> int:
        return min(self.m, ROWS)

    @property
    def columns(self) -> int:
        return max(min(self.n, MAX_TMEM_COLUMNS), MIN_COLUMNS[self.rows])

    @property
    def depth(self) -> int:
        """Elements along K of one instruction."""
        return K_BYTES * 8 // self.element_bits

    def instructions(self) -> Iterator[tuple[int, int, int]]:
        """(row, column, k) of the start of each instruction; k innermost."""
        for row in range(0, self.m, self.rows):
            for column in range(0, self.n, self.columns):
                for k in range(0, self.k, self.depth):
                    yield row, column, k
