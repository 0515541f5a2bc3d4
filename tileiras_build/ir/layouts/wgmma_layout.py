"""Register layouts of wgmma (PTX ISA 9.0, section 9.7.15.5, "Register Fragments and Shared Memory Matrix Layouts").

A warpgroup of four warps multiplies 64 rows; its warp w holds rows 16 w to 16 w + 15, distributed as in mma.sync. With
p = 32 / element bits:

    C (M, N)   registers  column pair, row + 8, columns in steps of 8, further rows;  lanes  columns in steps of 2, rows
    A (M, K)   registers  p consecutive k, row + 8, k in steps of 4 p, further rows;  lanes  k in steps of p, rows

If the left operand is read to registers from lines contiguous along its rows, its rows are permuted for these reads.
32-bit elements are read one at a time from lines of 32 rows, swizzled as 128B, without bank conflicts if the lanes' row
bits are bits 0, 1 and 4 of the row index, the register's is bit 2, the warps' are 3 and 5. Bytes are read by ldmatrix
in pairs: the register's row bit is bit 0, the lanes' are 1 to 3, the warps' 4 and 5. The rows of C have the same
permutation.

Warpgroups tile M in steps of 64 rows first, then N. With one warpgroup along N, the C of an MMA is the A of the next
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .linear_layout import LinearLayout, dim_bases, log2_exact

ROWS, WARPS, MAX_COLUMNS, K_BYTES = 64, 4, 256, 32
# Element bits -> the row index bits that lanes, the register and warps select, and the matching swizzles.
A_VIA_REGISTERS = {32: (0, 1, 4, 2, 3, 5), 8: (1, 2, 3, 0, 4, 5)}
A_VIA_REGISTERS_SWIZZLES = {32: ("128B",), 8: ("128B", "64B", "32B")}


@dataclass(frozen=True)
class WgmmaTiling:
    """An MMA of M x K by K x N elements over ``groups_m`` x ``groups_n`` warpgroups; group index: m lowest.

    ``max_columns`` limits the columns of one instruction.
    """

    m: int
    n: int
    k: int
    element_bits: int
    groups_m: int
    groups_n: int
    a_via_registers: bool = False
    max_columns: int = MAX_COLUMNS

    @cached_property
    def c(self) -> LinearLayout:
        rows, columns = self._ordered(self.m, self.n)
        group = log2_exact(self.group_n)
        registers = [columns[0], rows[3], *columns[3:group], *self._further_rows(rows)]
        return LinearLayout(
            tuple(registers),
            (columns[1], columns[2], *rows[:3]),
            (rows[4], rows[5], *self._group_rows(rows), *columns[group:]),
            (self.m, self.n),
        )

    @cached_property
    def a(self) -> LinearLayout:
        """The left operand in registers, the same in all groups along N."""
        rows, ks = self._ordered(self.m, self.k)
        low = log2_exact(32 // self.element_bits)
        registers = [*ks[:low], rows[3], *ks[low + 2 :], *self._further_rows(rows)]
        repeated = (0,) * log2_exact(self.groups_n)
        return LinearLayout(
            tuple(registers),
            (ks[low], ks[low + 1], *rows[:3]),
            (rows[4], rows[5], *self._group_rows(rows), *repeated),
            (self.m, self.k),
        )

    def _ordered(self, rows: int, others: int) -> tuple[list[int], list[int]]:
        """The row index bits in the order of the instruction's rows, and those of the other dimension."""
        units, other_units = dim_bases((rows, others))
        if self.a_via_registers:
            order = A_VIA_REGISTERS[self.element_bits]
            units = [*(units[bit] for bit in order), *units[len(order) :]]
        return units, other_units

    def _group_rows(self, rows: list[int]) -> list[int]:
        return rows[6 : 6 + log2_exact(self.groups_m)]

    def _further_rows(self, rows: list[int]) -> list[int]:
        return rows[6 + log2_exact(self.groups_m) :]

    @property
    def group_n(self) -> int:
        """Columns of one warpgroup."""
        return self.n // self.groups_n

    @property
    def columns(self) -> int:
        """Columns of one instruction."""
        return min(self.group_n, self.max_columns)

    @property
    def depth(self) -> int:
        """Elements along K of one instruction."""
        return K_BYTES * 8 // self.element_bits

    @property
    def m_step(self) -> int:
        """Rows from one instruction of a group to its next."""
        return ROWS * self.groups_m

    @property
    def m_tiles(self) -> int:
        return self.m // self.m_step

    @property
    def n_tiles(self) -> int:
        return self.group_n // self.columns

    @property
    def k_tiles(self) -> int:
        return self.k // self.depth

    def c_registers(self, m_tile: int, n_tile: int) -> range:
        """Accumulator registers of one instruction: 4 for each 8 columns."""
        count = self.columns // 2
        first = (m_tile * self.n_tiles + n_tile) * count
        return range(first, first + count)

    def a_registers(self, m_tile: int, k_tile: int) -> range:
        """Registers of ``a`` that one instruction reads: 16 bytes."""
        count = 4 * 32 // self.element_bits
        first = (m_tile * self.k_tiles + k_tile) * count
        return range(first, first + count)

    def instructions(self) -> Iterator[tuple[int, int, int]]:
        """(m_tile, n_tile, k_tile) of every instruction of a group; those with the same accumulators are consecutive."""
        for m_tile in range(self.m_tiles):
            for n_tile in range(self.n_tiles):
                for k_tile in range(self.k_tiles):
                    yield m_tile, n_tile, k_tile


@lru_cache(maxsize=256)
def wgmma_tiling(
    m: int,
    n: int,
    k: int,
    element_bits: int,
    num_warps: int,
    a_via_registers: bool = False,
    max_columns: int = MAX_COLUMNS,
) -> WgmmaTiling | None:
    """The tiling of an MMA over all warps; None if the tile is too small for them or for the instruction."""
    depth = K_BYTES * 8 // element_bits
    groups = num_warps // WARPS
    if not groups or m < ROWS or n < 8 or k < depth:
        return None
    groups_m = min(groups, m // ROWS)
    groups_n = groups // groups_m
    if n // groups_n < 8:
        return None
    return WgmmaTiling(m, n, k, element_bits, groups_m, groups_n, a_via_registers, max_columns)
