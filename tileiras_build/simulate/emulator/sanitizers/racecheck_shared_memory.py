"""Racecheck of shared memory: the happens-before order of accesses (PTX ISA 9.0, section 8, memory consistency model).

An *actor* has a clock. Actors are the warps of a CTA and its asynchronous operations: the bulk copies that complete on one
mbarrier, the wgmma operations of a warpgroup, the bulk stores of a warp, and the tcgen05 operations that a warp issues. The
vector clock of an actor has an entry for each actor of its cluster: accesses up to that clock happen before the actor's next
access. An arrival (at a barrier, an mbarrier or the cluster's barrier) publishes the vector clock, and a wait joins the
published clocks. The shadow memory records the last write of each byte and each actor's last read. Two accesses, at least one
of them a write, race if the earlier one is newer than its entry in the later actor's vector clock.

Further rules:

- A write of the value that is already there is no race. Atomics are exempt. cp.async writes at its issue.
- bar.warp.sync, and every barrier that the warp passes, orders accesses by lanes of one warp.
- Accesses that only relaxed arrivals and waits order are a finding, not a fault, because they work on hardware.
- The async proxy (bulk copies; operands of wgmma, tcgen05.mma and tcgen05.cp) sees writes of ordinary stores only after a
  fence.proxy.async. A second vector clock counts accesses that also passed this fence, on either side of the synchronization.

``vector_clocks.py`` maintains the clocks. This module checks accesses of shared memory against them,
``racecheck_tensor_memory.py`` those of tensor memory.
"""

from __future__ import annotations

import numpy as np

from ..errors import RACE, EmulatorFault
from ..simt.broadcasting import unique_integers
from .finding_severities import Findings
from .shadow_memory import AccessSites, ShadowMemory
from .vector_clocks import FENCED, ORDER, SYNCHRONIZED, VectorClocks

SEVERAL_LANES, ASYNC_PROXY = 32, 33  # instead of the index of a lane
RELAXED_FINDING = "arrival-relaxed"
_LANES = 64  # a reader or writer is encoded as clock_id * 64 + lane


