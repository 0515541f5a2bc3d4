"""Move a tile between two layouts inside each warp, with shuffles whose register choices are linear maps.

``shfl.sync.idx`` lets every lane read one register of a lane of its choice, but the sender chooses the register. Let
the matrix M map a destination (register r, lane l, warp w) to its source (r', l'). The plan indexes shuffles by k, and
lane l receives register r = k ^ Q l in shuffle k. Then the sending lane is l' = M_lr k ^ N l with N = M_ll ^ M_lr Q,
and if N is invertible its register is

    r' = A k ^ S l' ^ T w,    S = (M_rr Q ^ M_rl) / N,    A = M_rr ^ S M_lr

a function of the *sender*. So three steps perform any such conversion:

    1. source swaps   each lane permutes its registers by XOR with S l' ^ T w
    2. shuffles       shuffle k sends register A k from lane N l ^ M_lr k
    3. result swaps   each lane permutes the received registers by XOR with Q l

A permutation by a lane-dependent XOR costs one select per register for each dimension of Q or S: no dynamic indexing,
no local memory. Q has the smallest rank for which N is invertible. Elements narrower than 32 bits are shuffled together
if they are together in both layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from . import f2_linear_algebra
from .linear_layout import LANE_BITS, LinearLayout

# In shared-memory cycles of one warp: a shuffle uses the same pipe, two selects issue in one cycle.
SHUFFLE_COST, SELECT_COST = 1.0, 0.5

FULL = (1 << LANE_BITS) - 1


@dataclass(frozen=True)
class Swap:
    """Swap value v and value v ^ register_xor if parity(lane & lane_mask) ^ parity(warp & warp_mask) is 1."""

    lane_mask: int
    warp_mask: int
    register_xor: int

    def applies(self, lane: int, warp: int) -> bool:
        return f2_linear_algebra.parity(lane & self.lane_mask) ^ f2_linear_algebra.parity(warp & self.warp_mask) == 1


@dataclass(frozen=True)
class Shuffle:
    """One shfl.sync.idx per 32 bits: ``value`` after the source swaps, read from lane ``plan.source_lane(lane, warp)
    ^ lane_xor``.
    """

    value: int
    lane_xor: int


@dataclass(frozen=True)
class WarpShuffle:
    """Pack, swap, shuffle, swap, unpack. A value is a tuple of elements that are shuffled together.

    ``source_values[v]``: source registers packed into value v, lowest bits first. ``result_registers[r]``: (value,
    element) that is destination register r. ``shuffles[k]`` produces received value k.
    """

    element_bits: int
    source_values: tuple[tuple[int, ...], ...]
    source_swaps: tuple[Swap, ...]
    shuffles: tuple[Shuffle, ...]
    lane_bases: tuple[int, ...]
    warp_bases: tuple[int, ...]
    result_swaps: tuple[Swap, ...]
    result_registers: tuple[tuple[int, int], ...]

    def source_lane(self, lane: int, warp: int) -> int:
        return f2_linear_algebra.apply(self.lane_bases, lane) ^ f2_linear_algebra.apply(self.warp_bases, warp)

    @property
    def is_butterfly(self) -> bool:
        """The source lane is lane ^ lane_xor: shfl.sync.bfly with an immediate."""
        return self.lane_bases == tuple(1 << bit for bit in range(LANE_BITS)) and not any(self.warp_bases)

    def is_own_lane(self, shuffle: Shuffle) -> bool:
        """The data stays in its lane; no instruction is needed."""
        return self.is_butterfly and shuffle.lane_xor == 0

    @property
    def registers_moved(self) -> int:
        """32-bit registers of a value."""
        return max(1, len(self.source_values[0]) * self.element_bits // 32)

    @cached_property
    def num_shuffles(self) -> int:
        return self.registers_moved * sum(not self.is_own_lane(shuffle) for shuffle in self.shuffles)

    @cached_property
    def num_selects(self) -> int:
        before = len(self.source_swaps) * len(self.source_values)
        return self.registers_moved * (before + len(self.result_swaps) * len(self.shuffles))

    @property
    def cost(self) -> float:
        return SHUFFLE_COST * self.num_shuffles + SELECT_COST * self.num_selects


def plan_warp_shuffle(source: LinearLayout, target: LinearLayout, element_bits: int) -> WarpShuffle | None:
    """The plan, or None if elements change their warp, or replication makes the linear system unsolvable."""
    max_packed = (32 // element_bits).bit_length() - 1 if element_bits < 32 else 0
    return _plan(source, target, element_bits, max_packed) or (
        _plan(source, target, element_bits, 0) if max_packed else None
    )


def _plan(source: LinearLayout, target: LinearLayout, element_bits: int, max_packed: int) -> WarpShuffle | None:
    source_bits, target_bits, packed = _packing(source, target, max_packed)
    numbering = [target.registers[bit] for bit in target_bits]
    values = source.with_registers([source.registers[bit] for bit in source_bits])
    matrix = _Blocks.of(values, target.with_registers(numbering))
    solution = matrix.solve() if matrix else None
    if solution is None:
        return None
    elements = f2_linear_algebra.enumerate_span([1 << bit for bit in packed])
    firsts = f2_linear_algebra.enumerate_span([1 << bit for bit in source_bits])
    return WarpShuffle(
        element_bits=element_bits,
        source_values=tuple(tuple(first ^ element for element in elements) for first in firsts),
        result_registers=_result_registers(target, numbering, [source.registers[bit] for bit in packed]),
        **solution,
    )


def _packing(source: LinearLayout, target: LinearLayout, max_packed: int) -> tuple[list[int], list[int], list[int]]:
    """(source bits that index values, target bits that index values, source bits inside a value); replication dropped."""
    source_bits = [bit for bit in range(len(source.registers)) if not source.free_bits("register") >> bit & 1]
    target_bits = [bit for bit in range(len(target.registers)) if not target.free_bits("register") >> bit & 1]
    held = {target.registers[bit] for bit in target_bits}
    packed = [bit for bit in source_bits if source.registers[bit] in held][:max_packed]
    inside = {source.registers[bit] for bit in packed}
    return (
        [bit for bit in source_bits if bit not in packed],
        [bit for bit in target_bits if target.registers[bit] not in inside],
        packed,
    )


def _result_registers(target: LinearLayout, numbering: Sequence[int], packed: Sequence[int]):
    """(value, element) of each target register: solve its offset in the bases of values, then of elements."""
    span = f2_linear_algebra.Span([*numbering, *packed])
    low = len(numbering)
    solved = (span.solve_member(offset) for offset in target.register_offsets)
    return tuple((number & (1 << low) - 1, number >> low) for number in solved)


@dataclass(frozen=True)
class _Blocks:
    """M of the module docstring, by blocks: for each bit of the target's r, l, w the (r', l') it adds."""

    registers: tuple[tuple[int, int], ...]
    lanes: tuple[tuple[int, int], ...]
    warps: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, source: LinearLayout, target: LinearLayout) -> _Blocks | None:
        """The blocks; None if an element changes its warp or CTA."""
        low, lane_end = len(source.registers), len(source.registers) + LANE_BITS
        try:
            columns = source.invert_and_compose(target)
        except ValueError:
            return None
        far = [column >> lane_end for column in columns]
        stay = [0] * (len(target.registers) + LANE_BITS)
        stay += [1 << bit for bit in range(len(target.warps) + len(target.blocks))]
        if far != stay:
            return None
        pairs = tuple((column & (1 << low) - 1, column >> low & FULL) for column in columns)
        first = len(target.registers)
        return cls(pairs[:first], pairs[first : first + LANE_BITS], pairs[first + LANE_BITS :][: len(target.warps)])

    def solve(self) -> dict | None:
        """The linear part of the plan: Q, N, S, A and T."""
        chosen = self._choose()
        if chosen is None:
            return None
        q, n, offsets = chosen
        s = _extend(n, offsets)
        pairs = [(r ^ f2_linear_algebra.apply(s, lane), lane) for r, lane in self.registers]
        starts = zip(
            f2_linear_algebra.enumerate_span([r for r, _ in pairs]),
            f2_linear_algebra.enumerate_span([lane for _, lane in pairs]),
        )
        t = [r ^ f2_linear_algebra.apply(s, lane) for r, lane in self.warps]
        return {
            "source_swaps": _swaps(s, t),
            "shuffles": tuple(Shuffle(value, lane) for value, lane in starts),
            "lane_bases": tuple(n),
            "warp_bases": tuple(lane for _, lane in self.warps),
            "result_swaps": _swaps(q, ()),
        }

    def _choose(self) -> tuple[list[int], list[int], list[int]] | None:
        """Columns of (Q, N, M_rr Q ^ M_rl) for each lane bit, such that the last is a function of N."""
        q: list[int] = []
        n: list[int] = []
        offsets: list[int] = []
        for r, lane in self.lanes:
            register = self._register_for(r, lane, n, offsets)
            if register is None:
                return None
            extra_r, extra_lane = self._image(register)
            q.append(register)
            n.append(lane ^ extra_lane)
            offsets.append(r ^ extra_r)
        return q, n, offsets

    def _image(self, register: int) -> tuple[int, int]:
        r = lane = 0
        for bit in f2_linear_algebra.bits(register):
            r ^= self.registers[bit][0]
            lane ^= self.registers[bit][1]
        return r, lane

    def _register_for(self, r: int, lane: int, n: Sequence[int], xor_combinations: Sequence[int]) -> int | None:
        span = f2_linear_algebra.Span(n)
        if lane not in span:
            return 0
        # A replicating lane may read from the sources of earlier lanes, possibly from other registers.
        known = [s << LANE_BITS | lane_part for s, lane_part in zip(xor_combinations, n)]
        known += [image << LANE_BITS | lane_part for image, lane_part in self.registers]
        solved = f2_linear_algebra.Span(known).solve(r << LANE_BITS | lane)
        if solved is not None:
            return solved >> len(n)
        return next((1 << bit for bit, (_, other) in enumerate(self.registers) if lane ^ other not in span), None)


def _extend(arguments: Sequence[int], values: Sequence[int]) -> list[int]:
    """The columns of a lane matrix with ``matrix(arguments[i]) = values[i]``, zero on a complement."""
    span = f2_linear_algebra.Span(arguments)
    for bit in range(LANE_BITS):
        span.insert(1 << bit, 0)
    return [f2_linear_algebra.apply(values, span.solve_member(1 << bit)) for bit in range(LANE_BITS)]


def _swaps(lane_columns: Sequence[int], warp_columns: Sequence[int]) -> tuple[Swap, ...]:
    """The fewest swaps that together XOR the register number with the columns' image of (lane, warp)."""
    columns = [*lane_columns, *warp_columns]
    basis = f2_linear_algebra.independent(columns)
    span = f2_linear_algebra.Span(basis)
    used = [span.solve_member(column) for column in columns]
    low = len(lane_columns)
    swaps = []
    for row, register in enumerate(basis):
        mask = sum(1 << place for place, combination in enumerate(used) if combination >> row & 1)
        swaps.append(Swap(mask & (1 << low) - 1, mask >> low, register))
    return tuple(swaps)
