"""Loads and stores of registers from and to a placement in shared memory: vectors and addresses, ready to be emitted.

The address of a vector is linear in thread and register bits, so it splits into a per-thread part that is computed
once, and a constant:

    address(lane, warp, v) = buffer + ((base(lane, warp) ^ vectors[v].xor) + vectors[v].add)       in bytes

``base`` is the XOR of ``lane_offsets`` and ``warp_offsets`` over the set bits of the lane and warp indices;
``thread_terms`` has it as a few shifts and masks of the thread index. ``xor`` has only constant bits that overlap bits
of ``base``; all other bits are in ``add``, the immediate offset of the instruction. So vectors with equal ``xor`` share
one address register, and without a swizzle every ``xor`` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

from . import f2_linear_algebra
from .linear_layout import LinearLayout, log2_exact
from .shared_layout import SharedLayout, conflict_degree, largest_vector, phases


def shift_terms(offsets: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """(mask, shift) pairs with XOR over pairs of ((number & mask) << shift) = F2 image of number; negative shifts go
    right.
    """
    masks: dict[int, int] = {}
    for bit, offset in enumerate(offsets):
        for position in f2_linear_algebra.bits(offset):
            masks[position - bit] = masks.get(position - bit, 0) | 1 << bit
    return tuple((mask, shift) for shift, mask in sorted(masks.items()))


def split_constant(constant: int, base_mask: int) -> tuple[int, int]:
    """(xor, add) parts of a constant for a base whose bits are within ``base_mask``."""
    return constant & base_mask, constant & ~base_mask


def count_packing_moves(registers: Sequence[int], element_bits: int) -> int:
    """The 32-bit words of these registers that must be packed: 8-bit registers 4, 5, 6, 7 already form one word."""
    packed = 32 // element_bits
    if packed <= 1:
        return 0
    words = [tuple(registers[first : first + packed]) for first in range(0, len(registers), packed)]
    return sum(word[0] % packed != 0 or word != tuple(range(word[0], word[0] + packed)) for word in words)


def union(masks: Sequence[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


@dataclass(frozen=True)
class VectorAccess:
    """One instruction: the registers from the lowest address up, and the constant part of the address in bytes."""

    registers: tuple[int, ...]
    xor: int
    add: int


class Constant(Protocol):
    """The constant part of an instruction's address."""

    @property
    def xor(self) -> int: ...
    @property
    def add(self) -> int: ...


class Thread(Protocol):
    """The per-thread part of addresses."""

    @property
    def lane_offsets(self) -> tuple[int, ...]: ...
    @property
    def warp_offsets(self) -> tuple[int, ...]: ...


def offset_constant(thread: Thread, constant: Constant, offset: int) -> tuple[int, int]:
    """The (xor, add) parts of a constant after the XOR of addresses with ``offset``."""
    return split_constant(constant.xor ^ constant.add ^ offset, union(thread.lane_offsets + thread.warp_offsets))


