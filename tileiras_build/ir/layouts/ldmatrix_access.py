"""Whether ldmatrix or stmatrix can move a fragment, by division of matrices (PTX ISA 9.0, section 9.7.14.5.15 and .16).

One m8n8.b16 matrix is 8 rows of 16 bytes, each row at an address that one lane supplies. Lane t gets 4 bytes of it:

    plain   row t / 4, bytes 4 (t % 4) to + 3:
            lane bits 0, 1 move by 4 and 8 bytes, lane bits 2 to 4 select the row
    trans   the 16-bit elements [2 (t % 4)][t / 4] and [2 (t % 4) + 1][t / 4]:
            lane bits 2 to 4 move by 2, 4, 8 bytes, one register bit and lane bits 0, 1 select the row

A layout is divisible if its byte offsets in shared memory match one of the two patterns and all its other bits are
multiples of 16 bytes. Elements of other widths are moved as they are in memory: plain works for 4 to 32 bits if the
elements of a 32-bit register are consecutive bytes; trans for 16 bits, and for pairs of bytes that differ in one
register bit. If a thread needs four such pairs along the rows, lanes 0 to 3 of a matrix read rows 4 t and 4 t + 1,
whose positions in swizzled lines coincide for t = 0 and 2, 1 and 3: then lanes with t >= 2 get the pairs of their two
matrices in swapped registers (``swapped_lanes``), and the rows of a matrix have eight different positions. The address
of a row is again linear: bits 0 to 2 of the supplying lane are the row, bits 3 and 4 the matrix within the instruction
(.x2, .x4), which the lowest remaining register bits select.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from . import f2_linear_algebra
from .linear_layout import LANE_BITS, LinearLayout
from .shared_access import count_packing_moves, offset_constant, shift_terms, split_constant, union
from .shared_layout import LINE_BYTES, VECTOR_BYTES, SharedLayout

UPPER_LANES = 2  # lanes t >= 2 of those that share a row of a result


@dataclass(frozen=True)
class MatrixInstruction:
    """One ldmatrix or stmatrix: for each of its 32-bit registers the layout's registers in it (lowest bits first),
    and the constant.
    """

    registers: tuple[tuple[int, ...], ...]
    xor: int
    add: int


@dataclass(frozen=True)
class MatrixAccess:
    """All ldmatrix or stmatrix of a warp; addresses as in ``shared_access.SharedAccess``, with base bits of the
    *supplying* lane.

    ``count`` is 1, 2 or 4 matrices per instruction; lanes from 8 * count on supply no address (their offset bits are
    0). ``register_source``, ``free_warps``: as for SharedAccess (stores by other warps repeat the same values). Lanes with the
    bit ``swapped_lanes`` get the registers of each two matrices swapped.
    """

    element_bits: int
    transposed: bool
    count: int
    lane_offsets: tuple[int, ...]
    warp_offsets: tuple[int, ...]
    instructions: tuple[MatrixInstruction, ...]
    register_source: tuple[int, ...]
    free_warps: int
    conflicts: int
    swapped_lanes: int = 0

    free_lanes = 0

    def with_offset(self, offset: int) -> MatrixAccess:
        """The access of elements whose addresses differ by the XOR with ``offset``, in bytes."""
        moved = (MatrixInstruction(one.registers, *offset_constant(self, one, offset)) for one in self.instructions)
        return replace(self, instructions=tuple(moved))

    @property
    def is_additive(self) -> bool:
        return all(instruction.xor == 0 for instruction in self.instructions)

    @cached_property
    def thread_terms(self) -> tuple[tuple[int, int], ...]:
        return shift_terms(self.lane_offsets + self.warp_offsets)

    @property
    def wavefronts(self) -> int:
        return len(self.instructions) * self.count * self.conflicts

    @property
    def num_instructions(self) -> int:
        return len(self.instructions)

    @cached_property
    def repacks(self) -> int:
        """32-bit words that must be packed: those that are not consecutive registers of a thread already."""
        words = (word for instruction in self.instructions for word in instruction.registers)
        return sum(count_packing_moves(word, self.element_bits) for word in words)

    def address(self, instruction: int, lane: int, warp: int) -> int:
        """Byte offset that ``lane`` supplies to an instruction."""
        base = f2_linear_algebra.apply(self.lane_offsets, lane) ^ f2_linear_algebra.apply(self.warp_offsets, warp)
        return (base ^ self.instructions[instruction].xor) + self.instructions[instruction].add


@lru_cache(maxsize=4096)
def matrix_access(layout: LinearLayout, shared: SharedLayout, max_count: int = 4) -> MatrixAccess | None:
    """The ldmatrix (or stmatrix) plan between a register layout and a placement, or None if the layouts do not
    divide.
    """
    pattern = _divide(layout, shared)
    return None if pattern is None else _plan(layout, pattern, shared.element_bits, max_count)


def matrix_wavefronts(layout: LinearLayout, shared: SharedLayout) -> int | None:
    """``matrix_access(...).wavefronts`` without the plan."""
    pattern = _divide(layout, shared)
    return None if pattern is None else pattern.conflicts << len(pattern.others)


@dataclass(frozen=True)
class _Pattern:
    """``packed``: register combinations inside a 32-bit register; ``others``: those that index the matrices. Offsets
    in bits: ``rows`` of the 3 row bits, ``rest`` of ``others``, ``warps``. ``swapped_lanes``: as for MatrixAccess."""

    transposed: bool
    packed: tuple[int, ...]
    others: tuple[int, ...]
    rows: tuple[int, ...]
    rest: tuple[int, ...]
    warps: tuple[int, ...]
    swapped_lanes: int = 0

    @property
    def is_aligned(self) -> bool:
        """Rows start at multiples of 16 bytes."""
        return not union((*self.rows, *self.rest, *self.warps)) % (8 * VECTOR_BYTES)

    @property
    def conflicts(self) -> int:
        rows = [offset // (8 * VECTOR_BYTES) for offset in self.rows]
        return 1 << (
            f2_linear_algebra.rank(rows)
            - f2_linear_algebra.rank([row & LINE_BYTES // VECTOR_BYTES - 1 for row in rows])
        )


def _divide(layout: LinearLayout, shared: SharedLayout) -> _Pattern | None:
    if shared.element_bits > 32 or layout.free_bits("lane"):
        return None
    registers, lanes, warps = (
        tuple(offset * shared.element_bits for offset in part)
        for part in shared.offsets_of(layout.distinct_registers()[0])
    )
    pattern = _match(registers, lanes, warps, shared.element_bits)
    return pattern if pattern is not None and pattern.is_aligned else None


def _match(registers, lanes, warps, element_bits: int) -> _Pattern | None:
    """Match the offsets in bits of each register, lane and warp bit against the two patterns above."""
    if lanes[:2] == (32, 64):
        return _match_plain(registers, lanes, warps, element_bits)
    if lanes[2:] == (16, 32, 64) and element_bits == 16 and registers:
        # Any register bit could pair the rows; the lowest is the one that fragments pack.
        others = tuple(1 << bit for bit in range(1, len(registers)))
        return _Pattern(True, (1,), others, (registers[0], *lanes[:2]), tuple(registers[1:]), warps)
    if lanes[2:] == (16, 32, 64) and element_bits == 8 and 8 in registers:
        return _match_pairs(registers, lanes, warps)
    return None


def _match_pairs(registers, lanes, warps) -> _Pattern | None:
    """trans of pairs of bytes, with the minimal conflicts over swaps of registers."""
    if len(registers) < 3:
        return None
    pair = registers.index(8)
    first, *others = (bit for bit in range(len(registers)) if bit != pair)
    rest = tuple(registers[bit] for bit in others)
    bits = (1 << pair, 1 << first), tuple(1 << bit for bit in others)
    rows = registers[first], *lanes[:2]
    plain = _Pattern(True, *bits, rows, rest, warps)
    swapped = replace(plain, rows=(*rows[:2], rows[2] ^ rest[0]), swapped_lanes=UPPER_LANES)
    return min(plain, swapped, key=lambda pattern: pattern.conflicts)


def _match_plain(registers, lanes, warps, element_bits: int) -> _Pattern | None:
    in_word = range((32 // element_bits).bit_length() - 1)
    packed = f2_linear_algebra.Span(registers).solve_all(element_bits << bit for bit in in_word)
    if packed is None:
        return None
    others = f2_linear_algebra.complement(packed, [1 << bit for bit in range(len(registers))])
    others = [_clear_low_bits(other, packed, registers) for other in others]
    rest = tuple(f2_linear_algebra.apply(registers, other) for other in others)
    return _Pattern(False, tuple(packed), tuple(others), tuple(lanes[2:]), rest, warps)


def _clear_low_bits(register: int, packed: Sequence[int], registers: Sequence[int]) -> int:
    """The same register up to the packed ones, with offset 0 within the 32 bits."""
    offset = f2_linear_algebra.apply(registers, register)
    for combination in packed:
        if offset & f2_linear_algebra.apply(registers, combination):
            register ^= combination
    return register


def _plan(layout: LinearLayout, pattern: _Pattern, element_bits: int, max_count: int) -> MatrixAccess:
    _, ours, number = layout.distinct_registers()
    matrices = min(len(pattern.others), max_count.bit_length() - 1)
    lane_bits = pattern.rows + pattern.rest[:matrices]
    lane_offsets = tuple(offset // 8 for offset in lane_bits) + (0,) * (LANE_BITS - len(lane_bits))
    warp_offsets = tuple(offset // 8 for offset in pattern.warps)
    base_mask = union(lane_offsets + warp_offsets)
    in_word = f2_linear_algebra.enumerate_span(pattern.packed)
    in_instruction = f2_linear_algebra.enumerate_span(pattern.others[:matrices])
    instructions = []
    constants = f2_linear_algebra.enumerate_span(pattern.rest[matrices:])
    for first, constant in zip(f2_linear_algebra.enumerate_span(pattern.others[matrices:]), constants):
        held = tuple(tuple(ours[first ^ matrix ^ low] for low in in_word) for matrix in in_instruction)
        instructions.append(MatrixInstruction(held, *split_constant(constant // 8, base_mask)))
    return MatrixAccess(
        element_bits=element_bits,
        transposed=pattern.transposed,
        count=1 << matrices,
        lane_offsets=lane_offsets,
        warp_offsets=warp_offsets,
        instructions=tuple(instructions),
        register_source=tuple(ours[register] for register in number),
        free_warps=layout.free_bits("warp"),
        conflicts=pattern.conflicts,
        swapped_lanes=pattern.swapped_lanes,
    )
