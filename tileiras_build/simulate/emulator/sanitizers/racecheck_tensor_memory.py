"""Racecheck of tensor memory: the order of accesses to its columns (PTX ISA 9.0, section 9.7.16.6).

Each column records the last tcgen05.ld and .st of every warp, and the last MMA or copy that every warp issued. A
synchronization orders accesses of two threads only with fences on both sides: tcgen05.fence::before_thread_sync after the
first access (or a commit, for asynchronous operations), and ::after_thread_sync before the second one. An access is
therefore published with the clock of the fence after it, and a warp sees the clocks as of its last fence.

tcgen05.ld and .st are asynchronous and not pipelined with the operations of other threads: their warp must wait for them
before other threads may use the columns (9.7.16.6.4.4). An access is therefore published with the clock of its wait as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import RACE, fault_at, fault_of
from ..memory.tensor_memory import COLUMNS, Span
from .finding_severities import Findings
from .synccheck_peer_running import ClusterSynccheck
from .vector_clocks import SYNCHRONIZED, VectorClocks

UNFENCED = UNWAITED = 1 << 30  # the clock of an access with no fence, or no wait, after it
FINDING, LOAD_FINDING = "tensor-not-fenced", "load-not-waited"
MOVED, STORED = "moved", "stored"  # by tcgen05.ld or .st of a warp; by .st alone
USED, WRITTEN = "used", "written"  # read or written by an MMA or a copy; written alone
DOES = {
    MOVED: "an access by warp {}", STORED: "a store by warp {}", USED: "an operation issued by warp {}",
    WRITTEN: "a write by an operation issued by warp {}",
}  # fmt: skip


class TensorMemoryRacecheck:
    """Tables (CTAs, 2 halves, columns) of the clocks of accesses, and of the waits and fences after them, by (what, clock id)."""

    def __init__(self, clocks: VectorClocks, cluster: ClusterSynccheck, findings: Findings):
        self.clocks, self.cluster, self.geometry, self.findings = clocks, cluster, clocks.geometry, findings
        self.accessed: dict[tuple[str, int], np.ndarray] = {}
        self.waited: dict[tuple[str, int], np.ndarray] = {}
        self.fenced: dict[tuple[str, int], np.ndarray] = {}
        self.seen = self.clocks.known[:, :, SYNCHRONIZED].copy()  # a warp's clocks at its last fence::after_thread_sync
        self.unfenced: dict[tuple[int, int], list[tuple[str, Span]]] = {}
        self.unwaited: dict[tuple[int, int, bool], list[tuple[str, Span]]] = {}  # by (CTA, warp, is a store)

    def _record(self, table: dict, key: tuple[str, int], cta: int, span: Span, clock: int) -> None:
        if key not in table:
            table[key] = np.zeros((self.geometry.ctas, 2, COLUMNS), np.int32)
        table[key][cta, span.halves, span.first : span.last] = clock

    # ---- waits and fences
    def wait(self, ctas, warps, stores: bool) -> None:
        """Record that warps execute tcgen05.wait::st or ::ld."""
        for cta, warp in zip(ctas.tolist(), warps.tolist()):
            for what, span in self.unwaited.pop((cta, warp, stores), ()):
                self._record(self.waited, (what, warp), cta, span, self.clocks.clock(cta, warp))

    def fence(self, flat, is_after: bool) -> None:
        """Record that threads execute one of the two fences."""
        ctas, warps = self.clocks.pairs(flat)
        if is_after:
            self.seen[ctas, warps] = self.clocks.known[ctas, warps, SYNCHRONIZED]
            return
        for cta, warp in zip(ctas.tolist(), warps.tolist()):
            for what, span in self.unfenced.pop((cta, warp), ()):
                self._record(self.fenced, (what, warp), cta, span, self.clocks.clock(cta, warp))

    # ---- accesses of warps
    def access(self, ins, span: Span, ctas, warps, writes: bool) -> None:
        """Check and record that warps of CTAs (n) access columns of tensor memory with tcgen05.ld or .st."""
        for cta, warp in zip(np.asarray(ctas).tolist(), np.asarray(warps).tolist()):
            self._require_ordered(ins, USED if writes else WRITTEN, cta, span, (cta, warp))
            for what in (MOVED, STORED) if writes else (MOVED,):
                self._record(self.accessed, (what, warp), cta, span, self.clocks.clock(cta, warp))
                self._record(self.waited, (what, warp), cta, span, UNWAITED)
                self._record(self.fenced, (what, warp), cta, span, UNFENCED)
                self.unwaited.setdefault((cta, warp, writes), []).append((what, span))
                self.unfenced.setdefault((cta, warp), []).append((what, span))

    # ---- operations of threads
    def issue(self, ins, writes: Sequence[Span], reads: Sequence[Span], sides, ctas, tid: int) -> None:
        """Check and record that thread ``tid`` of CTAs issues an operation on columns of the CTAs ``sides``."""
        for cta, *targets in zip(ctas.tolist(), *(side.tolist() for side in sides)):
            self.cluster.peer_accessed_async(ins, cta, tid, targets, self.clocks.first_tensor + tid // 32)
        for what, use, spans in ((MOVED, WRITTEN, writes), (STORED, USED, reads)):
            for span in spans:
                reached = set(np.arange(self.geometry.ctas)[span.ctas].tolist())
                for cta, other in (pair for side in sides for pair in zip(ctas.tolist(), side.tolist())):
                    if other in reached:
                        self._require_ordered(ins, what, other, span, (cta, tid // 32))
                        self._record_issued(use, span, other, cta, self.clocks.first_tensor + tid // 32)

    def _record_issued(self, use: str, span: Span, other: int, cta: int, role: int) -> None:
        clock_id, clock = int(self.clocks.first_async_clock[cta]) + role, int(self.clocks.async_clock[cta, role])
        for what in {use, USED}:
            for table in (self.accessed, self.fenced):  # a commit needs no fence
                self._record(table, (what, clock_id), other, span, clock)

    def _require_ordered(self, ins, what: str, other: int, span: Span, by: tuple[int, int]) -> None:
        """Check that earlier accesses of a span of CTA ``other`` happen before an access by warp ``by``."""
        own = int(self.clocks.first_async_clock[by[0]]) + by[1]
        first = int(self.clocks.first_async_clock[other]) if what in (MOVED, STORED) else 0
        for (kind, clock_id), table in self.accessed.items():
            if kind != what or first + clock_id == own:
                continue
            at, known = (
                (other, span.halves, slice(span.first, span.last)),
                self.clocks.known[*by, SYNCHRONIZED, first + clock_id],
            )
            if int(table[at].max(initial=0)) > known:
                self._report_race(ins, what, first + clock_id, span, by)
            elif kind in (MOVED, STORED) and int(self.waited[kind, clock_id][at].max(initial=0)) > known:
                self._report_wait(ins, first + clock_id, at, span, by)
            elif (clock := int(self.fenced[kind, clock_id][at].max(initial=0))) > self.seen[*by, first + clock_id]:
                self._report_fence(ins, what, first + clock_id, span, by, clock)

    # ---- reports
    def _does(self, what: str, clock_id: int, span: Span) -> str:
        role = clock_id % self.clocks.roles
        warp = role if role < self.clocks.warps else role - self.clocks.first_tensor
        return f"{DOES[what].format(warp)} in columns {span.first} to {span.last - 1}"

    def _report_race(self, ins, what: str, clock_id: int, span: Span, by: tuple[int, int]) -> None:
        why = (
            f"race on tensor memory: no synchronization orders {self._does(what, clock_id, span)} before this operation"
        )
        fault_at(self.geometry, ins, (by[0], 32 * by[1]), why, kind=RACE)

    def _report_wait(self, ins, clock_id: int, at: tuple, span: Span, by: tuple[int, int]) -> None:
        """Report a missing wait: a fault after stores; a finding after loads, whose registers may have been waited for."""
        stored, known = (
            self.waited.get((STORED, clock_id - int(self.clocks.first_async_clock[at[0]]))),
            self.clocks.known[*by, SYNCHRONIZED, clock_id],
        )
        stores = stored is not None and int(stored[at].max(initial=0)) > known
        what, wait = (STORED, "::st") if stores else (MOVED, "::ld")
        why = f"{self._does(what, clock_id, span)} has no tcgen05.wait{wait} before the synchronization with this operation"
        self.findings.report(
            None if stores else LOAD_FINDING, fault_of(self.geometry, ins, (by[0], by[1] * 32), why, span.first)
        )

    def _report_fence(self, ins, what: str, clock_id: int, span: Span, by: tuple[int, int], clock: int) -> None:
        is_published = clock <= self.clocks.known[*by, SYNCHRONIZED, clock_id]
        missing = "::after_thread_sync before this operation" if is_published else "::before_thread_sync after it"
        why = f"{self._does(what, clock_id, span)} is synchronized with this operation without a tcgen05.fence{missing}"
        self.findings.report(FINDING, fault_of(self.geometry, ins, (by[0], by[1] * 32), why, span.first))

    def free(self, ins, span: Span, others: Sequence[int], by: tuple[int, int]) -> None:
        """Check that all accesses of columns happen before a warp frees them (PTX ISA 9.0, table 47).

        ``others`` are the CTAs of the columns: the warp's own and, for a pair, its peer.
        """
        own = int(self.clocks.first_async_clock[by[0]]) + by[1]
        for other in others:
            first, at = int(self.clocks.first_async_clock[other]), (other, span.halves, slice(span.first, span.last))
            for (kind, clock_id), table in self.accessed.items():
                actor = first + clock_id if kind == MOVED else clock_id
                late = (
                    kind in (MOVED, USED)
                    and actor != own
                    and int(table[at].max(initial=0)) > self.clocks.known[*by, SYNCHRONIZED, actor]
                )
                if late:
                    self._report_freed(ins, kind, actor, span, by)

    def _report_freed(self, ins, kind: str, actor: int, span: Span, by: tuple[int, int]) -> None:
        where = (
            "of the peer CTA"
            if actor // self.clocks.roles != int(self.clocks.first_async_clock[by[0]]) // self.clocks.roles
            else "of this CTA"
        )
        why = f"race on tensor memory: no synchronization orders {self._does(kind, actor, span)} {where} before this deallocation"
        fault_at(self.geometry, ins, (by[0], 32 * by[1]), why, kind=RACE)
