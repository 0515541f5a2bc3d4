"""The race check of mbarriers: that they are initialised before they are used, and that nobody runs ahead of their phases.

Who arrives has to know that the phase before is complete, or another order of execution counts it in that one (PTX ISA 9.0,
9.7.13.15.5); and a phase may not complete before everybody knows of the one before who waits for that: waits look at the last
phase and the current one alone (9.7.13.15.16), and would sleep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RACE, EmulatorFault
from ..ptx.ast import Instruction
from ..simt.broadcasting import unique_integers
from .synccheck_cluster import ClusterSynccheck
from .vector_clocks import ORDER, SYNCHRONIZED

if TYPE_CHECKING:
    from ..memory.cta_memories import CtaMemories
    from ..simt.geometry import Geometry
    from .unspecified_behavior import Findings

UNORDERED = "this may arrive in the phase before: nothing orders it behind all arrivals there"
OVERTAKEN = "this completes a phase, and nothing orders a wait for the one before it, which may be missed"


@dataclass
class MbarrierInit:
    """How an mbarrier was initialised: by whom, when, and its clock at the fence that released that alone."""

    clock_id: int
    clock: int
    ins: Instruction
    released: int | None = None

    def is_known(self, known: np.ndarray) -> bool:
        """Whether who knows that knows of it."""
        released = self.released is not None and self.released <= known[SYNCHRONIZED, self.clock_id]
        return released or self.clock <= known[ORDER, self.clock_id]


@dataclass
class PhaseArrivals:
    """Of an mbarrier: who has arrived in the current phase and in the one before, and who has waited for that; agents' clocks."""

    arrived: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    waited: dict[int, int] = field(default_factory=dict)


