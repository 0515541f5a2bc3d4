"""The race check of clusters: CTAs are there when another one uses their shared memory, not only where the emulator begins all at once.

The CTAs of a cluster run together, but one may begin, or end, later than another uses what lies in its shared memory (CUDA Programming
Guide, distributed shared memory). That it has begun is known to who knows of anything that its threads have done; and it may end
when one of its threads knows of every use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RACE, EmulatorFault
from ..ptx.ast import Instruction
from .vector_clocks import SYNCHRONIZED, VectorClocks

if TYPE_CHECKING:
    from ..memory.cta_memories import CtaMemories
    from ..simt.geometry import Geometry
    from .unspecified_behavior import Findings

FINDING = "peer-cta-not-running"


class ClusterSynccheck(VectorClocks):
    def __init__(self, geometry: Geometry, memories: CtaMemories, findings: Findings):
        super().__init__(geometry, memories, findings)
        self.visits: dict[
            int, dict[int, tuple]
        ] = {}  # CTA -> agent -> (clock, instruction, CTA and thread) of its last use
        self.exit_clocks: dict[int, np.ndarray] = {}  # CTA -> what those of its threads knew that have exited

    def peer_accessed(self, ins: Instruction, flat, targets) -> None:
        """Threads (n) use shared memory of CTAs ``targets`` (n)."""
        ctas, tids = np.divmod(np.asarray(flat), self.geometry.threads)
        for cta, warp, target in {*zip(ctas.tolist(), (tids // 32).tolist(), np.asarray(targets).tolist())}:
            agent = int(self.first_async_clock[cta]) + warp
            self._record_peer_access(ins, (cta, warp), target, agent, int(self.known[cta, warp, SYNCHRONIZED, agent]))

    def peer_required(self, ins: Instruction, flat, targets) -> None:
        """Threads (n) do something together with CTAs ``targets`` (n), which is done before those end."""
        ctas, tids = np.divmod(np.asarray(flat), self.geometry.threads)
        for cta, warp, target in {*zip(ctas.tolist(), (tids // 32).tolist(), np.asarray(targets).tolist())}:
            self._require_begun(ins, (cta, warp), target)

    def peer_accessed_async(self, ins: Instruction, cta: int, tid: int, targets: Iterable[int], role: int) -> None:
        """What a thread issues uses them until it is done."""
        agent, clock = int(self.first_async_clock[cta]) + role, int(self.async_clock[cta, role])
        for target in targets:
            self._record_peer_access(ins, (cta, tid // 32), target, agent, clock)

    def _record_peer_access(
        self, ins: Instruction, by: tuple[int, int], target: int, clock_id: int, clock: int
    ) -> None:
        if target == by[0]:
            return
        self._require_begun(ins, by, target)
        self.visits.setdefault(target, {})[clock_id] = clock, ins, by

    def _require_begun(self, ins: Instruction, by: tuple[int, int], target: int) -> None:
        first = int(self.first_async_clock[target])
        if not self.known[*by, SYNCHRONIZED, first : first + self.roles].any():
            self._report(
                ins, by, f"nothing says that CTA {self._name(target)}, whose shared memory this uses, has begun"
            )

    def exits(self, flat) -> None:
        """Threads exit."""
        for cta, warp in zip(*(x.tolist() for x in self.pairs(flat))):
            known = self.known[cta, warp, SYNCHRONIZED]
            self.exit_clocks[cta] = (
                np.maximum(self.exit_clocks[cta], known) if cta in self.exit_clocks else known.copy()
            )

    def ctas_exited(self, ctas: Iterable[int]) -> None:
        """CTAs have ended."""
        for cta in ctas:
            known = self.exit_clocks.pop(cta, None)
            for agent, (clock, ins, by) in self.visits.pop(cta, {}).items():
                if known is not None and clock > known[agent]:
                    self._report(
                        ins, by, f"CTA {self._name(cta)}, whose shared memory this uses, may have ended before"
                    )

    def _name(self, cta: int) -> tuple:
        return self.geometry.thread_name(cta, 0)[0]

    def _report(self, ins: Instruction, by: tuple[int, int], why: str) -> None:
        thread = self.geometry.thread_name(by[0], by[1] * 32)
        found = EmulatorFault(why, instruction=ins.text, line=ins.line, thread=thread, kind=RACE)
        self.findings.report(FINDING, found)