class SharedMemoryRacecheck:
    def __init__(self, clocks: VectorClocks, shared: np.ndarray, shared_size: int, findings: Findings):
        self.clocks, self.geometry, self.findings = clocks, clocks.geometry, findings
        self.shared, self.shared_size = shared, shared_size
        self.wgmma_groups: dict[
            tuple, list
        ] = {}  # (cta, warpgroup) -> (clock, ``wgmma_known``) of each committed group
        self.wgmma_known: dict[tuple, np.ndarray] = {}  # (cta, warpgroup) -> clocks of its warps at the last MMA
        self.shadow = ShadowMemory(self.geometry.ctas * self.shared_size)
        self.sites = AccessSites()

    # -- ordinary accesses ---------------------------------------------------------------------------
    def access(self, site, start, flat, writes: bool, data) -> None:
        """Check and record that threads ``flat`` (n) access ``site.bytes`` bytes from ``start`` (n); ``data`` (n, bytes) or None."""
        shadow = self.shadow
        index = shadow.of_spans(start, site.bytes)
        cta, tid = np.divmod(flat, self.geometry.threads)
        warp, lane = (tid // 32)[:, None], (tid % 32)[:, None]
        cta = cta[:, None]
        mine = self.clocks.first_async_clock[cta] + warp
        clock = self.clocks.clock(cta, warp)
        known, row = (
            self.clocks.known.reshape(-1),
            (cta * self.clocks.warps + warp) * self.clocks.known.shape[2] * self.clocks.clock_count,
        )
        synchronized = row + SYNCHRONIZED * self.clocks.clock_count
        writer, when = shadow.writer.take(index), shadow.write_clock.take(index)
        clock_id = writer // _LANES
        bad = when > known.take(row + clock_id)  # never true of a warp's own accesses
        own = (when == clock) & (clock_id == mine) & (writer % _LANES != lane)
        if own.any() or bad.any():
            worst = _worst(bad, own, when > known.take(synchronized + clock_id))
            self.report_unless_same_value(
                site, start, index, worst, data, flat, writer, shadow.write_site, "wrote", writes
            )
        if not writes:
            return self.record_read(site, index, mine, clock, lane)
        for reader, (clocks, lanes) in shadow.readers.items():
            if not (when := clocks.take(index)).any():
                continue
            bad = when > known.take(row + reader)
            own = (mine == reader) & (when == clock) & (lanes.take(index) != lane)
            if own.any() or bad.any():
                owner = reader * _LANES + lanes.take(index).astype(np.int64)
                worst = _worst(bad, own, when > known.take(synchronized + reader))
                self.report_unless_same_value(
                    site, start, index, worst, data, flat, owner, shadow.read_site, "read", True
                )
        self.record_write(site, start, index, mine * _LANES + lane, clock, data, flat)

    def report_unless_same_value(
        self, site, start, index, worst, data, flat, owner, sites, did: str, writes: bool
    ) -> None:
        """Report the first conflicting byte that a write changes or a read loads.

        ``worst``: which granules conflict, and the finding to report, or None for a fault.
        """
        bad, finding = worst
        bytes_ = np.repeat(bad, self.shadow.grain, axis=1)
        if writes and data is not None:
            bytes_ &= self.shared[start[:, None] + np.arange(site.bytes)] != data
        self.report_first(
            site, start, bytes_, flat, owner, sites, did, f"this {'write' if writes else 'read'}", finding
        )

    def report_first(self, site, start, bytes_, flat, owner, sites, did: str, what: str, finding=None) -> None:
        """Report the first of the ``bytes_`` (n, bytes) from each start, if any; ``owner`` is per granule."""
        if bytes_.any():
            row, column = np.argwhere(bytes_)[0].tolist()
            who = owner[row, column // self.shadow.grain]
            self.report(site, start[row] + column, flat[row], who, sites, did, what, finding=finding)

    def record_read(self, site, index, mine, clock, lane) -> None:
        self.shadow.read_site[index] = self.sites.index(site)
        for clock_id in unique_integers(mine).tolist():
            rows = (mine == clock_id)[:, 0]
            places, now, who = index[rows], clock[rows], lane[rows]
            clocks, lanes = self.shadow.column(clock_id)
            again = clocks.take(places) == now
            if again.any():
                who = np.where(again & (lanes.take(places) != who), SEVERAL_LANES, who)
            lanes[places] = who
            shared = lanes.take(places) != who  # several lanes of this instruction read the byte
            if shared.any():
                lanes[places[shared]] = SEVERAL_LANES
            clocks[places] = now

    def record_write(self, site, start, index, who, clock, data, flat) -> None:
        shadow, who = self.shadow, np.broadcast_to(who, index.shape)
        shadow.writer[index] = who
        shadow.write_clock[index] = clock
        shadow.write_site[index] = self.sites.index(site)
        twice = (owner := shadow.writer.take(index)) != who
        if not twice.any():
            return
        bytes_ = np.repeat(twice, shadow.grain, axis=1)
        if data is not None:
            places, image = (
                start[:, None] + np.arange(site.bytes),
                np.zeros(len(self.shared), np.uint8),
            )
            image[places] = data
            bytes_ &= image[places] != data
        self.report_first(site, start, bytes_, flat, owner, shadow.write_site, "wrote", "this write")

    # -- asynchronous accesses -----------------------------------------------------------------------
    def issue_copies(self, positions, flat) -> np.ndarray:
        """The vector clocks (n, 3, actors) of copies that threads issue now; each has a new clock of its mbarrier's actor."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        clocks = self.clocks.known[cta, tid // 32]
        for i, position in enumerate(positions.tolist()):
            owner = position // (self.shared_size // 8)
            clock_id, now = self.clocks.next_async(owner, self.clocks.copy_role(position))
            clocks[i, :, clock_id] = now
        return clocks

    def copies_write(self, ins, index, positions, flat, clocks) -> None:
        """Check and record that copies write bytes ``index`` (n, …)."""
        site, shadow = AsyncSite(ins), self.shadow
        for i, position in enumerate(positions.tolist()):
            owner = position // (self.shared_size // 8)
            clock_id = int(self.clocks.first_async_clock[owner]) + self.clocks.copy_role(position)
            places = shadow.of_bytes(index[i].reshape(-1))
            self.check_write_before(site, places, clocks[i], flat[i], "this copy")
            for reader, (when, lanes) in shadow.readers.items():
                now = when.take(places)
                if (bad := now > clocks[i, ORDER, reader]).any():
                    bad, finding = _worst(bad, False, now > clocks[i, SYNCHRONIZED, reader])
                    at = int(places[bad][0])
                    owner, first = reader * _LANES + int(lanes[at]), at * shadow.grain
                    self.report(site, first, flat[i], owner, shadow.read_site, "read", "this copy", finding=finding)
            shadow.writer[places], shadow.write_clock[places] = (
                clock_id * _LANES + ASYNC_PROXY,
                clocks[i, ORDER, clock_id],
            )
            shadow.write_site[places] = self.sites.index(site)

    def check_write_before(self, site, places, known, flat, what: str) -> None:
        """Check that the last writes happen before an asynchronous access, those of ordinary stores with a proxy fence."""
        shadow = self.shadow
        writer, when = shadow.writer.take(places), shadow.write_clock.take(places)
        clock_id = writer // _LANES
        unknown = (writer >= 0) & (when > known[ORDER, clock_id])
        if unknown.any():
            unknown, finding = _worst(unknown, False, when > known[SYNCHRONIZED, clock_id])
            at = int(np.argmax(unknown))
            first, sites = places[at] * shadow.grain, shadow.write_site
            return self.report(site, first, flat, writer[at], sites, "wrote", what, finding=finding)
        unfenced = (writer >= 0) & (clock_id % self.clocks.roles < self.clocks.warps) & (when > known[FENCED, clock_id])
        if unfenced.any():
            at = int(np.argmax(unfenced))
            first, sites = places[at] * shadow.grain, shadow.write_site
            self.report(site, first, flat, writer[at], sites, "wrote", what, "fence.proxy.async")

    def read_async(self, ins, places, known, flat, clock_id: int, now: int, what: str) -> None:
        """Check and record that an asynchronous operation reads granules."""
        site = AsyncSite(ins)
        self.check_write_before(site, places, known, flat, what)
        clocks, lanes = self.shadow.column(clock_id)
        clocks[places], lanes[places] = now, ASYNC_PROXY
        self.shadow.read_site[places] = self.sites.index(site)

    def issue_stores(self, ins, index, flat) -> np.ndarray:
        """Record that bulk stores read bytes ``index`` (n, …) until a wait for them; returns their clocks (n)."""
        out = np.zeros(len(flat), np.int64)
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        for i, (c, warp) in enumerate(zip(cta.tolist(), (tid // 32).tolist())):
            clock_id, out[i] = self.clocks.next_async(c, self.clocks.first_store + warp)
            places = self.shadow.of_bytes(index[i].reshape(-1))
            self.read_async(ins, places, self.clocks.known[c, warp], flat[i], clock_id, int(out[i]), "this copy")
        return out

    def stores_done(self, flat, clocks) -> None:
        """Record that the issuing warps have waited for bulk stores."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        for c, warp, now in zip(cta.tolist(), (tid // 32).tolist(), clocks.tolist()):
            clock_id = self.clocks.first_async_clock[c] + self.clocks.first_store + warp
            self.clocks.known[c, warp, :, clock_id] = np.maximum(self.clocks.known[c, warp, :, clock_id], now)

    # -- MMAs ------------------------------------------------------------------------------------
    def warpgroups(self, group):
        cta, tid = np.divmod(group.flat[::128], self.geometry.threads)
        return zip(cta.tolist(), (tid // 128).tolist())

    def wgmma_reads(self, site, group, chunks) -> None:
        """Record that MMAs read 16-byte chunks (warpgroups, …) of shared memory until a wait for them.

        All four warps of a warpgroup execute an MMA together, so its completion implies that each of them has issued it.
        """
        for i, (cta, which) in enumerate(self.warpgroups(group)):
            clock_id, now = self.clocks.next_async(cta, self.clocks.first_wgmma_clock + which)
            warps = self.clocks.known[cta, 4 * which : 4 * which + 4]
            self.wgmma_known[cta, which] = warps[:, SYNCHRONIZED].max(axis=0)
            known = warps.min(axis=0)  # a write must happen before the MMA in all four warps
            known[:, clock_id] = now
            places = self.shadow.of_chunks(chunks[i if len(chunks) > 1 else 0])
            self.read_async(site.ins, places, known, group.flat[128 * i], clock_id, now, "this MMA")
            for warp in range(4 * which, 4 * which + 4):
                self.clocks.tick(cta, warp)

    def commit_wgmma(self, group) -> None:
        for cta, which in self.warpgroups(group):
            now, known = (
                int(self.clocks.async_clock[cta, self.clocks.first_wgmma_clock + which]),
                self.wgmma_known.get((cta, which), 0),
            )
            self.wgmma_groups.setdefault((cta, which), []).append((now, known))

    def wait_wgmma(self, group, newest: int) -> None:
        for cta, which in self.warpgroups(group):
            waited = self.wgmma_groups.get((cta, which), [])
            if len(waited) > newest:
                now, known = waited[len(waited) - newest - 1]
                del waited[: len(waited) - newest]
                clock_id = self.clocks.first_async_clock[cta] + self.clocks.first_wgmma_clock + which
                warps = self.clocks.known[cta, 4 * which : 4 * which + 4]
                warps[:, :, clock_id] = now
                warps[:, SYNCHRONIZED] = np.maximum(warps[:, SYNCHRONIZED], known)

    # -- tensor memory -------------------------------------------------------------------------------
    def tcgen05_reads(self, ins, chunks, ctas, tid: int) -> None:
        """Record that operations issued by thread ``tid`` of CTAs (n) read 16-byte chunks (n, …) until a commit arrives."""
        warp = tid // 32
        for cta, rows in zip(ctas.tolist(), chunks):
            clock_id, now = self.clocks.next_async(cta, self.clocks.first_tensor + warp)
            places = self.shadow.of_chunks(rows)
            flat = cta * self.geometry.threads + tid
            self.read_async(ins, places, self.clocks.known[cta, warp], flat, clock_id, now, "this operation")

    def tcgen05_writes(self, ins, start, flat) -> None:
        """Record that tcgen05.alloc writes words at bytes ``start`` (n): visible to its warp at once, to others after a barrier."""
        shadow = self.shadow
        for first, thread in zip(start.tolist(), np.asarray(flat).tolist()):
            cta, warp = thread // self.geometry.threads, thread % self.geometry.threads // 32
            clock_id, now = self.clocks.next_async(cta, self.clocks.first_tensor + warp)
            self.clocks.known[cta, warp, :, clock_id] = now
            places = shadow.of_bytes(np.arange(first, first + 4))
            shadow.writer[places], shadow.write_clock[places] = clock_id * _LANES + ASYNC_PROXY, now
            shadow.write_site[places] = self.sites.index(AsyncSite(ins))

    def commit_tcgen05(self, flat) -> np.ndarray:
        """The vector clocks (n, 3, actors) of commits by threads: those of their warps, and of the operations issued."""
        cta, warp = np.asarray(flat) // self.geometry.threads, np.asarray(flat) % self.geometry.threads // 32
        clocks = self.clocks.known[cta, warp]
        clocks[np.arange(len(cta)), :, self.clocks.first_async_clock[cta] + self.clocks.first_tensor + warp] = (
            self.clocks.async_clock[cta, self.clocks.first_tensor + warp, None]
        )
        self.clocks.tick(*self.clocks.pairs(flat))
        return clocks

    # -- reports -------------------------------------------------------------------------------------
    def report(
        self, site, byte, flat, owner, sites, did: str, what: str, missing: str = "barrier", finding=None
    ) -> None:
        missing = missing if finding is None else "non-relaxed barrier"
        other = self.sites.known[sites[byte // self.shadow.grain]].ins
        cta, offset = divmod(int(byte), self.shared_size)
        thread = self.geometry.thread_at(flat)
        found = EmulatorFault(
            f"race on shared byte {offset:#x}: {self.describe_owner(cta, int(owner))} {did} it at line {other.line} ({other.text}) "
            f"with no {missing} before {what}",
            instruction=site.ins.text, line=site.ins.line, thread=thread, address=offset, kind=RACE,
        )  # fmt: skip
        if finding is None:
            raise found
        self.findings.report(finding, found)

    def describe_owner(self, cta: int, owner: int) -> str:
        clock_id, lane = divmod(owner, _LANES)
        rank, role = divmod(clock_id, self.clocks.roles)
        where = f" of CTA rank {rank}" if self.geometry.cluster_size > 1 else ""
        if role < self.clocks.warps:
            tid = self.geometry.thread_name(cta, role * 32 + lane)[1]
            return (f"tid {tid}" if lane < SEVERAL_LANES else f"several threads of warp {role}") + where
        if role < self.clocks.first_store:
            return f"an MMA of warpgroup {role - self.clocks.first_wgmma_clock}" + where
        in_tensor = self.clocks.first_tensor <= role < self.clocks.first_copy
        return ("an operation of tensor memory" if in_tensor else "a bulk copy") + where


def _worst(bad, own, unsynchronized) -> tuple[np.ndarray, str | None]:
    """The races among ``bad`` accesses and those of a warp's ``own`` lanes; if none, the accesses that only relaxed arrivals order."""
    races = (bad & unsynchronized) | own
    return (races, None) if races.any() else (bad, RELAXED_FINDING)


class AsyncSite:
    """The site of an asynchronous access, which has only an instruction."""

    __slots__ = ("ins",)

    def __init__(self, ins):
        self.ins = ins
