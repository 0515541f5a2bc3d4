"""Register layouts of mma.sync operands (PTX ISA 9.0, section 9.7.14.5, "Matrix Fragments for mma").

All the tables of that section are one pattern. With p = 32 / element bits elements in a 32-bit register (1 for 32 and
64 bits):

    registers  p consecutive k, then row + 8 (A with 16 rows), then further k in steps of 4 p
    lanes      bits 0 and 1: k in steps of p;  bits 2 to 4: the row of A, the column of B
    C          as an A with p = 2 and columns in the place of k

A CTA tile repeats the atom: over warps (M first, then N, then the batch), then over registers:

    A (M, K):  registers  atom, k tiles, m tiles     replicated over the warps of N
    B (K, N):  registers  atom, n tiles, k tiles     replicated over the warps of M
    C (M, N):  registers  atom, n tiles, m tiles     with 1 warp along N equal to the A of the next MMA

followed by the batch if there is one. Scales of blocks along k (section 9.7.14.3, "Block scaling") are bytes, four of
one row or column in a register; an instruction selects the byte, and the thread of each four that supplies the
register:

    A scales (M, K / block)   lanes  bit 0: row + 8, bit 1: the next m tile, bits 2 to 4: rows
    B scales (K / block, N)   lanes  bits 0 and 1: the next n tiles, bits 2 to 4: columns
                              registers  scales, further tiles

The order of A and C makes chained MMAs (attention) free of conversions; that of B lets one ldmatrix load the operands of
consecutive MMAs of one k step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .linear_layout import LinearLayout, dim_bases, log2_exact

REGISTER_BYTES = 4
# (m, n, k) -> element bits of A and B for which mma.sync has this atom.
ATOMS: dict[tuple[int, int, int], frozenset[int]] = {
    (8, 8, 4): frozenset({64}),
    (16, 8, 4): frozenset({32, 64}),
    (16, 8, 8): frozenset({16, 32, 64}),
    (16, 8, 16): frozenset({8, 16, 64}),
    (16, 8, 32): frozenset({4, 8}),
    (16, 8, 64): frozenset({4}),
}


@lru_cache(maxsize=256)
def fragment(m: int, n: int, k: int, operand: str, element_bits: int) -> LinearLayout:
    """One warp's layout of an atom's operand: "A" over (m, k), "B" over (k, n), "C" over (m, n); register i is the
    ISA's a_i, b_i, c_i.

    ``element_bits`` is the width of A's and B's elements, for "C" too. ValueError if there is no such atom.
    """
    if element_bits not in ATOMS.get((m, n, k), ()):
        raise ValueError(f"mma.sync has no m{m}n{n}k{k} atom for {element_bits}-bit elements")
    packed = max(1, 32 // element_bits)
    if operand == "A":
        rows, columns = dim_bases((m, k))
        return _ab_fragment(columns, rows, packed, (m, k))
    if operand == "B":
        rows, columns = dim_bases((k, n))
        return _ab_fragment(rows, columns, packed, (k, n))
    if operand == "C":
        rows, columns = dim_bases((m, n))
        return _ab_fragment(columns, rows, 2, (m, n))
    raise ValueError(f"an mma operand is A, B or C, not {operand!r}")


def _ab_fragment(inner: list[int], outer: list[int], packed: int, shape: tuple[int, int]) -> LinearLayout:
    """The pattern above: ``inner`` is the dimension with ``packed`` consecutive elements in a register."""
    low = log2_exact(packed)
    registers = inner[:low] + outer[3:] + inner[low + 2 :]
    return LinearLayout(tuple(registers), tuple(inner[low : low + 2] + outer[:3]), (), shape)


@dataclass(frozen=True)
class Atom:
    """An mma.sync instruction's shape and the width of its A and B elements."""

    m: int
    n: int
    k: int
    element_bits: int

    def fragment(self, operand: str) -> LinearLayout:
        return fragment(self.m, self.n, self.k, operand, self.element_bits)


