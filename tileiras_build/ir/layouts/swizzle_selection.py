"""Select a placement in shared memory for a tile that is stored with one register layout and loaded with another.

There are two families. Placements that text, TMA or wgmma must name have an order of dimensions and one swizzle<B,M,S>;
these candidates are few, and all are tried. A tile that only generated loads and stores access may have any invertible
matrix, computed for the two layouts:

Let V be the elements of a vector, P and Q the subspaces that one phase of the store and of the load accesses (its lanes
and its vector). Offsets with the same bank are the span H of the high placement bases, and an access is free of
conflicts exactly if it intersects H only in 0. With I the intersection of P and Q, P = I + E, Q = I + F, the vectors
e_i + f_i together with a complement of P + Q intersect neither, and they always suffice. V (16-byte stores, 16-byte
loads, their common part, the rows of stmatrix or ldmatrix) is chosen by the number of wavefronts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, permutations

from . import f2_linear_algebra
from .ldmatrix_access import matrix_wavefronts
from .linear_layout import LinearLayout, log2_exact
from .shared_access import vector_wavefronts
from .shared_layout import LINE_BYTES, VECTOR_BYTES, SharedLayout, lane_bits_per_phase, storage_bits
from .swizzle import NO_SWIZZLE, Swizzle

MAX_SWIZZLE_BITS = 5  # All banks.
MAX_SHIFTS = 3


def min_wavefronts(layout: LinearLayout, shared: SharedLayout, matrices: bool) -> int | None:
    """Shared-memory cycles of one warp to move its registers, with ldmatrix or stmatrix if allowed; None if it cannot
    (4 bits).
    """
    counts = [vector_wavefronts(layout, shared), matrix_wavefronts(layout, shared) if matrices else None]
    possible = [count for count in counts if count is not None]
    return min(possible) if possible else None


@lru_cache(maxsize=1024)
def choose_swizzle(
    store: LinearLayout | None,
    load: LinearLayout | None,
    shape: tuple[int, ...],
    element_bits: int,
    *,
    order: tuple[int, ...] | None = None,
    stmatrix: bool = False,
    ldmatrix: bool = True,
    standard_modes_only: bool = False,
) -> SharedLayout:
    """The placement with the fewest shared-memory cycles for both; ``order`` (fastest dimension first) if it is
    fixed.

    ``named`` (and ``order``) admit only placements of ``SharedLayout.plain``; else any matrix that is better wins. A
    side that is None (TMA, cp.async that fits any order) does not count. ValueError for 4-bit elements that are never
    in pairs.
    """
    sides = [(layout, flag) for layout, flag in ((store, stmatrix), (load, ldmatrix)) if layout is not None]
    ideal = sum(_ideal(layout, element_bits) for layout, _ in sides)
    best = None
    candidates = _candidates(shape, element_bits, _orders(shape, store or load) if order is None else [order])
    if store is not None and load is not None and not standard_modes_only and order is None:
        candidates = chain(candidates, scratch_layouts(store, load, storage_bits(element_bits), stmatrix, ldmatrix))
    for shared in candidates:
        bounds = (min_wavefronts(layout, shared, flag) for layout, flag in sides)
        counts = [count for count in bounds if count is not None]
        if len(counts) < len(sides):
            continue
        if best is None or sum(counts) < best[0]:
            best = sum(counts), shared
        if best[0] == ideal:
            break
    if best is None:
        raise ValueError("no order of the dimensions has two 4-bit elements of a byte in one thread")
    return best[1]


def _ideal(layout: LinearLayout, element_bits: int) -> int:
    """Cycles to move all bytes of a warp at 128 bytes each."""
    registers = len(layout.registers) - layout.free_bits("register").bit_count()
    return max(1, (storage_bits(element_bits) << registers) * layout.num_lanes // (8 * LINE_BYTES))


def _orders(shape: Sequence[int], layout: LinearLayout | None) -> list[tuple[int, ...]]:
    """The order in which ``layout`` is contiguous first, then the others; only rotations of the fastest dimension for
    high ranks.
    """
    rank = len(shape)
    row_major = tuple(range(rank - 1, -1, -1))
    orders = list(permutations(row_major)) if rank <= 3 else [(d, *(e for e in row_major if e != d)) for d in row_major]
    return orders if layout is None else sorted(orders, key=lambda order: -layout.contiguous(order))


def _candidates(shape: Sequence[int], element_bits: int, orders: Sequence[Sequence[int]]) -> Iterator[SharedLayout]:
    """All plain placements, then swizzles: larger chunks first, then fewer bits, then rows from further up; at last
    chunks of more than one vector, for lanes that read neighbors one by one (tf32 operands stored across k).
    """
    bits = storage_bits(element_bits)
    for order in orders:
        yield SharedLayout.plain(shape, order, bits, NO_SWIZZLE)
    for order in orders:
        for swizzle in _swizzles(shape, order, bits):
            yield SharedLayout.plain(shape, order, bits, swizzle)


def _swizzles(shape: Sequence[int], order: Sequence[int], bits: int) -> Iterator[Swizzle]:
    offset_bits = sum(log2_exact(size) for size in shape)
    row = log2_exact(shape[order[0]]) if shape else 0
    # Rows shorter than all banks share a line; only whole lines need to differ.
    first = max(row, log2_exact(LINE_BYTES * 8 // bits))
    chunk = log2_exact(VECTOR_BYTES * 8 // bits)
    for base in (*range(chunk, -1, -1), chunk + 1, chunk + 2):
        for count in range(1, MAX_SWIZZLE_BITS + 1):
            for source in range(first, first + MAX_SHIFTS):
                if source - base >= count and source + count <= offset_bits:
                    yield Swizzle(count, base, source - base)


# Placements computed for two layouts


@dataclass(frozen=True)
class _AccessSide:
    """One access, by generators: ``vector``, the part of V that it moves at once; ``phase``, the bits of one phase
    (P or Q above); ``fixed``, the bits that move between threads and so must keep the vector's offset bits 0."""

    vector: tuple[int, ...]
    phase: tuple[int, ...]
    fixed: tuple[int, ...]

    @classmethod
    def of(cls, layout: LinearLayout, vector: tuple[int, ...], bits: int, matrices: bool) -> _AccessSide:
        for row, row_index_bits in _matrix_rows(layout, bits) if matrices else ():
            if row == vector:
                others = tuple(basis for basis in layout.registers if basis not in (*row, *row_index_bits))
                return cls(row, (*row, *row_index_bits), (*row_index_bits, *others, *layout.warps))
        span = f2_linear_algebra.Span(layout.registers)
        width = next((place for place, basis in enumerate(vector) if basis not in span), len(vector))
        lanes = layout.lanes[: lane_bits_per_phase(max(1, (bits << width) // 8))]
        return cls(vector[:width], (*vector[:width], *lanes), (*layout.lanes, *layout.warps))


def scratch_layouts(
    source: LinearLayout, target: LinearLayout, bits: int, stmatrix: bool = False, ldmatrix: bool = True
) -> Iterator[SharedLayout]:
    """Placements with few bank conflicts for stores from ``source`` and loads to ``target``, one for each candidate
    vector.
    """
    for vector in _vectors(source, target, bits, stmatrix, ldmatrix):
        sides = _AccessSide.of(source, vector, bits, stmatrix), _AccessSide.of(target, vector, bits, ldmatrix)
        yield SharedLayout(source.shape, bits, _placement(vector, sides, source.index_bits, bits))


def _vectors(source: LinearLayout, target: LinearLayout, bits: int, stmatrix: bool, ldmatrix: bool):
    """Candidates for the elements of 16 bytes, lowest address bit first: tuples of packed indices, without
    repetition.
    """
    vector_bits = log2_exact(VECTOR_BYTES * 8 // bits)
    found = {tuple(layout.registers[:vector_bits]): None for layout in (source, target)} if bits >= 8 else {}
    found[tuple(f2_linear_algebra.intersection(source.registers, target.registers)[:vector_bits])] = None
    for layout, matrices in ((source, stmatrix), (target, ldmatrix)):
        for rows in _matrix_rows(layout, bits) if matrices else ():
            found[rows[0]] = None
    return [vector for vector in found if f2_linear_algebra.rank(vector) == len(vector)]


def _matrix_rows(layout: LinearLayout, bits: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For ldmatrix without and with .trans: (elements of a 16-byte row, bits that index the 8 rows)."""
    packed = log2_exact(max(1, 32 // bits))
    rows = []
    if 8 <= bits <= 32 and len(layout.registers) >= packed:
        rows.append((layout.registers[:packed] + layout.lanes[:2], layout.lanes[2:]))
    if bits == 16 and layout.registers:
        rows.append((layout.lanes[2:], layout.registers[:1] + layout.lanes[:2]))
    return rows


def _placement(vector: tuple[int, ...], sides: Sequence[_AccessSide], index_bits: int, bits: int) -> tuple[int, ...]:
    """Bases of a placement: ``vector`` lowest, then the other banks, then the rows of 128 bytes (H above)."""
    height = max(0, index_bits - log2_exact(LINE_BYTES * 8 // bits))
    units = [1 << bit for bit in range(index_bits)]
    rows = _choose_rows(vector, sides, height, units)
    wider = sorted(sides, key=lambda side: -len(side.vector))
    banks = f2_linear_algebra.complement([*vector, *rows], [*wider[0].fixed, *wider[1].fixed, *units])
    missing = height - len(rows)
    rows = sorted(rows + banks[len(banks) - missing :])
    return (*vector, *banks[: len(banks) - missing], *rows)


def _choose_rows(vector: tuple[int, ...], sides: Sequence[_AccessSide], height: int, units: Sequence[int]) -> list[int]:
    """Up to ``height`` independent vectors that no phase of either side contains, and that leave the vectors aligned."""
    tests = [_RowTest(vector, side) for side in sides]
    rows: list[int] = []
    for candidate in _row_candidates(sides, units):
        if len(rows) == height:
            break
        if all(test.admits(candidate) for test in tests):
            rows.append(candidate)
            for test in tests:
                test.add(candidate)
    return rows


class _RowTest:
    """Conditions on H = span(rows) for one side: H intersects its phase only in 0, and its vector intersects (fixed + H)
    only in 0.
    """

    def __init__(self, vector: tuple[int, ...], side: _AccessSide):
        self.phase = f2_linear_algebra.Span(side.phase)
        # Bits of V above this side's own vector are ordinary offset bits for it.
        fixed = (*vector[len(side.vector) :], *side.fixed)
        self.fixed = f2_linear_algebra.Span(fixed)
        self.aligned = f2_linear_algebra.Span((*side.vector, *fixed))

    def admits(self, row: int) -> bool:
        return row not in self.phase and (row in self.fixed or row not in self.aligned)

    def add(self, row: int) -> None:
        for span in (self.phase, self.fixed, self.aligned):
            span.insert(row)


def _row_candidates(sides: Sequence[_AccessSide], units: Sequence[int]) -> Iterator[int]:
    """Basis vectors of neither phase, then sums of vectors of one phase only, then all other sums of two basis vectors."""
    stored, loaded = sides[0].phase, sides[1].phase
    outside = f2_linear_algebra.complement([*stored, *loaded], units)
    yield from outside
    common = f2_linear_algebra.intersection(stored, loaded)
    # An element of a side's vector may not be combined with bits that move between that side's threads. So the store's
    # vector is first among its own and is combined with vectors that its threads do not move; the load's likewise, from
    # the other end.
    early, late = sides
    only_stored = f2_linear_algebra.complement(common, stored)
    only_stored.sort(key=lambda basis: 0 if basis in early.vector else 1 if basis in late.fixed else 2)
    only_loaded = f2_linear_algebra.complement(common, loaded)
    only_loaded.sort(key=lambda basis: 2 if basis in late.vector else 1 if basis in early.fixed else 0)
    yield from (left ^ right for left, right in zip(only_stored, only_loaded))
    basis = f2_linear_algebra.independent([*only_stored, *only_loaded, *common, *outside])
    yield from (left ^ right for left, right in combinations(basis, 2))
