"""Shared-memory placements of tiles as F2 maps from element offsets to tile elements, and their bank conflicts.

A placement is a square matrix: column i is the packed tile index stored at element offset 2**i. Plain and swizzled
row- or column-major placements are special cases; the scratch of a layout conversion is any invertible matrix.

Banks (CUDA Programming Guide, "Shared Memory"): 32 banks of 4 bytes; a request of up to 4 bytes per lane is served for
all 32 lanes at once, 8 bytes for half a warp, 16 bytes for a quarter. Accesses to different words of one bank are
serialized; the same word is broadcast. For an F2-linear address the lanes' words form a subspace: its dimension minus
that of its bank part is the logarithm of the conflict.

Elements of 4 bits are packed two to a byte, low nibble first; i1 is stored as a byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from . import f2_linear_algebra
from .linear_layout import LANE_BITS, LinearLayout, log2_exact, memory_bits, pack, unpack
from .swizzle import NO_SWIZZLE, Swizzle

BANK_BYTES = 4
LINE_BYTES = 128  # All 32 banks.
VECTOR_BYTES = 16


def storage_bits(element_bits: int) -> int:
    """Bits of an element in shared memory: i1 is stored as a byte."""
    return 8 if element_bits == 1 else element_bits


@dataclass(frozen=True)
class SharedLayout:
    """``bases[i]``: the packed tile index at element offset 2**i; ``element_bits``: 4, 8, 16, 32, 64 or 128 bits of
    storage.
    """

    shape: tuple[int, ...]
    element_bits: int
    bases: tuple[int, ...]

    def __post_init__(self) -> None:
        if log2_exact(self.element_bits) < 2:
            raise ValueError(f"elements of {self.element_bits} bits have no storage of their own (see storage_bits)")
        if len(self.bases) != log2_exact(prod(self.shape)) or f2_linear_algebra.rank(self.bases) != len(self.bases):
            raise ValueError(f"{self.bases} does not place each element of a tile {self.shape} once")

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):
        return SharedLayout, (self.shape, self.element_bits, self.bases)

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.element_bits, self.bases))

    @classmethod
    def plain(
        cls, shape: Sequence[int], order: Sequence[int], element_bits: int, swizzle: Swizzle = NO_SWIZZLE
    ) -> SharedLayout:
        """Dimensions ``order`` (fastest first) laid end to end, then swizzled."""
        memory = memory_bits(shape, order)
        if swizzle.bits and swizzle.base + swizzle.shift + swizzle.bits > len(memory):
            raise ValueError(f"{swizzle} reaches beyond the {len(memory)} offset bits of a tile {tuple(shape)}")
        return cls(
            tuple(shape), storage_bits(element_bits), f2_linear_algebra.compose(memory, swizzle.columns(len(memory)))
        )

    @classmethod
    def swizzled(
        cls, shape: Sequence[int], order: Sequence[int], element_bits: int, vec: int, per_phase: int, max_phase: int
    ) -> SharedLayout:
        """Chunks of ``vec`` elements along ``order[0]`` are XORed with (row // per_phase) % max_phase."""
        row = log2_exact(shape[order[0]])
        base = log2_exact(vec)
        swizzle = Swizzle(log2_exact(max_phase), base, row + log2_exact(per_phase) - base)
        return cls.plain(shape, order, element_bits, swizzle)

    @classmethod
    def boxed(
        cls,
        shape: Sequence[int],
        order: Sequence[int],
        element_bits: int,
        swizzle_bytes: int,
        chunk_bytes: int = VECTOR_BYTES,
    ) -> SharedLayout:
        """The layout of TMA and wgmma: boxes with rows of ``swizzle_bytes`` (32, 64, 128; rows may be shorter), chunks
        of ``chunk_bytes`` swizzled.

        The boxes follow each other along ``order[0]`` outermost. 16 means rows of 16 bytes, unswizzled.
        """
        row = log2_exact(swizzle_bytes * 8 // element_bits)
        units = memory_bits(shape, order)
        inside, outside = units[: log2_exact(shape[order[0]])], units[log2_exact(shape[order[0]]) :]
        memory = inside[:row] + outside + inside[row:]
        chunk = log2_exact(chunk_bytes * 8 // element_bits)
        # The pattern is over byte address bits from 7 on, whatever the row's length.
        atom = Swizzle(log2_exact(swizzle_bytes // chunk_bytes), chunk, log2_exact(LINE_BYTES // chunk_bytes))
        columns = atom.columns(len(memory))
        return cls(tuple(shape), storage_bits(element_bits), f2_linear_algebra.compose(memory, columns))

    def reshape(self, shape: Sequence[int]) -> SharedLayout:
        """The same memory seen as a tile of another shape, row-major order of elements kept."""
        return SharedLayout(tuple(shape), self.element_bits, self.bases)

    def permute_dims(self, permutation: Sequence[int]) -> SharedLayout:
        """The same memory seen as the tile whose dimension i is this one's ``permutation[i]``."""
        shape = tuple(self.shape[dim] for dim in permutation)

        def moved(index: int) -> int:
            coordinates = unpack(index, self.shape)
            return pack([coordinates[dim] for dim in permutation], shape)

        return SharedLayout(shape, self.element_bits, tuple(map(moved, self.bases)))

    @property
    def size(self) -> int:
        """Elements."""
        return 1 << len(self.bases)

    @property
    def size_bytes(self) -> int:
        return max(1, (self.element_bits << len(self.bases)) // 8)

    @cached_property
    def inverse(self) -> tuple[int, ...]:
        """Element offset of each bit of the packed tile index."""
        return f2_linear_algebra.invert(self.bases, len(self.bases))

    def offset(self, index: int) -> int:
        """Element offset of a packed tile index."""
        return f2_linear_algebra.apply(self.inverse, index)

    def element(self, offset: int) -> tuple[int, ...]:
        """Coordinates of the element stored at an element offset."""
        return unpack(f2_linear_algebra.apply(self.bases, offset), self.shape)

    @cached_property
    def swizzle(self) -> tuple[tuple[int, ...], Swizzle] | None:
        """(offset bit of each packed index bit before swizzling, swizzle), or None for placements that no swizzle
        describes.
        """
        # A swizzle only adds lower bits, so the highest bit is the index bit itself.
        places = tuple(offset.bit_length() - 1 for offset in self.inverse)
        if len(set(places)) < len(places):
            return None
        columns = [0] * len(places)
        for place, offset in zip(places, self.inverse):
            columns[place] = offset
        found = _find_swizzle(columns)
        return None if found is None else (places, found)

    def offsets_of(self, layout: LinearLayout) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Element offsets of the register, lane and warp bits of a register layout."""
        return _offsets_of(self, layout)


@lru_cache(maxsize=4096)
def _offsets_of(shared: SharedLayout, layout: LinearLayout):
    if shared.shape != layout.shape:
        raise ValueError(f"a layout of a tile {layout.shape} and a placement of a tile {shared.shape}")
    inverse = shared.inverse
    return tuple(f2_linear_algebra.compose(inverse, bases) for bases in (layout.registers, layout.lanes, layout.warps))


def _find_swizzle(columns: Sequence[int]) -> Swizzle | None:
    """The swizzle with these images of offset bits, if any."""
    extra = {bit: column ^ 1 << bit for bit, column in enumerate(columns) if column != 1 << bit}
    if not extra:
        return NO_SWIZZLE
    first, count = min(extra), len(extra)
    base = extra[first].bit_length() - 1
    if first - base < count:
        return None
    swizzle = Swizzle(count, base, first - base)
    return swizzle if list(columns) == swizzle.columns(len(columns)) else None


def lane_bits_per_phase(access_bytes: int) -> int:
    """Lane bits served at once: all 5 for up to 4 bytes per lane, 4 for 8 bytes, 3 for 16."""
    return LANE_BITS - max(0, log2_exact(max(1, access_bytes)) - 2)


def phases(access_bytes: int) -> int:
    """Groups of lanes that are served sequentially."""
    return 1 << (LANE_BITS - lane_bits_per_phase(access_bytes))


def conflict_degree(lane_offsets: Sequence[int], element_bits: int, vector: int) -> int:
    """Times each phase of an access is repeated because of bank conflicts; ``lane_offsets``: element offsets of the 5
    lane bits.
    """
    access_bytes = max(1, vector * element_bits // 8)
    inside = range(log2_exact(vector))
    addresses = [*lane_offsets[: lane_bits_per_phase(access_bytes)], *(1 << bit for bit in inside)]
    word = log2_exact(BANK_BYTES * 8 // element_bits) if element_bits <= 32 else 0
    line = log2_exact(LINE_BYTES * 8 // element_bits)
    words = [address >> word for address in addresses]
    banks = [address & (1 << line - word) - 1 for address in words]
    return 1 << (f2_linear_algebra.rank(words) - f2_linear_algebra.rank(banks))


def largest_vector(layout: LinearLayout, shared: SharedLayout) -> int:
    """Elements of one access, at most 16 bytes: some registers of each thread are consecutive and aligned in
    ``shared``.
    """
    registers, lanes, warps = shared.offsets_of(layout)
    span = f2_linear_algebra.Span(registers)
    others = 0
    for offset in (*lanes, *warps):
        others |= offset
    vector, max_vector = 1, VECTOR_BYTES * 8 // shared.element_bits
    while vector < max_vector and not others & vector and vector in span:
        vector *= 2
    return vector


def bank_conflicts(
    layout: LinearLayout, shared: SharedLayout, element_bits: int | None = None, vector: int | None = None
) -> int:
    """Wavefronts of one vector access of a warp over the least possible (1 = conflict-free)."""
    vector = largest_vector(layout, shared) if vector is None else vector
    return conflict_degree(shared.offsets_of(layout)[1], element_bits or shared.element_bits, vector)