@dataclass(frozen=True)
class SharedAccess:
    """All loads or stores of a thread between ``layout`` and a placement, ``vector`` elements of ``element_bits`` each.

    Stores: only threads with all bits of ``free_lanes`` and ``free_warps`` clear need to store; the others hold
    replicas. Loads: register r of the layout is the value loaded to ``register_source[r]`` (r itself unless it is a
    replica).
    """

    element_bits: int
    vector: int
    lane_offsets: tuple[int, ...]
    warp_offsets: tuple[int, ...]
    vectors: tuple[VectorAccess, ...]
    register_source: tuple[int, ...]
    free_lanes: int
    free_warps: int
    conflicts: int

    def with_offset(self, offset: int) -> SharedAccess:
        """The access of elements whose addresses differ by the XOR with ``offset``, in bytes."""
        vectors = tuple(VectorAccess(one.registers, *offset_constant(self, one, offset)) for one in self.vectors)
        return replace(self, vectors=vectors)

    @property
    def access_bytes(self) -> int:
        return max(1, self.vector * self.element_bits // 8)

    @property
    def is_additive(self) -> bool:
        """Every constant can be an immediate offset."""
        return all(vector.xor == 0 for vector in self.vectors)

    @cached_property
    def thread_terms(self) -> tuple[tuple[int, int], ...]:
        """``shift_terms`` of the base address over the thread number (lane in bits 0 to 4, warp above)."""
        return shift_terms(self.lane_offsets + self.warp_offsets)

    @property
    def wavefronts(self) -> int:
        """Shared-memory cycles of one warp for all instructions."""
        return len(self.vectors) * phases(self.access_bytes) * self.conflicts

    @property
    def num_instructions(self) -> int:
        return len(self.vectors)

    @cached_property
    def repacks(self) -> int:
        """32-bit words of the vectors that must be packed: those that are not consecutive registers already."""
        return sum(count_packing_moves(vector.registers, self.element_bits) for vector in self.vectors)

    def base(self, lane: int, warp: int) -> int:
        """Byte offset of a thread for constant 0."""
        return f2_linear_algebra.apply(self.lane_offsets, lane) ^ f2_linear_algebra.apply(self.warp_offsets, warp)

    def address(self, vector: int, lane: int, warp: int) -> int:
        """Byte offset of a vector of a thread."""
        access = self.vectors[vector]
        return (self.base(lane, warp) ^ access.xor) + access.add

    def is_holder(self, lane: int, warp: int) -> bool:
        return not (lane & self.free_lanes or warp & self.free_warps)


def vector_wavefronts(layout: LinearLayout, shared: SharedLayout) -> int | None:
    """``shared_access(...).wavefronts`` without the plan; None where there is none."""
    vector = largest_vector(layout, shared)
    if vector * shared.element_bits < 8:
        return None
    registers, lanes, _ = shared.offsets_of(layout)
    accesses = (1 << len(registers) - layout.free_bits("register").bit_count()) // vector
    degree = conflict_degree(lanes, shared.element_bits, vector)
    return accesses * phases(vector * shared.element_bits // 8) * degree


def to_bytes(offset: int, element_bits: int) -> int:
    return offset * element_bits // 8


@lru_cache(maxsize=4096)
def shared_access(layout: LinearLayout, shared: SharedLayout, vector: int | None = None) -> SharedAccess:
    """The plan of a whole tile; ``vector`` limits the elements per instruction. ValueError if bytes would be shared
    (4-bit elements).
    """
    widest = largest_vector(layout, shared)
    vector = widest if vector is None else min(vector, widest)
    if vector * shared.element_bits < 8:
        raise ValueError("4-bit elements need two neighbors of a byte in one thread; store them as bytes")
    distinct, ours, number = layout.distinct_registers()
    registers, lanes, warps = shared.offsets_of(distinct)
    lane_offsets = tuple(to_bytes(offset, shared.element_bits) for offset in lanes)
    warp_offsets = tuple(to_bytes(offset, shared.element_bits) for offset in warps)
    base_mask = union(lane_offsets + warp_offsets)
    vectors = []
    for offset, members in _vectors(registers, vector):
        xor, add = split_constant(to_bytes(offset, shared.element_bits), base_mask)
        vectors.append(VectorAccess(tuple(ours[member] for member in members), xor, add))
    return SharedAccess(
        element_bits=shared.element_bits,
        vector=vector,
        lane_offsets=lane_offsets,
        warp_offsets=warp_offsets,
        vectors=tuple(vectors),
        register_source=tuple(ours[register] for register in number),
        free_lanes=layout.free_bits("lane"),
        free_warps=layout.free_bits("warp"),
        conflicts=conflict_degree(lanes, shared.element_bits, vector),
    )


def _vectors(offsets: Sequence[int], vector: int) -> Iterator[tuple[int, list[int]]]:
    """(offset of the vector, its registers from the lowest address up), in the order of each vector's first register."""
    groups: dict[int, list[int]] = {}
    low = log2_exact(vector)
    for register, offset in enumerate(f2_linear_algebra.enumerate_span(offsets)):
        groups.setdefault(offset >> low, [0] * vector)[offset & vector - 1] = register
    for chunk, members in groups.items():
        yield chunk << low, members
