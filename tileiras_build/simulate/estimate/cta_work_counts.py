"""The resource usage of a CTA: instructions, pipe cycles and memory traffic, accumulated over its warps' paths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...target.gpu_models import GpuModel
from ...target.gpu_rates import SHARED_BYTES_PER_CLOCK, TENSOR_MEMORY_READ, TENSOR_MEMORY_WRITE
from ...target.sm_limits import WARP
from .backward_slice import tensor_memory_words
from .instruction_throughput import WARPS_PER_WARPGROUP, MmaShape, is_mma, mma_shape, pipe_clocks
from .memory_transactions import GLOBAL, LOADS, SECTOR_BYTES
from .sass_parser import Instruction, MachineCode
from .trace_warps import Observed, WarpTrace

ASYNC_LOADS = ("UTMALDG", "UBLKCP")
ASYNC_STORES = ("UTMASTG", "UTMAREDG", "UBLKRED")
_COPIED = re.compile(r"(?:\d+x)?(\d+)dp(\d+)bit")  # UTCCP.T.S.4x32dp128bit
_TENSOR_MEMORY = {"LDTM": TENSOR_MEMORY_READ, "STTM": TENSOR_MEMORY_WRITE}


@dataclass
class CtaWork:
    """The average work of a CTA: warp instructions, SM cycles by pipe, bytes by memory.

    ``read`` and ``written``: bytes by array (``buffer_of``; 0: unknown array). ``reread``: bytes that several warps read by one instruction,
    without those of the first. ``async_load_bytes``: bytes of asynchronous loads
    that an mbarrier counts; ``async_l2_bytes`` of them come from L2, the rest by a multicast of another CTA. ``peer``: bytes of stores to the
    shared memory of other CTAs. ``unknown_branches``: data-dependent
    branches. ``unknown_accesses``: accesses with unknown addresses.
    """

    instructions: float = 0
    pipes: Counter[str] = field(default_factory=Counter)
    multiply_adds: float = 0
    tensor: float = 0
    tensor_load: float = 0
    shared: float = 0
    l1: float = 0
    tensor_memory: float = 0
    peer: float = 0
    read: Counter[int] = field(default_factory=Counter)
    written: Counter[int] = field(default_factory=Counter)
    reread: float = 0
    async_load_bytes: float = 0
    async_l2_bytes: float = 0
    async_stores: float = 0
    spills: float = 0
    unknown_branches: set[int] = field(default_factory=set)
    unknown_accesses: set[int] = field(default_factory=set)

    @property
    def l2_bytes(self) -> float:
        """Bytes between the SM and L2, without TMA stores."""
        return self.l2_reads + sum(self.written.values())

    @property
    def l2_reads(self) -> float:
        """Bytes that are read from L2."""
        return sum(self.read.values()) + self.async_l2_bytes

    def add(self, other: CtaWork, share: float) -> None:
        """Add another CTA's work, weighted by its share."""
        for name in ("instructions", "multiply_adds", "tensor", "tensor_load", "shared", "peer", "l1", "tensor_memory", "reread", "async_load_bytes", "async_l2_bytes",
                     "async_stores", "spills"):  # fmt: skip
            setattr(self, name, getattr(self, name) + share * getattr(other, name))
        for name in ("pipes", "read", "written"):
            mine = getattr(self, name)
            for key, value in getattr(other, name).items():
                mine[key] += share * value
        self.unknown_branches |= other.unknown_branches
        self.unknown_accesses |= other.unknown_accesses


