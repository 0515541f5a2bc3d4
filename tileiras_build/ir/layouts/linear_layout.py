"""Linear layouts: which element of a tile each register of each lane of each warp holds.

A worked example. A 4x4 tile over 4 lanes (two lane bits) with 4 registers (two register bits):

              column 0   1   2   3            register bit 0 -> (0, 1)
    row 0        L0r0 L0r1 L1r0 L1r1          register bit 1 -> (2, 0)
    row 1        L2r0 L2r1 L3r0 L3r1          lane bit 0     -> (0, 2)
    row 2        L0r2 L0r3 L1r2 L1r3          lane bit 1     -> (1, 0)
    row 3        L2r2 L2r3 L3r2 L3r3

Every tile dimension is a power of two, so a position is a string of bits, and in every distribution that hardware
uses, each hardware bit moves the position by a fixed XOR: lane 3, register 2 holds (0,2) ^ (1,0) ^ (2,0) = (3,2).
The layout *is* that list of images of single bits, its bases. It is a matrix over F2 (XOR is addition, AND is
multiplication) from hardware bits to tile bits.

Why from hardware to tile and not back: a tile element may have many holders (a reduced tile is replicated over the
lanes that reduced it: their bases are zero), but each register holds exactly one element, so only this direction is a
function.

Why F2: composing layouts is a matrix multiplication, moving data from one layout to another is inv(A) B, "can this be a
16-byte access" is a division, and an XOR swizzle of shared memory is one more matrix instead of a special case.

Tile coordinates are packed into one integer, the row-major linear index: the bits of the *last* dimension are lowest.
So for the 4x4 tile (row, column) is row * 4 + column; the bases above are 1, 8 | 2, 4. Reshapes keep the packed
index, and cost nothing.

A CuTe layout is shape:stride with carrying addition, e.g. lanes (2,2):(2,4) and registers (2,2):(1,8) for the
example. When the strides are distinct powers of two, addition never carries and equals XOR: the two notations mean
the same function (``cute_text.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from math import prod

from . import f2_linear_algebra

LANE_BITS = 5
INPUTS = ("register", "lane", "warp", "block")


def log2_exact(size: int) -> int:
    """The exponent of a power of two; ValueError for other values."""
    if size < 1 or size & (size - 1):
        raise ValueError(f"{size} is not a power of two")
    return size.bit_length() - 1


def dim_bases(shape: Sequence[int]) -> list[list[int]]:
    """For each dimension the packed unit vectors of its bits, lowest bit first."""
    units, stride = [], 1
    for size in reversed(shape):
        units.append([stride << bit for bit in range(log2_exact(size))])
        stride *= size
    return units[::-1]


def unpack(index: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Coordinates of a packed (row-major) index."""
    coordinates = []
    for size in reversed(shape):
        coordinates.append(index & (size - 1))
        index //= size
    return tuple(reversed(coordinates))


def pack(coordinates: Sequence[int], shape: Sequence[int]) -> int:
    """The packed (row-major) index of coordinates."""
    index = 0
    for coordinate, size in zip(coordinates, shape, strict=True):
        index = index * size + coordinate
    return index