class MbarrierSynccheck(ClusterSynccheck):
    def __init__(self, geometry: Geometry, memories: CtaMemories, findings: Findings):
        super().__init__(geometry, memories, findings)
        self.pending: dict[int, np.ndarray] = {}  # mbarrier position -> what arrived in its phase, and
        self.done: dict[int, np.ndarray] = {}  # what arrived in completed ones
        self.made: dict[int, MbarrierInit] = {}  # by the position of an mbarrier
        self.unreleased: dict[tuple[int, int], list[MbarrierInit]] = {}  # by (CTA, warp)
        self.rounds: dict[int, PhaseArrivals] = {}

    def init_fence(self, flat) -> None:
        """fence.mbarrier_init.release.cluster: of all that went before it releases initialisations."""
        for cta, warp in zip(*(x.tolist() for x in self.pairs(flat))):
            for made in self.unreleased.pop((cta, warp), ()):
                made.released = int(self.clock(cta, warp))

    def initialised(self, ins, positions, flat) -> None:
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        warp = tid // 32
        agents, clocks = self.first_async_clock[cta] + warp, self.clock(cta, warp)
        for i, position in enumerate(positions.tolist()):
            made = self.made[position] = MbarrierInit(int(agents[i]), int(clocks[i]), ins)
            self.unreleased.setdefault((int(cta[i]), int(warp[i])), []).append(made)
            self.pending.pop(position, None)
            self.done.pop(position, None)
            self.rounds.pop(position, None)

    def used(self, ins, positions, flat) -> None:
        """Threads use mbarriers: they must know of the initialisation."""
        for position, cta, warp in self.warps_at(positions, flat):
            made, own = self.made.get(position), int(self.first_async_clock[cta]) + warp
            if made is None or made.clock_id == own or made.is_known(self.known[cta, warp]):
                continue
            missing = (
                "barrier" if made.clock > self.known[cta, warp, SYNCHRONIZED, made.clock_id] else "fence.mbarrier_init"
            )
            place = position % (self.memories.shared_size // 8) * 8
            raise EmulatorFault(
                f"race on the mbarrier at shared {place:#x}: it is initialised at line {made.ins.line} ({made.ins.text}) "
                f"with no {missing} before this use",
                instruction=ins.text, line=ins.line, thread=self.geometry.thread_name(cta, warp * 32), address=place, kind=RACE,
            )  # fmt: skip

    def warps_at(self, positions, flat) -> list:
        """(position, CTA, warp) of threads at mbarriers, each once."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        # In one number each: rows would be sorted as records, which takes ten times as long.
        each = unique_integers((positions * self.geometry.ctas + cta) * self.warps + tid // 32)
        places, warp = np.divmod(each, self.warps)
        return list(zip(*(x.tolist() for x in (*np.divmod(places, self.geometry.ctas), warp))))

    def arrived(self, ins, positions, flat, relaxed: bool) -> None:
        for position, cta, warp in self.warps_at(positions, flat):
            agent = int(self.first_async_clock[cta]) + warp
            self._count(ins, position, (cta, warp), self.known[cta, warp], agent)
            self.add(self.pending, position, self.release_clock(cta, warp, relaxed))
        self.tick(*self.pairs(flat))

    def copies_performed(self, positions, clocks) -> None:
        """Asynchronous operations that knew ``clocks`` (n, 3, agents) complete on mbarriers."""
        for position, known in zip(positions.tolist(), clocks):
            self.add(self.pending, position, known)

    def committed(self, ins, positions, flat, clocks) -> None:
        """The same of commits, which arrive."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        for i, position in enumerate(positions.tolist()):
            agent = int(self.first_async_clock[cta[i]]) + self.first_tensor + int(tid[i]) // 32
            self._count(ins, position, (int(cta[i]), int(tid[i]) // 32), clocks[i], agent)
        self.copies_performed(positions, clocks)

    def _count(self, ins, position: int, by: tuple[int, int], known: np.ndarray, clock_id: int) -> None:
        """An arrival in the current phase, which must come behind all those in the phase before."""
        this = self.rounds.setdefault(position, PhaseArrivals())
        if any(clock > known[SYNCHRONIZED, other] for other, clock in this.before.items()):
            self._report_phase(ins, position, by, UNORDERED)
        this.arrived[clock_id] = int(known[SYNCHRONIZED, clock_id])

    def phase_overfilled(self, ins, positions, flat, position: int) -> None:
        """Threads arrive together, more of them than are left in the phase."""
        cta, tid = divmod(int(flat[int(np.argmax(positions == position))]), self.geometry.threads)
        self._report_phase(ins, position, (cta, tid // 32), UNORDERED)

    def completed(self, ins, positions, flat) -> None:
        for position, thread in zip(positions.tolist(), np.broadcast_to(flat, len(positions)).tolist()):
            known = self.pending.pop(position, None)
            if known is None:
                continue
            this = self.rounds.setdefault(position, PhaseArrivals())
            if any(clock > known[SYNCHRONIZED, agent] for agent, clock in this.waited.items()):
                cta, tid = divmod(thread, self.geometry.threads)
                self._report_phase(ins, position, (cta, tid // 32), OVERTAKEN)
            self.rounds[position] = PhaseArrivals(before=this.arrived)
            self.add(self.done, position, known)

    def acquired(self, positions, flat, relaxed: bool) -> None:
        """Threads have seen a phase complete."""
        for position, cta, warp in self.warps_at(positions, flat):
            agent = int(self.first_async_clock[cta]) + warp
            self.rounds.setdefault(position, PhaseArrivals()).waited[agent] = int(
                self.known[cta, warp, SYNCHRONIZED, agent]
            )
            if position in self.done:
                self.acquire(cta, warp, self.done[position], relaxed)

    def _report_phase(self, ins, position: int, by: tuple[int, int], why: str) -> None:
        owner, word = divmod(position, self.memories.shared_size // 8)
        thread = self.geometry.thread_name(by[0], by[1] * 32)
        raise EmulatorFault(
            f"race on the mbarrier at shared {word * 8:#x} of CTA {self.geometry.thread_name(owner, 0)[0]}: {why}",
            instruction=ins.text, line=ins.line, thread=thread, address=word * 8, kind=RACE,
        )  # fmt: skip
