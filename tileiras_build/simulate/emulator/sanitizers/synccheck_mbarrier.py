"""Synccheck of mbarriers: initialization before use, and arrivals and waits in the right phase.

An arrival must be ordered after the completion of the preceding phase; otherwise another schedule counts it in that phase
(PTX ISA 9.0, 9.7.13.15.5). A phase must not complete before all waits for the preceding phase have returned: a wait tests the
current and the preceding phase only (9.7.13.15.16), so a late wait would block.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import RACE, fault_at
from ..ptx.ast import Instruction
from ..simt.broadcasting import unique_integers
from .vector_clocks import ORDER, SYNCHRONIZED, VectorClocks

UNORDERED = "this may arrive in the preceding phase: it is not ordered after all arrivals of that phase"
OVERTAKEN = "this completes a phase, and may do so before a wait for the preceding phase, which would then block"


@dataclass
class MbarrierInit:
    """The initialization of an mbarrier: its actor and clock, and the actor's clock at the fence.mbarrier_init after it."""

    clock_id: int
    clock: int
    ins: Instruction
    released: int | None = None

    def is_known(self, known: np.ndarray) -> bool:
        """Whether the initialization happens before an actor with vector clocks ``known``."""
        released = self.released is not None and self.released <= known[SYNCHRONIZED, self.clock_id]
        return released or self.clock <= known[ORDER, self.clock_id]


@dataclass
class PhaseArrivals:
    """Clocks, by clock id, of the arrivals in the current and the preceding phase of an mbarrier, and of the waits for the latter."""

    arrived: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    waited: dict[int, int] = field(default_factory=dict)