def memory_bits(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """The packed index bits from fastest to slowest in memory, for dimensions listed fastest first in ``order``."""
    units = dim_bases(shape)
    return [unit for dim in order for unit in units[dim]]


@dataclass(frozen=True)
class LinearLayout:
    """An F2-linear map (register, lane, warp, block) -> element of a tile of ``shape``.

    ``registers``, ``lanes``, ``warps`` and ``blocks`` have the packed tile index of each bit of that input (0 =
    replication). There are always 5 lane bits. ``shape`` may have any rank, including 0.
    """

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    shape: tuple[int, ...]
    blocks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.lanes) != LANE_BITS:
            raise ValueError(f"a layout has {LANE_BITS} lane bits, not {len(self.lanes)}")
        size = prod(self.shape)
        for dim in self.shape:
            log2_exact(dim)
        if any(not 0 <= basis < size for basis in self.hardware):
            raise ValueError(f"a basis of {self.bases} is outside of the tile {self.shape}")

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):
        return LinearLayout, (self.registers, self.lanes, self.warps, self.shape, self.blocks)

    @cached_property
    def _hash(self) -> int:
        return hash((self.registers, self.lanes, self.warps, self.shape, self.blocks))

    @classmethod
    def from_bases(cls, bases: Mapping[str, Iterable[int]], shape: Sequence[int]) -> LinearLayout:
        """From ``{"register": [...], "lane": [...], "warp": [...]}`` of packed indices; missing lane bits are 0."""
        if unknown := set(bases) - set(INPUTS):
            raise ValueError(f"unknown layout input {sorted(unknown)[0]!r}; the inputs are {', '.join(INPUTS)}")
        registers, lanes, warps, blocks = (tuple(bases.get(name, ())) for name in INPUTS)
        return cls(registers, lanes + (0,) * (LANE_BITS - len(lanes)), warps, tuple(shape), blocks)

    @classmethod
    def replicated(cls, shape: Sequence[int], num_warps: int) -> LinearLayout:
        """Every thread holds the whole tile, registers in row-major order."""
        units = tuple(1 << bit for bit in range(log2_exact(prod(shape))))
        return cls(units, (0,) * LANE_BITS, (0,) * log2_exact(num_warps), tuple(shape))

    @property
    def bases(self) -> dict[str, tuple[int, ...]]:
        return {"register": self.registers, "lane": self.lanes, "warp": self.warps, "block": self.blocks}

    @cached_property
    def hardware(self) -> tuple[int, ...]:
        """All bases; bit i of a packed hardware index (register bits lowest, then lane, warp, block) maps to entry i."""
        return self.registers + self.lanes + self.warps + self.blocks

    @property
    def rank(self) -> int:
        return len(self.shape)

    @cached_property
    def size(self) -> int:
        """Elements in the tile."""
        return prod(self.shape)

    @property
    def index_bits(self) -> int:
        return self.size.bit_length() - 1

    @property
    def num_registers(self) -> int:
        return 1 << len(self.registers)

    @property
    def num_lanes(self) -> int:
        return 1 << len(self.lanes)

    @property
    def num_warps(self) -> int:
        return 1 << len(self.warps)

    @property
    def num_blocks(self) -> int:
        return 1 << len(self.blocks)

    # Reading elements

    def index(self, register: int, lane: int = 0, warp: int = 0, block: int = 0) -> int:
        """The packed tile index that this register holds."""
        return (
            f2_linear_algebra.apply(self.registers, register)
            ^ f2_linear_algebra.apply(self.lanes, lane)
            ^ f2_linear_algebra.apply(self.warps, warp)
            ^ f2_linear_algebra.apply(self.blocks, block)
        )

    def apply(self, register: int, lane: int = 0, warp: int = 0, block: int = 0) -> tuple[int, ...]:
        """The tile coordinates that this register holds."""
        return unpack(self.index(register, lane, warp, block), self.shape)

    @cached_property
    def register_offsets(self) -> tuple[int, ...]:
        """Packed index of each register in lane 0, warp 0; XOR it with ``thread_index`` for another thread."""
        return tuple(f2_linear_algebra.enumerate_span(self.registers))

    def thread_index(self, lane: int, warp: int, block: int = 0) -> int:
        """Packed index of register 0 of a thread."""
        return self.index(0, lane, warp, block)

    def as_array(self):
        """Packed indices as a NumPy array [blocks, warps, lanes, registers] (for tests and printing)."""
        import numpy

        indices = numpy.array(f2_linear_algebra.enumerate_span(self.hardware), dtype=numpy.int64)
        return indices.reshape(self.num_blocks, self.num_warps, self.num_lanes, self.num_registers)

    # Replication

    @cached_property
    def _span(self) -> f2_linear_algebra.Span:
        return f2_linear_algebra.Span(self.hardware)

    @cached_property
    def _free(self) -> tuple[int, int, int, int]:
        span = f2_linear_algebra.Span()
        registers, lanes, warps, blocks = (
            sum(1 << bit for bit, basis in enumerate(bases) if not span.insert(basis))
            for bases in (self.registers, self.lanes, self.warps, self.blocks)
        )
        return registers, lanes, warps, blocks

    def free_bits(self, name: str) -> int:
        """Mask of the bits of input ``name`` that only replicate: with all of them 0 every held element still occurs,
        once.
        """
        return self._free[INPUTS.index(name)]

    @property
    def is_surjective(self) -> bool:
        """Whether each element of the tile has a holder."""
        return len(self._span) == self.index_bits

    @property
    def is_injective(self) -> bool:
        """Whether no element has two holders."""
        return not any(self._free)

    @cached_property
    def inverse(self) -> tuple[int, ...]:
        """For each bit of the packed tile index a packed hardware index, free bits 0. ValueError unless surjective."""
        return f2_linear_algebra.invert(self.hardware, self.index_bits)

    def split_hardware(self, hardware: int) -> tuple[int, int, int, int]:
        """(register, lane, warp, block) of a packed hardware index."""
        parts = []
        for bases in (self.registers, self.lanes, self.warps, self.blocks):
            parts.append(hardware & (1 << len(bases)) - 1)
            hardware >>= len(bases)
        register, lane, warp, block = parts
        return register, lane, warp, block

    def preimage(self, index: int) -> tuple[int, int, int, int]:
        """The canonical holder (register, lane, warp, block) of an element: its free bits are 0."""
        return self.split_hardware(f2_linear_algebra.apply(self.inverse, index))

    def distinct_registers(self) -> tuple[LinearLayout, tuple[int, ...], tuple[int, ...]]:
        """(layout without replicated registers, its registers as indices of ours, the index there of each of our
        registers).
        """
        return self._distinct_registers

    @cached_property
    def _distinct_registers(self) -> tuple[LinearLayout, tuple[int, ...], tuple[int, ...]]:
        free = self.free_bits("register")
        if not free:
            identity = tuple(range(self.num_registers))
            return self, identity, identity
        kept = [bit for bit in range(len(self.registers)) if not free >> bit & 1]
        distinct = self.with_registers(tuple(self.registers[bit] for bit in kept))
        number = {offset: register for register, offset in enumerate(distinct.register_offsets)}
        ours = tuple(f2_linear_algebra.enumerate_span([1 << bit for bit in kept]))
        return distinct, ours, tuple(number[offset] for offset in self.register_offsets)

    # Relations between layouts of one tile

    def register_permutation(self, other: LinearLayout) -> tuple[int, ...] | None:
        """For each register of ``other`` the register of ``self`` with the same element in every thread, or None."""
        if (self.lanes, self.warps, self.blocks) != (other.lanes, other.warps, other.blocks):
            return None
        columns = f2_linear_algebra.Span(self.registers).solve_all(other.registers)
        return None if columns is None else tuple(f2_linear_algebra.enumerate_span(columns))

    def equivalent(self, other: LinearLayout) -> bool:
        """Equal up to the order and the repetition of registers."""
        return self.register_permutation(other) is not None and other.register_permutation(self) is not None

    def invert_and_compose(self, target: LinearLayout) -> tuple[int, ...]:
        """Where ``target`` finds its elements in ``self``: for each packed hardware bit of target a packed hardware
        index of self.

        Among equal holders the own thread is preferred, then the own warp. ValueError if an element has no holder.
        """
        if self.shape != target.shape:
            raise ValueError(f"layouts of different tiles: {self.shape} and {target.shape}")
        columns = [self._span.solve(basis) for basis in target.registers]
        own, reach = len(self.registers), len(self.registers) + LANE_BITS
        columns += self._solve_register_mapping(self.lanes, target.lanes, own, own)
        columns += self._solve_register_mapping(self.warps, target.warps, reach, reach)
        columns += self._solve_register_mapping(
            self.blocks, target.blocks, reach + len(self.warps), reach + len(self.warps)
        )
        found = tuple(column for column in columns if column is not None)
        if len(found) < len(columns):
            raise ValueError("the source layout does not hold every element of the target layout")
        return found

    def _solve_register_mapping(
        self, ours: Sequence[int], theirs: Sequence[int], position: int, reach: int
    ) -> list[int | None]:
        """Solve each basis of ``theirs`` with the same bit of ours (at ``position``) plus bits below ``reach``, else
        freely.
        """
        columns: list[int | None] = []
        for bit, basis in enumerate(theirs):
            near = self._span.solve(basis ^ ours[bit]) if bit < len(ours) else None
            if near is not None and near < 1 << reach:
                columns.append(near | 1 << (position + bit))
            else:
                columns.append(self._span.solve(basis))
        return columns

    def contiguous(self, order: Sequence[int] | None = None) -> int:
        """How many elements the lowest registers hold consecutively in a memory with dimensions ``order``, fastest
        first.

        The default order is row-major. The answer is a power of two, at most the registers of a thread.
        """
        order = range(self.rank - 1, -1, -1) if order is None else order
        count = 0
        for basis, unit in zip(self.registers, memory_bits(self.shape, order)):
            if basis != unit:
                break
            count += 1
        return 1 << count

    def in_memory_order(self, order: Sequence[int]) -> LinearLayout:
        """The same elements in each thread, in registers such that ``contiguous`` is the most."""
        first = list(takewhile(self.registers.__contains__, memory_bits(self.shape, order)))
        registers = (*first, *(basis for basis in self.registers if basis not in first))
        return self if registers == self.registers else replace(self, registers=registers)

    def bits_along(self, dim: int) -> dict[str, int]:
        """For each input the mask of bits that move along ``dim``: what a reduction or scan over ``dim`` combines."""
        mask = sum(dim_bases(self.shape)[dim])
        return {
            name: sum(1 << bit for bit, basis in enumerate(bases) if basis & mask) for name, bases in self.bases.items()
        }

    def is_separable(self, dim: int) -> bool:
        """No basis moves along ``dim`` and another dimension at once, so reducing over ``dim`` stays within
        ``bits_along``.
        """
        mask = sum(dim_bases(self.shape)[dim])
        return all(basis & mask in (0, basis) for basis in self.hardware)

    # Algebra: layouts of tiles derived from this one

    def compose(self, matrix: Sequence[int], shape: Sequence[int]) -> LinearLayout:
        """Compose with a map of tiles: ``matrix`` gives the new packed index of each bit of the old one."""
        registers, lanes, warps, blocks = (
            f2_linear_algebra.compose(matrix, bases) for bases in (self.registers, self.lanes, self.warps, self.blocks)
        )
        return LinearLayout(registers, lanes, warps, tuple(shape), blocks)

    def with_registers(self, registers: Sequence[int]) -> LinearLayout:
        return LinearLayout(tuple(registers), self.lanes, self.warps, self.shape, self.blocks)

    def reshape(self, shape: Sequence[int]) -> LinearLayout:
        """The same elements seen with another shape; every register keeps its element of the row-major sequence."""
        if prod(shape) != self.size:
            raise ValueError(f"cannot reshape {self.shape} to {tuple(shape)}")
        return LinearLayout(self.registers, self.lanes, self.warps, tuple(shape), self.blocks)

    def permute_dims(self, permutation: Sequence[int]) -> LinearLayout:
        """Dimension i of the result is dimension ``permutation[i]`` of this tile (as numpy.transpose)."""
        if sorted(permutation) != list(range(self.rank)):
            raise ValueError(f"{tuple(permutation)} is not a permutation of {self.rank} dimensions")
        shape = tuple(self.shape[dim] for dim in permutation)
        moved = dict(zip(permutation, dim_bases(shape)))
        return self.compose([unit for dim in range(self.rank - 1, -1, -1) for unit in moved[dim]], shape)

    def transpose(self) -> LinearLayout:
        """Reverse the dimensions."""
        return self.permute_dims(range(self.rank - 1, -1, -1))

    def expand_dims(self, dim: int) -> LinearLayout:
        """Insert a dimension of size 1."""
        return self.reshape(self.shape[:dim] + (1,) + self.shape[dim:])

    def squeeze(self, dim: int) -> LinearLayout:
        """Remove a dimension of size 1."""
        if self.shape[dim] != 1:
            raise ValueError(f"dimension {dim} of {self.shape} is not 1")
        return self.reshape(self.shape[:dim] + self.shape[dim + 1 :])

    def resize(self, dim: int, size: int) -> LinearLayout:
        """Change the size of one dimension, keeping the bits of its coordinate that fit and dropping the others."""
        shape = self.shape[:dim] + (size,) + self.shape[dim + 1 :]
        old, new = dim_bases(self.shape), dim_bases(shape)
        new[dim] += [0] * (len(old[dim]) - len(new[dim]))
        matrix = [unit for axis in range(self.rank - 1, -1, -1) for unit in new[axis][: len(old[axis])]]
        return self.compose(matrix, shape)

    def project(self, dim: int) -> LinearLayout:
        """Shape 1 along ``dim``, the bits that moved along it now replicate: the layout of a reduction's result or a
        broadcast's source.
        """
        return self.resize(dim, 1)

    def drop_dim(self, dim: int) -> LinearLayout:
        """``project`` and ``squeeze``."""
        return self.project(dim).squeeze(dim)

    def slice(self, dim: int, size: int) -> LinearLayout:
        """The low ``size`` coordinates along ``dim``; hardware bits that moved beyond them now replicate (see
        ``slice_registers``).
        """
        return self.resize(dim, size)

    def slice_registers(self, dim: int, start: int, size: int) -> tuple[LinearLayout, tuple[int, ...]] | None:
        """Slice coordinates start .. start+size-1 without moving data: (layout of the part, our register for each
        of its registers).

        None if the sliced bits are not in registers alone. ``start`` is a multiple of ``size``.
        """
        cut = sum(dim_bases(self.shape)[dim][log2_exact(size) :])
        if any(basis & cut for basis in self.lanes + self.warps + self.blocks):
            return None
        wanted = start * dim_bases(self.shape)[dim][0] if start else 0
        kept = [number for number, offset in enumerate(self.register_offsets) if offset & cut == wanted]
        if not kept:
            return None
        columns = [self.register_offsets[number] ^ self.register_offsets[kept[0]] for number in kept[1:]]
        bases = [columns[(1 << bit) - 1] for bit in range(log2_exact(len(kept)))]
        return self.with_registers(tuple(bases)).resize(dim, size), tuple(kept)

    def broadcast_dim(self, dim: int, size: int) -> LinearLayout:
        """Dimension ``dim`` of size 1 becomes ``size``, by new highest register bits: register r comes from r %
        num_registers.
        """
        if self.shape[dim] != 1:
            raise ValueError(f"dimension {dim} of {self.shape} is not 1")
        wide = self.resize(dim, size)
        return wide.with_registers(wide.registers + tuple(dim_bases(wide.shape)[dim]))

    def cat(self, dim: int) -> LinearLayout:
        """The layout of two such tiles joined along ``dim``: registers of the second follow those of the first."""
        wide = self.resize(dim, 2 * self.shape[dim])
        return wide.with_registers(wide.registers + (dim_bases(wide.shape)[dim][-1],))

    def join(self) -> LinearLayout:
        """The layout of two such tiles stacked along a new last dimension of size 2: the second's registers follow."""
        return self.expand_dims(self.rank).cat(self.rank)