@dataclass(frozen=True)
class ScaleTiling:
    """The scales of one operand:

    ``count`` along k for each of ``tiles`` atoms of a warp, ``threads`` of which are in lanes.
    """

    layout: LinearLayout
    count: int
    tiles: int
    threads: int

    def registers(self, tile: int, first: int, batch: int = 0) -> tuple[range, int, int]:
        """(elements of the register, byte in it, thread) of scale ``first`` along k of an atom."""
        start = ((batch * self.tiles + tile) // self.threads) * self.count + first // REGISTER_BYTES * REGISTER_BYTES
        return range(start, start + min(REGISTER_BYTES, self.count)), first % REGISTER_BYTES, tile % self.threads


@dataclass(frozen=True)
class MmaTiling:
    """An MMA of (batch,) M x K by K x N tiles, tiled by atoms and distributed over warps.

    Warp index: m warps lowest, then n warps, then batch warps. Sizes are in elements; a ValueError names one that is
    not a multiple.
    """

    m: int
    n: int
    k: int
    atom: Atom
    warps_m: int
    warps_n: int
    batch: int | None = None
    warps_batch: int = 1

    def __post_init__(self) -> None:
        for name in ("m", "n", "k"):
            if getattr(self, name) < getattr(self.atom, name):
                sizes = f"{name} = {getattr(self, name)} is less than the atom's {getattr(self.atom, name)}"
                raise ValueError(f"the tile's {sizes}")
        if self.batch is None and self.warps_batch != 1:
            raise ValueError("warps of a batch need a batch")

    @cached_property
    def a(self) -> LinearLayout:
        return self._operand("A", {"M": self.m, "K": self.k}, "KM")

    @cached_property
    def b(self) -> LinearLayout:
        return self._operand("B", {"K": self.k, "N": self.n}, "NK")

    @cached_property
    def c(self) -> LinearLayout:
        return self._operand("C", {"M": self.m, "N": self.n}, "NM")

    def scales(self, operand: str, block: int) -> ScaleTiling:
        """The distribution of the scales of A or B over threads, with one scale per ``block`` elements along k."""
        is_a = operand == "A"
        count = self.k // block
        shape = (self.m, count) if is_a else (count, self.n)
        units = dim_bases(shape)
        lines, along = (units[0], units[1]) if is_a else (units[1], units[0])
        dims, atom = ("M", self.atom.m) if is_a else ("N", self.atom.n)
        left = {dims: lines[log2_exact(atom) :], "batch": self._batch_bits(shape)}
        warps = self._warp_bits(left)
        low = [lines[3]] if is_a else []
        taken = min(2 - len(low), len(left[dims]))
        low += left[dims][:taken] + [0] * (2 - len(low) - taken)
        registers = (*along, *left[dims][taken:], *left["batch"])
        full = shape if self.batch is None else (self.batch, *shape)
        tiles = 1 << len(left[dims])
        return ScaleTiling(LinearLayout(registers, (*low, *lines[:3]), tuple(warps), full), count, tiles, 1 << taken)

    def _batch_bits(self, shape: Sequence[int]) -> list[int]:
        return [shape[0] * shape[1] << bit for bit in range(log2_exact(self.batch or 1))]

    def _warp_bits(self, left: dict[str, list[int]]) -> list[int]:
        """The bases of the warp bits, from the remaining bits (``left``) of each dimension."""
        warps = []
        for name, count in (("M", self.warps_m), ("N", self.warps_n), ("batch", self.warps_batch)):
            for _ in range(log2_exact(count)):
                warps.append(left[name].pop(0) if left.get(name) else 0)
        return warps

    def _operand(self, operand: str, dims: dict[str, int], order: str) -> LinearLayout:
        """``order``: the dimensions whose tiles fill registers, fastest first. Batch bits are the highest of the
        packed index.
        """
        shape = tuple(dims.values())
        atom = self.atom.fragment(operand)
        # Widening the dimensions keeps the atom at the tile's origin.
        corner = atom.resize(0, shape[0]).resize(1, shape[1])
        left = {name: units[log2_exact(size) :] for name, units, size in zip(dims, dim_bases(shape), atom.shape)}
        left["batch"] = self._batch_bits(shape)
        warps = self._warp_bits(left)
        registers = corner.registers + tuple(unit for name in (*order, "batch") for unit in left[name])
        full = shape if self.batch is None else (self.batch, *shape)
        return LinearLayout(registers, corner.lanes, tuple(warps), full)

    @property
    def m_tiles(self) -> int:
        """Atoms along M that one warp computes."""
        return max(1, self.m // (self.atom.m * self.warps_m))

    @property
    def n_tiles(self) -> int:
        return max(1, self.n // (self.atom.n * self.warps_n))

    @property
    def k_tiles(self) -> int:
        return self.k // self.atom.k

    @property
    def batch_tiles(self) -> int:
        return max(1, (self.batch or 1) // self.warps_batch)

    def a_registers(self, m_tile: int, k_tile: int, batch: int = 0) -> range:
        """Registers of ``a`` that are the atom's a0, a1, ..."""
        return self._registers("A", (batch * self.m_tiles + m_tile) * self.k_tiles + k_tile)

    def b_registers(self, n_tile: int, k_tile: int, batch: int = 0) -> range:
        return self._registers("B", (batch * self.k_tiles + k_tile) * self.n_tiles + n_tile)

    def c_registers(self, m_tile: int, n_tile: int, batch: int = 0) -> range:
        return self._registers("C", (batch * self.m_tiles + m_tile) * self.n_tiles + n_tile)

    def _registers(self, operand: str, tile: int) -> range:
        count = self.atom.fragment(operand).num_registers
        return range(tile * count, (tile + 1) * count)

    def tiles(self) -> Iterator[tuple[int, int, int, int]]:
        """(batch, k tile, m tile, n tile) of every mma of a warp, in the order of ``atoms``."""
        for batch in range(self.batch_tiles):
            for k_tile in range(self.k_tiles):
                for m_tile in range(self.m_tiles):
                    for n_tile in range(self.n_tiles):
                        yield batch, k_tile, m_tile, n_tile

    def atoms(self) -> Iterator[tuple[range, range, range]]:
        """(a, b, c) registers of every mma of a warp, k outermost so that consecutive ones are
        independent.
        """
        for batch, k_tile, m_tile, n_tile in self.tiles():
            yield (
                self.a_registers(m_tile, k_tile, batch),
                self.b_registers(n_tile, k_tile, batch),
                self.c_registers(m_tile, n_tile, batch),
            )


@lru_cache(maxsize=1024)
def mma_tiling(
    shape_m: int,
    shape_n: int,
    shape_k: int,
    atom: Atom,
    warps_m: int,
    warps_n: int,
    batch: int | None = None,
    warps_batch: int = 1,
) -> MmaTiling:
    """The cached ``MmaTiling`` of these parameters."""
    return MmaTiling(shape_m, shape_n, shape_k, atom, warps_m, warps_n, batch, warps_batch)


def mma_layouts(
    shape_m: int,
    shape_n: int,
    shape_k: int,
    atom: Atom,
    warps_m: int,
    warps_n: int,
    batch: int | None = None,
    warps_batch: int = 1,
) -> tuple[LinearLayout, LinearLayout, LinearLayout]:
    """The (A, B, C) layouts of a tiled MMA: tiles (M, K), (K, N), (M, N), each with an optional leading batch dimension."""
    tiling = mma_tiling(shape_m, shape_n, shape_k, atom, warps_m, warps_n, batch, warps_batch)
    return tiling.a, tiling.b, tiling.c


def split_warps(num_warps: int, shape_m: int, shape_n: int, atom: Atom, batch: int = 1) -> tuple[int, int, int]:
    """(warps_m, warps_n, warps_batch): batch first, then halve whichever side leaves a warp the longer tile, M on a
    tie.

    Remaining warps replicate along M.
    """
    warps_batch = min(num_warps, batch)
    warps_m = warps_n = 1
    while warps_m * warps_n * warps_batch < num_warps:
        rows, columns = shape_m // warps_m, shape_n // warps_n
        can_m, can_n = rows > atom.m, columns > atom.n
        if can_n and (columns > rows or not can_m):
            warps_n *= 2
        else:
            warps_m *= 2
    return warps_m, warps_n, warps_batch