class MbarrierSynccheck:
    def __init__(self, clocks: VectorClocks, shared_size: int):
        self.clocks, self.geometry, self.words = clocks, clocks.geometry, shared_size // 8
        # By the position of an mbarrier: joined clocks of the arrivals in its current phase, and in completed phases.
        self.pending: dict[int, np.ndarray] = {}
        self.done: dict[int, np.ndarray] = {}
        self.inits: dict[int, MbarrierInit] = {}
        self.unreleased: dict[tuple[int, int], list[MbarrierInit]] = {}  # by (CTA, warp)
        self.phases: dict[int, PhaseArrivals] = {}

    def init_fence(self, flat) -> None:
        """Record fence.mbarrier_init.release.cluster, which releases only initializations."""
        for cta, warp in zip(*(x.tolist() for x in self.clocks.pairs(flat))):
            for init in self.unreleased.pop((cta, warp), ()):
                init.released = int(self.clocks.clock(cta, warp))

    def initialised(self, ins, positions, flat) -> None:
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        warp = tid // 32
        clock_ids, clocks = self.clocks.first_async_clock[cta] + warp, self.clocks.clock(cta, warp)
        for i, position in enumerate(positions.tolist()):
            init = self.inits[position] = MbarrierInit(int(clock_ids[i]), int(clocks[i]), ins)
            self.unreleased.setdefault((int(cta[i]), int(warp[i])), []).append(init)
            self.pending.pop(position, None)
            self.done.pop(position, None)
            self.phases.pop(position, None)

    def used(self, ins, positions, flat) -> None:
        """Check that the initialization of mbarriers happens before threads use them."""
        for position, cta, warp in self.warps_at(positions, flat):
            init, own = self.inits.get(position), int(self.clocks.first_async_clock[cta]) + warp
            if init is None or init.clock_id == own or init.is_known(self.clocks.known[cta, warp]):
                continue
            missing = (
                "barrier"
                if init.clock > self.clocks.known[cta, warp, SYNCHRONIZED, init.clock_id]
                else "fence.mbarrier_init"
            )
            place = position % self.words * 8
            why = f"it is initialized at line {init.ins.line} ({init.ins.text}) with no {missing} before this use"
            self._report(ins, (cta, warp), place, f"race on the mbarrier at shared {place:#x}: {why}")

    def warps_at(self, positions, flat) -> list:
        """The distinct (position, CTA, warp) of threads at mbarriers."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        # Packed into one integer each: sorting rows as records is ten times slower.
        each = unique_integers((positions * self.geometry.ctas + cta) * self.clocks.warps + tid // 32)
        places, warp = np.divmod(each, self.clocks.warps)
        return list(zip(*(x.tolist() for x in (*np.divmod(places, self.geometry.ctas), warp))))

    def arrived(self, ins, positions, flat, relaxed: bool) -> None:
        for position, cta, warp in self.warps_at(positions, flat):
            clock_id = int(self.clocks.first_async_clock[cta]) + warp
            self._count(ins, position, (cta, warp), self.clocks.known[cta, warp], clock_id)
            self.clocks.add(self.pending, position, self.clocks.release_clock(cta, warp, relaxed))
        self.clocks.tick(*self.clocks.pairs(flat))

    def copies_performed(self, positions, clocks) -> None:
        """Record that asynchronous operations with vector clocks ``clocks`` (n, 3, actors) complete on mbarriers."""
        for position, known in zip(positions.tolist(), clocks):
            self.clocks.add(self.pending, position, known)

    def committed(self, ins, positions, flat, clocks) -> None:
        """Record that commits arrive on mbarriers."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        for i, position in enumerate(positions.tolist()):
            clock_id = int(self.clocks.first_async_clock[cta[i]]) + self.clocks.first_tensor + int(tid[i]) // 32
            self._count(ins, position, (int(cta[i]), int(tid[i]) // 32), clocks[i], clock_id)
        self.copies_performed(positions, clocks)

    def _count(self, ins, position: int, by: tuple[int, int], known: np.ndarray, clock_id: int) -> None:
        """Count an arrival in the current phase; check that all arrivals in the preceding phase happen before it."""
        this = self.phases.setdefault(position, PhaseArrivals())
        if any(clock > known[SYNCHRONIZED, other] for other, clock in this.before.items()):
            self._report_phase(ins, position, by, UNORDERED)
        this.arrived[clock_id] = int(known[SYNCHRONIZED, clock_id])

    def phase_overfilled(self, ins, positions, flat, position: int) -> None:
        """Report threads that arrive together and exceed the pending count of the phase."""
        cta, tid = divmod(int(flat[int(np.argmax(positions == position))]), self.geometry.threads)
        self._report_phase(ins, position, (cta, tid // 32), UNORDERED)

    def completed(self, ins, positions, flat) -> None:
        for position, thread in zip(positions.tolist(), np.broadcast_to(flat, len(positions)).tolist()):
            known = self.pending.pop(position, None)
            if known is None:
                continue
            this = self.phases.setdefault(position, PhaseArrivals())
            if any(clock > known[SYNCHRONIZED, clock_id] for clock_id, clock in this.waited.items()):
                cta, tid = divmod(thread, self.geometry.threads)
                self._report_phase(ins, position, (cta, tid // 32), OVERTAKEN)
            self.phases[position] = PhaseArrivals(before=this.arrived)
            self.clocks.add(self.done, position, known)

    def acquired(self, positions, flat, relaxed: bool) -> None:
        """Record that the waits of threads for a phase have returned."""
        for position, cta, warp in self.warps_at(positions, flat):
            clock_id = int(self.clocks.first_async_clock[cta]) + warp
            self.phases.setdefault(position, PhaseArrivals()).waited[clock_id] = int(
                self.clocks.known[cta, warp, SYNCHRONIZED, clock_id]
            )
            if position in self.done:
                self.clocks.acquire(cta, warp, self.done[position], relaxed)

    def _report_phase(self, ins, position: int, by: tuple[int, int], why: str) -> None:
        owner, word = divmod(position, self.words)
        where = f"shared {8 * word:#x} of CTA {self.geometry.thread_name(owner, 0)[0]}"
        self._report(ins, by, 8 * word, f"race on the mbarrier at {where}: {why}")

    def _report(self, ins, by: tuple[int, int], address: int, why: str) -> None:
        fault_at(self.geometry, ins, (by[0], 32 * by[1]), why, address, kind=RACE)
