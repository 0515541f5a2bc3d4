"""The race check of tensor memory (PTX ISA 9.0, section 9.7.16.6): which accesses to its columns come before which.

Of each column a warp's last tcgen05.ld and .st count, and the last MMA or copy of what each warp issues. Those of another
thread are ordered over a synchronisation only by fences on its sides: tcgen05.fence::before_thread_sync behind what a thread
accesses, unless a commit says that it is done, and ::after_thread_sync ahead of what the other one accesses. So an access is
published with the clock of the fence behind it, and a warp sees what it knew at its last fence.

tcgen05.ld and .st are asynchronous themselves, and in no pipeline with what other threads do: their warp waits for them before it
hands the columns on (9.7.16.6.4.4), so that an access is published with the clock of its wait as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RACE, EmulatorFault
from ..memory.tensor_memory import COLUMNS, Span, fault
from .synccheck_mbarrier import MbarrierSynccheck
from .vector_clocks import SYNCHRONIZED

if TYPE_CHECKING:
    from ..memory.cta_memories import CtaMemories
    from ..simt.geometry import Geometry
    from .unspecified_behavior import Findings

UNFENCED = UNWAITED = 1 << 30  # the clock of an access that no fence, or no wait, stands behind
FINDING, LOAD_FINDING = "tensor-not-fenced", "load-not-waited"
MOVED, STORED = "moved", "stored"  # by a warp: at all, and written
USED, WRITTEN = "used", "written"  # by an MMA or a copy
DOES = {
    MOVED: "what warp {} does", STORED: "what warp {} stores", USED: "an operation that warp {} issued",
    WRITTEN: "what an operation writes that warp {} issued",
}  # fmt: skip


class TensorMemoryRacecheck(MbarrierSynccheck):
    """Tables are (CTAs, 2 halves, columns) of clocks, by (what, agent): of accesses, of the waits and the fences behind them."""

    def __init__(self, geometry: Geometry, memories: CtaMemories, findings: Findings):
        super().__init__(geometry, memories, findings)
        self.accessed: dict[tuple[str, int], np.ndarray] = {}
        self.waited: dict[tuple[str, int], np.ndarray] = {}
        self.fenced: dict[tuple[str, int], np.ndarray] = {}
        self.seen = self.known[:, :, SYNCHRONIZED].copy()  # what a warp knew at its last fence::after_thread_sync
        self.unfenced: dict[tuple[int, int], list[tuple[str, Span]]] = {}
        self.unwaited: dict[
            tuple[int, int, bool], list[tuple[str, Span]]
        ] = {}  # by CTA, warp, and whether they are stores

    def _note(self, table: dict, key: tuple[str, int], cta: int, span: Span, clock: int) -> None:
        if key not in table:
            table[key] = np.zeros((self.geometry.ctas, 2, COLUMNS), np.int32)
        table[key][cta, span.halves, span.first : span.last] = clock

    # ---- waits and fences
    def tensor_waited(self, ctas, warps, stores: bool) -> None:
        """Warps execute tcgen05.wait::st, or ::ld."""
        for cta, warp in zip(ctas.tolist(), warps.tolist()):
            for what, span in self.unwaited.pop((cta, warp, stores), ()):
                self._note(self.waited, (what, warp), cta, span, self.clock(cta, warp))

    def tensor_fence(self, flat, is_after: bool) -> None:
        """Threads execute one of the two fences."""
        ctas, warps = self.pairs(flat)
        if is_after:
            self.seen[ctas, warps] = self.known[ctas, warps, SYNCHRONIZED]
            return
        for cta, warp in zip(ctas.tolist(), warps.tolist()):
            for what, span in self.unfenced.pop((cta, warp), ()):
                self._note(self.fenced, (what, warp), cta, span, self.clock(cta, warp))

    # ---- accesses of warps
    def tensor_columns(self, ins, span: Span, ctas, warps, writes: bool) -> None:
        """Warps of CTAs (n) read or write columns of tensor memory with tcgen05.ld or .st."""
        for cta, warp in zip(np.asarray(ctas).tolist(), np.asarray(warps).tolist()):
            self._require_ordered(ins, USED if writes else WRITTEN, cta, span, (cta, warp))
            for what in (MOVED, STORED) if writes else (MOVED,):
                self._note(self.accessed, (what, warp), cta, span, self.clock(cta, warp))
                self._note(self.waited, (what, warp), cta, span, UNWAITED)
                self._note(self.fenced, (what, warp), cta, span, UNFENCED)
                self.unwaited.setdefault((cta, warp, writes), []).append((what, span))
                self.unfenced.setdefault((cta, warp), []).append((what, span))

    # ---- operations of threads
    def tensor_issued(self, ins, writes: Sequence[Span], reads: Sequence[Span], sides, ctas, tid: int) -> None:
        """Thread ``tid`` of CTAs issues an operation on columns of ``sides``: what warps do there comes before it."""
        for cta, *there in zip(ctas.tolist(), *(side.tolist() for side in sides)):
            self.peer_accessed_async(ins, cta, tid, there, self.first_tensor + tid // 32)
        for what, use, spans in ((MOVED, WRITTEN, writes), (STORED, USED, reads)):
            for span in spans:
                reached = set(np.arange(self.geometry.ctas)[span.ctas].tolist())
                for cta, other in (pair for side in sides for pair in zip(ctas.tolist(), side.tolist())):
                    if other in reached:
                        self._require_ordered(ins, what, other, span, (cta, tid // 32))
                        self._note_issued(use, span, other, cta, self.first_tensor + tid // 32)

    def _note_issued(self, use: str, span: Span, other: int, cta: int, role: int) -> None:
        agent, clock = int(self.first_async_clock[cta]) + role, int(self.async_clock[cta, role])
        for what in {use, USED}:
            for table in (self.accessed, self.fenced):  # a commit needs no fence
                self._note(table, (what, agent), other, span, clock)

    def _require_ordered(self, ins, what: str, other: int, span: Span, by: tuple[int, int]) -> None:
        """Of a warp that accesses a span of CTA ``other``: it knows of what was done there, over fences."""
        own = int(self.first_async_clock[by[0]]) + by[1]
        first = int(self.first_async_clock[other]) if what in (MOVED, STORED) else 0
        for (kind, agent), table in self.accessed.items():
            if kind != what or first + agent == own:
                continue
            at, known = (other, span.halves, slice(span.first, span.last)), self.known[*by, SYNCHRONIZED, first + agent]
            if int(table[at].max(initial=0)) > known:
                self._report_race(ins, what, first + agent, span, by)
            elif kind in (MOVED, STORED) and int(self.waited[kind, agent][at].max(initial=0)) > known:
                self._report_wait(ins, first + agent, at, span, by)
            elif (clock := int(self.fenced[kind, agent][at].max(initial=0))) > self.seen[*by, first + agent]:
                self._report_fence(ins, what, first + agent, span, by, clock)

    # ---- reports
    def _does(self, what: str, clock_id: int, span: Span) -> str:
        role = clock_id % self.roles
        warp = role if role < self.warps else role - self.first_tensor
        return f"{DOES[what].format(warp)} in columns {span.first} to {span.last - 1}"

    def _report_race(self, ins, what: str, clock_id: int, span: Span, by: tuple[int, int]) -> None:
        raise EmulatorFault(
            f"race on tensor memory: nothing orders {self._does(what, clock_id, span)} before this operation",
            instruction=ins.text, line=ins.line, thread=self.geometry.thread_name(by[0], by[1] * 32), kind=RACE,
        )  # fmt: skip

    def _report_wait(self, ins, clock_id: int, at: tuple, span: Span, by: tuple[int, int]) -> None:
        """Of stores a fault, of loads a finding: their registers may have been waited for."""
        stored, known = (
            self.waited.get((STORED, clock_id - int(self.first_async_clock[at[0]]))),
            self.known[*by, SYNCHRONIZED, clock_id],
        )
        stores = stored is not None and int(stored[at].max(initial=0)) > known
        what, wait = (STORED, "::st") if stores else (MOVED, "::ld")
        why = f"{self._does(what, clock_id, span)} has not been waited for (tcgen05.wait{wait}) by what orders it before this operation"
        fault(self, ins, why, by[0], by[1] * 32, span.first, None if stores else LOAD_FINDING)

    def _report_fence(self, ins, what: str, clock_id: int, span: Span, by: tuple[int, int], clock: int) -> None:
        is_published = clock <= self.known[*by, SYNCHRONIZED, clock_id]
        missing = "::after_thread_sync ahead of this operation" if is_published else "::before_thread_sync behind it"
        why = f"{self._does(what, clock_id, span)} is ordered before this operation by no tcgen05.fence{missing}"
        fault(self, ins, why, by[0], by[1] * 32, span.first, FINDING)

    def tensor_freed(self, ins, span: Span, others: Sequence[int], by: tuple[int, int]) -> None:
        """A warp frees columns of CTAs, its own and perhaps its peer: it comes after what all threads did there (PTX ISA 9.0, table 47)."""
        own = int(self.first_async_clock[by[0]]) + by[1]
        for other in others:
            first, at = int(self.first_async_clock[other]), (other, span.halves, slice(span.first, span.last))
            for (kind, agent), table in self.accessed.items():
                who = first + agent if kind == MOVED else agent
                late = (
                    kind in (MOVED, USED)
                    and who != own
                    and int(table[at].max(initial=0)) > self.known[*by, SYNCHRONIZED, who]
                )
                if late:
                    self._report_freed(ins, kind, who, span, by)

    def _report_freed(self, ins, kind: str, who: int, span: Span, by: tuple[int, int]) -> None:
        where = (
            "of the peer CTA"
            if who // self.roles != int(self.first_async_clock[by[0]]) // self.roles
            else "of this CTA"
        )
        raise EmulatorFault(
            f"race on tensor memory: nothing orders {self._does(kind, who, span)} {where} before this, which frees them",
            instruction=ins.text, line=ins.line, thread=self.geometry.thread_name(by[0], by[1] * 32), kind=RACE,
        )  # fmt: skip