class WorkCounter:
    """Accumulates the work of warps, for one kernel on one GPU."""

    def __init__(self, code: MachineCode, machine: GpuModel):
        self.code, self.gpu = code, machine

    @cached_property
    def _blocks(self) -> list[tuple[int, dict[str, float], float]]:
        """For each basic block: instructions, cycles by pipe, bytes of spills."""
        return [self._block([self.code.instructions[n] for n in block]) for block in self.code.blocks]

    def _block(self, ones: list[Instruction]) -> tuple[int, dict[str, float], float]:
        pipes: Counter[str] = Counter()
        for one in ones:
            if found := pipe_clocks(one, self.gpu.rates):
                pipes[found[0]] += found[1]  # type: ignore[assignment]
        spilled = sum(one.opcode in ("LDL", "STL") for one in ones)
        return sum(one.opcode != "NOP" for one in ones), dict(pipes), 128.0 * spilled

    def block(self, warps: Iterable[WarpTrace], l2_share: float = 1.0) -> CtaWork:
        """The work of a CTA with these warps, where ``l2_share`` of the bytes of asynchronous loads come from L2."""
        found, places = CtaWork(), set[tuple[int, int, int]]()
        for trace in warps:
            self._add_path(found, trace)
            for number, seen in trace.observed.items():
                self._add_observed(found, self.code.instructions[number], seen)
                if self.code.instructions[number].opcode in LOADS:
                    found.reread += _reread(number, seen, places)
            found.unknown_branches |= set(trace.unknown_branches)
        found.async_l2_bytes = found.async_load_bytes * l2_share
        return found

    def _add_path(self, found: CtaWork, trace: WarpTrace) -> None:
        for number, passes in trace.passes().items():
            count, pipes, spilled = self._blocks[number]
            found.instructions += passes * count
            found.spills += passes * spilled
            found.l1 += passes * spilled / SHARED_BYTES_PER_CLOCK
            for pipe, clocks in pipes.items():
                found.pipes[pipe] += passes * clocks  # type: ignore[assignment]
            self._add_mmas(found, number, passes)

    def _add_mmas(self, found: CtaWork, number: int, passes: int) -> None:
        for n in self.code.blocks[number]:
            one = self.code.instructions[n]
            if one.opcode in _TENSOR_MEMORY:
                found.tensor_memory += passes * _tensor_memory_bytes(one) / _TENSOR_MEMORY[one.opcode]
            if one.opcode == "UTCCP":
                found.shared += passes * _copied_bytes(one) / SHARED_BYTES_PER_CLOCK
            if is_mma(one) and not one.opcode.startswith("UTC"):
                self._add_mma(found, one, None, passes)

    def _add_mma(self, found: CtaWork, one: Instruction, descriptor: int | None, count: float) -> None:
        mma = mma_shape(one, descriptor)
        if mma is None:
            found.unknown_accesses.add(one.number)
            return
        found.multiply_adds += count * mma.multiply_adds
        clocks = count * mma.clocks(self.gpu.rates) * mma.ctas
        found.tensor += clocks
        found.tensor_load += clocks * (self.gpu.rates.warp_tensor if mma.is_per_warp else 1.0)
        found.shared += count * _shared_bytes(one, mma) / SHARED_BYTES_PER_CLOCK

    def _add_observed(self, found: CtaWork, one: Instruction, seen: Observed) -> None:
        if one.opcode.startswith("UTC") and is_mma(one):
            for words in filter(None, seen.recorded_words):
                self._add_mma(found, one, words.get("idesc"), 1)
        elif one.opcode == "SYNCS":
            found.async_load_bytes += sum(expected_bytes(one, words) for words in filter(None, seen.recorded_words))
        elif one.opcode in ASYNC_STORES:
            found.async_stores += seen.executions
        elif seen.accesses:
            self._add_accesses(found, one, seen)

    def _add_accesses(self, found: CtaWork, one: Instruction, seen: Observed) -> None:
        share, global_share = seen.executions / len(seen.accesses), seen.share
        into = found.read if one.opcode in LOADS else found.written
        for taken in seen.accesses:
            found.shared += share * taken.wavefronts
            found.peer += share * taken.peer_bytes
            is_global = one.opcode in GLOBAL and not taken.peer_bytes
            found.l1 += share * max(taken.lines, taken.bytes / SHARED_BYTES_PER_CLOCK) * is_global
            for owner, sectors in taken.sectors.items():
                into[owner] += global_share * sectors * SECTOR_BYTES  # type: ignore[assignment]
            if not taken.known:
                found.unknown_accesses.add(one.number)


def _reread(number: int, seen: Observed, places: set[tuple[int, int, int]]) -> float:
    """The bytes of a warp's loads at places that other warps read by the same instruction; ``places`` are those of all warps."""
    found = 0.0
    for time, taken in enumerate(seen.accesses):
        if taken.place is None:
            continue
        key = (number, time, taken.place)
        if key in places:
            found += sum(taken.sectors.values()) * SECTOR_BYTES * seen.share
        places.add(key)
    return found


def _shared_bytes(one: Instruction, mma: MmaShape) -> float:
    """Shared memory bytes of one warp's share of an MMA; the four warps of a wgmma read the right operand once."""
    if "GMMA" not in one.opcode:
        return mma.shared_bytes
    right = replace(mma, a_in_shared=False).shared_bytes
    return mma.shared_bytes - right + right / WARPS_PER_WARPGROUP


def expected_bytes(one: Instruction, observed: dict[str, int | None]) -> int:
    """Transaction bytes that an arrive.expect_tx adds."""
    if "ARRIVE" not in one.modifiers or any(modifier.endswith("T0") for modifier in one.modifiers):
        return 0
    return observed.get("word") or 0


def _copied_bytes(one: Instruction) -> int:
    """Shared memory bytes that a copy to tensor memory reads: lanes times bits, from its mnemonic."""
    shape = _COPIED.fullmatch(one.modifiers[-1]) if one.modifiers else None
    return int(shape[1]) * int(shape[2]) // 8 if shape else 0


def _tensor_memory_bytes(one: Instruction) -> int:
    """Bytes of LDTM and STTM."""
    return WARP * 4 * tensor_memory_words(one)
