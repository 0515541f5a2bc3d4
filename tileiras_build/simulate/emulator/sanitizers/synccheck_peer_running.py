"""Synccheck of clusters: a CTA must be running while another CTA accesses its shared memory.

The emulator starts all CTAs of a cluster at once; hardware does not. A CTA may start after, or exit before, another CTA
accesses its shared memory (CUDA Programming Guide, distributed shared memory). An access must be executed after some
instruction of the target CTA, which a relaxed barrier guarantees, and be performed before the exit of at least one of its
threads: a relaxed arrival does not order the accesses before it (PTX ISA 9.0, 9.7.13.4).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import RACE, fault_of
from ..ptx.ast import Instruction
from .finding_severities import Findings
from .vector_clocks import ORDER, SYNCHRONIZED, VectorClocks

FINDING = "peer-cta-not-running"


class ClusterSynccheck:
    def __init__(self, clocks: VectorClocks, findings: Findings):
        self.clocks, self.geometry, self.findings = clocks, clocks.geometry, findings
        # CTA -> clock id -> (clock, instruction, (CTA, warp)) of that actor's last access
        self.peer_accesses: dict[int, dict[int, tuple]] = {}
        self.exit_clocks: dict[int, np.ndarray] = {}  # CTA -> joined clocks of its threads that have exited

    def peer_accessed(self, ins: Instruction, flat, targets) -> None:
        """Record that threads (n) access shared memory of CTAs ``targets`` (n)."""
        ctas, tids = np.divmod(np.asarray(flat), self.geometry.threads)
        for cta, warp, target in {*zip(ctas.tolist(), (tids // 32).tolist(), np.asarray(targets).tolist())}:
            clock_id = int(self.clocks.first_async_clock[cta]) + warp
            self._record_peer_access(
                ins, (cta, warp), target, clock_id, int(self.clocks.known[cta, warp, SYNCHRONIZED, clock_id])
            )

    def peer_required(self, ins: Instruction, flat, targets) -> None:
        """Check that CTAs ``targets`` (n) have started when threads (n) execute a collective operation with them."""
        ctas, tids = np.divmod(np.asarray(flat), self.geometry.threads)
        for cta, warp, target in {*zip(ctas.tolist(), (tids // 32).tolist(), np.asarray(targets).tolist())}:
            self._require_started(ins, (cta, warp), target)

    def peer_accessed_async(self, ins: Instruction, cta: int, tid: int, targets: Iterable[int], role: int) -> None:
        """Record that an asynchronous operation of a thread accesses CTAs ``targets`` until it completes."""
        clock_id, clock = int(self.clocks.first_async_clock[cta]) + role, int(self.clocks.async_clock[cta, role])
        for target in targets:
            self._record_peer_access(ins, (cta, tid // 32), target, clock_id, clock)

    def _record_peer_access(
        self, ins: Instruction, by: tuple[int, int], target: int, clock_id: int, clock: int
    ) -> None:
        if target == by[0]:
            return
        self._require_started(ins, by, target)
        self.peer_accesses.setdefault(target, {})[clock_id] = clock, ins, by

    def _require_started(self, ins: Instruction, by: tuple[int, int], target: int) -> None:
        first = int(self.clocks.first_async_clock[target])
        if not self.clocks.known[*by, SYNCHRONIZED, first : first + self.clocks.roles].any():
            self._report(
                ins,
                by,
                f"no synchronization guarantees that CTA {self._name(target)}, whose shared memory this accesses, has started",
            )

    def exits(self, flat) -> None:
        """Record that threads exit."""
        for cta, warp in zip(*(x.tolist() for x in self.clocks.pairs(flat))):
            known = self.clocks.known[cta, warp, ORDER]
            self.exit_clocks[cta] = (
                np.maximum(self.exit_clocks[cta], known) if cta in self.exit_clocks else known.copy()
            )

    def ctas_exited(self, ctas: Iterable[int]) -> None:
        """Check that all accesses of the shared memory of exited CTAs happen before their exit."""
        for cta in ctas:
            known = self.exit_clocks.pop(cta, None)
            for clock_id, (clock, ins, by) in self.peer_accesses.pop(cta, {}).items():
                if known is not None and clock > known[clock_id]:
                    self._report(
                        ins, by, f"CTA {self._name(cta)}, whose shared memory this accesses, may have exited before"
                    )

    def _name(self, cta: int) -> tuple:
        return self.geometry.thread_name(cta, 0)[0]

    def _report(self, ins: Instruction, by: tuple[int, int], why: str) -> None:
        thread = (by[0], 32 * by[1])
        self.findings.report(FINDING, fault_of(self.geometry, ins, thread, why, kind=RACE))
