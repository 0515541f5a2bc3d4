"""Layout conversion: the cheapest way to move a tile from one register layout to another.

    NoOp                 the layouts agree
    RegisterPermutation  every thread has its elements: renaming, no instruction
    WarpShuffle          every warp has its elements (``warp_shuffle.py``)
    SharedRoundTrip      through shared memory: store, barrier, load

Placements are candidates of ``swizzle_selection``. The cost counts wavefronts, repacking of 32-bit registers, and
instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from . import f2_linear_algebra
from .ldmatrix_access import MatrixAccess, matrix_access
from .linear_layout import LinearLayout, log2_exact
from .shared_access import SharedAccess, shared_access, union, vector_wavefronts
from .shared_layout import SharedLayout, storage_bits
from .swizzle_selection import min_wavefronts, scratch_layouts
from .warp_shuffle import WarpShuffle, plan_warp_shuffle

# Costs in shared-memory cycles of one warp; a barrier costs about 16 of them, with its latency.
REPACK_COST, INSTRUCTION_COST, BARRIER_COST = 0.5, 0.125, 16.0


@dataclass(frozen=True)
class NoOp:
    """Source and target layouts hold the same element in the same register."""

    cost = 0.0


@dataclass(frozen=True)
class RegisterPermutation:
    """``registers[r]``: the source register that is target register r, in every thread."""

    registers: tuple[int, ...]

    cost = 0.0


@dataclass(frozen=True)
class RoundTripPass:
    """One pass: a subset of the registers; register indices are those of the whole layouts."""

    store: SharedAccess | MatrixAccess
    load: SharedAccess | MatrixAccess


@dataclass(frozen=True)
class SharedRoundTrip:
    """For each pass: barrier (the scratch may still be read), store, barrier, load.

    After the last pass target register r is the value loaded to ``register_source[r]`` (itself unless it is a replica).
    ``shared`` places one pass's elements, ``shared.element_bits`` each (4-bit elements may be stored as bytes, i1
    always is).
    """

    shared: SharedLayout
    passes: tuple[RoundTripPass, ...]
    register_source: tuple[int, ...]

    @property
    def scratch_bytes(self) -> int:
        return self.shared.size_bytes

    @cached_property
    def wavefronts(self) -> int:
        return sum(trip.store.wavefronts + trip.load.wavefronts for trip in self.passes)

    @cached_property
    def cost(self) -> float:
        moves = sum(_cost(trip.store) + _cost(trip.load) for trip in self.passes)
        return moves + 2 * BARRIER_COST * len(self.passes)


Plan = NoOp | RegisterPermutation | WarpShuffle | SharedRoundTrip


@lru_cache(maxsize=8192)
def plan_conversion(
    source: LinearLayout,
    target: LinearLayout,
    element_bits: int,
    *,
    stmatrix: bool = False,
    ldmatrix: bool = True,
    shuffle: bool = True,
    max_scratch: int | None = None,
) -> Plan:
    """The cheapest plan. ``stmatrix``, ``ldmatrix``, ``shuffle``: capabilities of the target; ``max_scratch``: bytes of
    shared memory.

    ``element_bits``: 1, 4, 8, 16, 32, 64 (or 128). ValueError if the tiles differ or the source lacks
    elements.
    """
    if source.shape != target.shape:
        raise ValueError(f"cannot convert a tile {source.shape} to a tile {target.shape}")
    if source == target:
        return NoOp()
    registers = source.register_permutation(target)
    if registers is not None:
        same = registers == tuple(range(source.num_registers))
        return NoOp() if same else RegisterPermutation(registers)
    return _plan_movement(source, target, element_bits, stmatrix, ldmatrix, shuffle, max_scratch)


def _plan_movement(source, target, element_bits, stmatrix, ldmatrix, shuffle, max_scratch) -> Plan:
    shuffled = plan_warp_shuffle(source, target, storage_bits(element_bits)) if shuffle else None
    if shuffled is not None and shuffled.cost <= 2 * BARRIER_COST:
        return shuffled
    trip = plan_round_trip(source, target, element_bits, stmatrix=stmatrix, ldmatrix=ldmatrix, max_scratch=max_scratch)
    return shuffled if shuffled is not None and shuffled.cost <= trip.cost else trip


@lru_cache(maxsize=4096)
def plan_round_trip(
    source: LinearLayout,
    target: LinearLayout,
    element_bits: int,
    *,
    stmatrix: bool = False,
    ldmatrix: bool = True,
    max_scratch: int | None = None,
) -> SharedRoundTrip:
    """The cheapest round trip through shared memory of at most ``max_scratch`` bytes (more if the layouts require it)."""
    if not source.is_surjective:
        raise ValueError("the source layout does not hold every element")
    bits = storage_bits(element_bits)
    held, held_registers, _ = source.distinct_registers()
    wanted, wanted_registers, number = target.distinct_registers()
    cut = _chunk_bits(held, wanted, bits, max_scratch)
    parts = _ChunkMap.of(held, cut, held_registers), _ChunkMap.of(wanted, cut, wanted_registers)
    shared, store, load = _best_scratch(parts[0].layout, parts[1].layout, bits, stmatrix, ldmatrix)
    copies = tuple(wanted_registers[register] for register in number)
    passes = tuple(
        RoundTripPass(_renumber_registers(store, stored, held_registers), _renumber_registers(load, loaded, copies))
        for stored, loaded in zip(parts[0].registers, parts[1].registers, strict=True)
    )
    return SharedRoundTrip(shared, passes, copies)


def _best_scratch(source: LinearLayout, target: LinearLayout, bits: int, stmatrix: bool, ldmatrix: bool):
    """(placement, store, load) of least cost; 4-bit elements without pairs in a thread are stored as bytes."""
    best = None
    for shared in scratch_layouts(source, target, bits, stmatrix, ldmatrix):
        stores, loads = min_wavefronts(source, shared, stmatrix), min_wavefronts(target, shared, ldmatrix)
        if stores is None or loads is None or best is not None and stores + loads >= best[0]:
            continue
        store, load = cheapest_access(source, shared, stmatrix), cheapest_access(target, shared, ldmatrix)
        if store is None or load is None:
            continue
        cost = _cost(store) + _cost(load)
        if best is None or cost < best[0]:
            best = cost, shared, store, load
    return best[1:] if best else _best_scratch(source, target, 8, stmatrix, ldmatrix)


def cheapest_access(layout: LinearLayout, shared: SharedLayout, matrices: bool) -> SharedAccess | MatrixAccess | None:
    """The cheaper of plain and matrix instructions; None if 4-bit elements would have to be stored one by one."""
    matrix = matrix_access(layout, shared) if matrices else None
    if vector_wavefronts(layout, shared) is None:
        return matrix
    plain = shared_access(layout, shared)
    return matrix if matrix is not None and _cost(matrix) < _cost(plain) else plain


def _cost(access: SharedAccess | MatrixAccess) -> float:
    """Wavefronts, repacking of 32-bit registers, and a small cost per instruction."""
    return access.wavefronts + REPACK_COST * access.repacks + INSTRUCTION_COST * access.num_instructions


def _renumber_registers(access: SharedAccess | MatrixAccess, registers: Sequence[int], source: tuple[int, ...]):
    """The same access with each register r replaced by ``registers[r]``."""
    if isinstance(access, SharedAccess):
        vectors = tuple(replace(v, registers=tuple(registers[r] for r in v.registers)) for v in access.vectors)
        return replace(access, vectors=vectors, register_source=source)
    instructions = tuple(
        replace(one, registers=tuple(tuple(registers[r] for r in word) for word in one.registers))
        for one in access.instructions
    )
    return replace(access, instructions=instructions, register_source=source)


# Passes: the tile is split along index bits that only registers move, in both layouts.


def _chunk_bits(source: LinearLayout, target: LinearLayout, bits: int, max_scratch: int | None) -> tuple[int, ...]:
    """The packed index bits, as unit vectors, that index the passes."""
    wanted, size = 0, source.size * bits // 8
    while max_scratch and size >> wanted > max_scratch:
        wanted += 1
    if not wanted:
        return ()
    theirs = register_units(target)
    return tuple([unit for unit in register_units(source) if unit in theirs][:wanted])


def register_units(layout: LinearLayout) -> list[int]:
    """The index bits that only registers move, as unit vectors, highest first."""
    moved, span = union((*layout.lanes, *layout.warps, *layout.blocks)), f2_linear_algebra.Span(layout.registers)
    units = (1 << bit for bit in range(layout.index_bits - 1, -1, -1))
    return [unit for unit in units if not unit & moved and unit in span]


@dataclass(frozen=True)
class _ChunkMap:
    """The layout of the elements with all split bits 0; for each pass, the registers of the full layout."""

    layout: LinearLayout
    registers: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, layout: LinearLayout, cut: Sequence[int], registers: Sequence[int]) -> _ChunkMap:
        """``registers``: the outer register indices of ``layout``, which has no replicated registers."""
        if not cut:
            return cls(layout, (tuple(registers),))
        mask = sum(cut)
        number = {offset: registers[register] for register, offset in enumerate(layout.register_offsets)}
        inside = [offset for offset in layout.register_offsets if not offset & mask]
        # The registers of a subspace, in ascending order, are again linear.
        columns = [inside[1 << bit] for bit in range(log2_exact(len(inside)))]
        matrix, place = [], 1
        for bit in range(layout.index_bits):
            matrix.append(0 if mask >> bit & 1 else place)
            place <<= not mask >> bit & 1
        part = layout.with_registers(columns).compose(matrix, (layout.size >> len(cut),))
        starts, offsets = f2_linear_algebra.enumerate_span(cut), f2_linear_algebra.enumerate_span(columns)
        return cls(part, tuple(tuple(number[start ^ offset] for offset in offsets) for start in starts))


# A tile that moves to shared memory chunk by chunk.


@dataclass(frozen=True)
class TileChunks:
    """Chunks are indexed by the offset bits ``cut`` of the whole tile's placement, ascending; ``moves``: one for each
    chunk, with offsets from the chunk's start.
    """

    chunk_bits: tuple[int, ...]
    copies: tuple[SharedAccess | MatrixAccess, ...]

    def chunk_and_offset(self, offset: int) -> tuple[int, int]:
        """(chunk, offset in it) of an element offset of the whole."""
        part = sum((offset >> bit & 1) << number for number, bit in enumerate(self.chunk_bits))
        for bit in reversed(self.chunk_bits):
            offset = offset >> bit + 1 << bit | offset & (1 << bit) - 1
        return part, offset


@lru_cache(maxsize=1024)
def tile_chunks(
    layout: LinearLayout, shared: SharedLayout, chunks: int, block: int, matrices: bool
) -> TileChunks | None:
    """The cheapest moves from ``layout`` of ``parts`` equal chunks of a placement, in whole blocks of ``block`` elements
    (both powers of two); None if chunks do not have the same registers in every thread.
    """
    moved, span = union((*layout.lanes, *layout.warps)), f2_linear_algebra.Span(layout.registers)
    units = {bit: shared.bases[bit] for bit in range(len(shared.bases) - 1, log2_exact(block) - 1, -1)}
    free = [bit for bit, unit in units.items() if not unit & (unit - 1) and not unit & moved and unit in span]
    cut = tuple(sorted(free[: log2_exact(chunks)]))
    if 1 << len(cut) < chunks:
        return None
    held, registers, _ = layout.distinct_registers()
    part = _ChunkMap.of(held, [shared.bases[bit] for bit in cut], registers)
    access = cheapest_access(part.layout, _first_chunk(shared, cut), matrices)
    return (
        None
        if access is None
        else TileChunks(cut, tuple(_renumber_registers(access, own, ()) for own in part.registers))
    )


def _first_chunk(shared: SharedLayout, cut: tuple[int, ...]) -> SharedLayout:
    """The placement of chunk 0 as a one-dimensional tile; the whole tile if there is one chunk."""
    if not cut:
        return shared
    gone = [shared.bases[bit] for bit in cut]
    kept = [1 << bit for bit in range(len(shared.bases)) if 1 << bit not in gone]
    inside = (base for bit, base in enumerate(shared.bases) if bit not in cut)
    bases = tuple(sum(1 << place for place, unit in enumerate(kept) if base & unit) for base in inside)
    return SharedLayout((1 << len(kept),), shared.element_bits, bases)
