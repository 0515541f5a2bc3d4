"""The race check of shared memory: which accesses happen before which (PTX ISA 9.0, section 8, memory consistency model).

Every warp of a CTA is an *agent* with a clock, and so is everything asynchronous: the bulk copies towards one mbarrier,
the products of a warpgroup, the bulk stores of a warp, what it issues for tensor memory. An agent knows, of each agent of its cluster, up to which clock that one's
accesses happened before (a vector clock); it publishes this where it arrives - at a barrier, an mbarrier, the
cluster's barrier - and takes over what others published where it waits. Of each byte we keep the last write and every
agent's last read. Two accesses, one of them a write, race where the later agent does not know the earlier access.
Rules beside:

- writing the value that is already there is no race; atomics are exempt; cp.async writes where it is issued;
- between lanes of a warp, bar.warp.sync, and every barrier of the warp, orders;
- what only relaxed arrivals and waits order has another name, for it is right on hardware;
- the async proxy (bulk copies, operands of wgmma, tcgen05.mma and .cp) sees writes of ordinary stores only over a fence.proxy.async: a second
  vector clock counts what also passed one, on either side of the synchronisation.

``vector_clocks.py`` keeps the clocks; this file what they say of accesses, ``racecheck_tensor_memory.py`` of those to tensor memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import RACE, EmulatorFault
from ..simt.broadcasting import unique_integers
from .racecheck_tensor_memory import TensorMemoryRacecheck
from .shadow_memory import ShadowMemory
from .vector_clocks import FENCED, ORDER, SYNCHRONIZED

if TYPE_CHECKING:
    from ..memory.cta_memories import CtaMemories
    from ..simt.geometry import Geometry
    from .unspecified_behavior import Findings

SEVERAL_LANES, ASYNC_PROXY = 32, 33  # in the place of a lane
RELAXED_FINDING = "arrival-relaxed"
_LANES = 64  # a reader or writer is agent * 64 + lane


class SharedMemoryRacecheck(TensorMemoryRacecheck):
    def __init__(self, geometry: Geometry, memories: CtaMemories, findings: Findings):
        super().__init__(geometry, memories, findings)
        self.groups: dict[
            tuple, list
        ] = {}  # (cta, warpgroup) -> clocks of each committed group of MMAs, see ``product``
        self.begun: dict[tuple, np.ndarray] = {}  # (cta, warpgroup) -> what its warps knew when the last MMA began
        self.shadow = ShadowMemory(self.geometry.ctas * self.memories.shared_size)
        self.sites: list = []
        self.numbers: dict = {}

    # -- ordinary accesses ---------------------------------------------------------------------------
    def access(self, site, start, flat, writes: bool, data) -> None:
        """``flat`` threads (n) access ``site.bytes`` bytes from ``start`` (n); ``data`` (n, bytes) or None."""
        shadow = self.shadow
        index = shadow.of_spans(start, site.bytes)
        cta, tid = np.divmod(flat, self.geometry.threads)
        warp, lane = (tid // 32)[:, None], (tid % 32)[:, None]
        cta = cta[:, None]
        mine = self.first_async_clock[cta] + warp
        clock = self.clock(cta, warp)
        known, row = self.known.reshape(-1), (cta * self.warps + warp) * self.known.shape[2] * self.clock_count
        met = row + SYNCHRONIZED * self.clock_count
        writer, when = shadow.writer.take(index), shadow.write_clock.take(index)
        agent = writer // _LANES
        bad = when > known.take(row + agent)  # a warp knows its own clock
        own = (when == clock) & (agent == mine) & (writer % _LANES != lane)
        if own.any() or bad.any():
            worst = _worst(bad, own, when > known.take(met + agent))
            self.report_unless_same_value(
                site, start, index, worst, data, flat, writer, shadow.write_site, "wrote", writes
            )
        if not writes:
            return self.note_read(site, index, mine, clock, lane)
        for reader, (clocks, lanes) in shadow.readers.items():
            if not (when := clocks.take(index)).any():
                continue
            bad = when > known.take(row + reader)
            own = (mine == reader) & (when == clock) & (lanes.take(index) != lane)
            if own.any() or bad.any():
                owner = reader * _LANES + lanes.take(index).astype(np.int64)
                worst = _worst(bad, own, when > known.take(met + reader))
                self.report_unless_same_value(
                    site, start, index, worst, data, flat, owner, shadow.read_site, "read", True
                )
        self.note_write(site, start, index, mine * _LANES + lane, clock, data, flat)

    def report_unless_same_value(
        self, site, start, index, worst, data, flat, owner, sites, did: str, writes: bool
    ) -> None:
        """Fault for the first bad byte, unless a write puts there what is there already; ``worst``: which are bad, and
        the finding that is, if it is one."""
        bad, finding = worst
        bytes_ = np.repeat(bad, self.shadow.grain, axis=1)
        if writes and data is not None:
            bytes_ &= self.memories.shared[start[:, None] + np.arange(site.bytes)] != data
        self.report_first(
            site, start, bytes_, flat, owner, sites, did, f"this {'write' if writes else 'read'}", finding
        )

    def report_first(self, site, start, bytes_, flat, owner, sites, did: str, what: str, finding=None) -> None:
        """Fault for the first of the ``bytes_`` (n, bytes) from each start, if there is one; owners are of granules."""
        if bytes_.any():
            row, column = np.argwhere(bytes_)[0].tolist()
            who = owner[row, column // self.shadow.grain]
            self.report(site, start[row] + column, flat[row], who, sites, did, what, finding=finding)

    def note_read(self, site, index, mine, clock, lane) -> None:
        self.shadow.read_site[index] = self.site_number(site)
        for agent in unique_integers(mine).tolist():
            rows = (mine == agent)[:, 0]
            places, now, who = index[rows], clock[rows], lane[rows]
            clocks, lanes = self.shadow.column(agent)
            again = clocks.take(places) == now
            if again.any():
                who = np.where(again & (lanes.take(places) != who), SEVERAL_LANES, who)
            lanes[places] = who
            shared = lanes.take(places) != who  # several lanes of this instruction read the byte
            if shared.any():
                lanes[places[shared]] = SEVERAL_LANES
            clocks[places] = now

    def note_write(self, site, start, index, who, clock, data, flat) -> None:
        shadow, who = self.shadow, np.broadcast_to(who, index.shape)
        shadow.writer[index] = who
        shadow.write_clock[index] = clock
        shadow.write_site[index] = self.site_number(site)
        twice = (owner := shadow.writer.take(index)) != who
        if not twice.any():
            return
        bytes_ = np.repeat(twice, shadow.grain, axis=1)
        if data is not None:
            places, image = (
                start[:, None] + np.arange(site.bytes),
                np.zeros(len(self.memories.shared), np.uint8),
            )
            image[places] = data
            bytes_ &= image[places] != data
        self.report_first(site, start, bytes_, flat, owner, shadow.write_site, "wrote", "this write")

    # -- asynchronous accesses -----------------------------------------------------------------------
    def issue_copies(self, positions, flat) -> np.ndarray:
        """Vector clocks (n, 3, agents) of copies towards mbarriers, issued by threads now; each has an agent's new clock."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        clocks = self.known[cta, tid // 32]
        for i, position in enumerate(positions.tolist()):
            owner = position // (self.memories.shared_size // 8)
            agent, now = self.next_async(owner, self.copy_role(position))
            clocks[i, :, agent] = now
        return clocks

    def copy_in(self, ins, index, positions, flat, clocks) -> None:
        """Copies land: they write bytes ``index`` (n, …)."""
        site, shadow = AsyncSite(ins), self.shadow
        for i, position in enumerate(positions.tolist()):
            owner = position // (self.memories.shared_size // 8)
            agent = int(self.first_async_clock[owner]) + self.copy_role(position)
            places = shadow.of_bytes(index[i].reshape(-1))
            self.check_write_before(site, places, clocks[i], flat[i], "this copy")
            for reader, (when, lanes) in shadow.readers.items():
                now = when.take(places)
                if (bad := now > clocks[i, ORDER, reader]).any():
                    bad, finding = _worst(bad, False, now > clocks[i, SYNCHRONIZED, reader])
                    at = int(places[bad][0])
                    owner, first = reader * _LANES + int(lanes[at]), at * shadow.grain
                    self.report(site, first, flat[i], owner, shadow.read_site, "read", "this copy", finding=finding)
            shadow.writer[places], shadow.write_clock[places] = agent * _LANES + ASYNC_PROXY, clocks[i, ORDER, agent]
            shadow.write_site[places] = self.site_number(site)

    def check_write_before(self, site, places, known, flat, what: str) -> None:
        """The last writes are known to an asynchronous access, those of ordinary stores over a proxy fence."""
        shadow = self.shadow
        writer, when = shadow.writer.take(places), shadow.write_clock.take(places)
        agent = writer // _LANES
        unknown = (writer >= 0) & (when > known[ORDER, agent])
        if unknown.any():
            unknown, finding = _worst(unknown, False, when > known[SYNCHRONIZED, agent])
            at = int(np.argmax(unknown))
            first, sites = places[at] * shadow.grain, shadow.write_site
            return self.report(site, first, flat, writer[at], sites, "wrote", what, finding=finding)
        unfenced = (writer >= 0) & (agent % self.roles < self.warps) & (when > known[FENCED, agent])
        if unfenced.any():
            at = int(np.argmax(unfenced))
            first, sites = places[at] * shadow.grain, shadow.write_site
            self.report(site, first, flat, writer[at], sites, "wrote", what, "fence.proxy.async")

    def read_async(self, ins, places, known, flat, clock_id: int, now: int, what: str) -> None:
        """An asynchronous operation reads granules."""
        site = AsyncSite(ins)
        self.check_write_before(site, places, known, flat, what)
        clocks, lanes = self.shadow.column(clock_id)
        clocks[places], lanes[places] = now, ASYNC_PROXY
        self.shadow.read_site[places] = self.site_number(site)

    def issue_stores(self, ins, index, flat) -> np.ndarray:
        """Bulk stores read bytes ``index`` (n, …) until they are waited for; returns their clocks (n)."""
        out = np.zeros(len(flat), np.int64)
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        for i, (c, warp) in enumerate(zip(cta.tolist(), (tid // 32).tolist())):
            agent, out[i] = self.next_async(c, self.first_store + warp)
            places = self.shadow.of_bytes(index[i].reshape(-1))
            self.read_async(ins, places, self.known[c, warp], flat[i], agent, int(out[i]), "this copy")
        return out

    def stores_done(self, flat, clocks) -> None:
        """The issuing warps have waited for bulk stores."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        for c, warp, now in zip(cta.tolist(), (tid // 32).tolist(), clocks.tolist()):
            agent = self.first_async_clock[c] + self.first_store + warp
            self.known[c, warp, :, agent] = np.maximum(self.known[c, warp, :, agent], now)

    # -- MMAs ------------------------------------------------------------------------------------
    def warpgroups(self, group):
        cta, tid = np.divmod(group.flat[::128], self.geometry.threads)
        return zip(cta.tolist(), (tid // 128).tolist())

    def wgmma_reads(self, site, group, chunks) -> None:
        """MMAs read 16-byte chunks (warpgroups, …) of shared memory until they are waited for.

        They are of all four warps: where one is done, each of these has begun it."""
        for i, (cta, which) in enumerate(self.warpgroups(group)):
            agent, now = self.next_async(cta, self.first_wgmma_clock + which)
            warps = self.known[cta, 4 * which : 4 * which + 4]
            self.begun[cta, which] = warps[:, SYNCHRONIZED].max(axis=0)
            known = warps.min(axis=0)  # all four warps must know
            known[:, agent] = now
            places = self.shadow.of_chunks(chunks[i if len(chunks) > 1 else 0])
            self.read_async(site.ins, places, known, group.flat[128 * i], agent, now, "this product")
            for warp in range(4 * which, 4 * which + 4):
                self.tick(cta, warp)

    def commit_wgmma(self, group) -> None:
        for cta, which in self.warpgroups(group):
            now, begun = int(self.async_clock[cta, self.first_wgmma_clock + which]), self.begun.get((cta, which), 0)
            self.groups.setdefault((cta, which), []).append((now, begun))

    def wait_wgmma(self, group, newest: int) -> None:
        for cta, which in self.warpgroups(group):
            waited = self.groups.get((cta, which), [])
            if len(waited) > newest:
                now, begun = waited[len(waited) - newest - 1]
                del waited[: len(waited) - newest]
                agent = self.first_async_clock[cta] + self.first_wgmma_clock + which
                warps = self.known[cta, 4 * which : 4 * which + 4]
                warps[:, :, agent] = now
                warps[:, SYNCHRONIZED] = np.maximum(warps[:, SYNCHRONIZED], begun)

    # -- tensor memory -------------------------------------------------------------------------------
    def tensor_reads(self, ins, chunks, ctas, tid: int) -> None:
        """Operations that thread ``tid`` of CTAs (n) issues read 16-byte chunks (n, …) until a commit arrives."""
        warp = tid // 32
        for cta, rows in zip(ctas.tolist(), chunks):
            agent, now = self.next_async(cta, self.first_tensor + warp)
            places = self.shadow.of_chunks(rows)
            flat = cta * self.geometry.threads + tid
            self.read_async(ins, places, self.known[cta, warp], flat, agent, now, "this operation")

    def tensor_writes(self, ins, start, flat) -> None:
        """tcgen05.alloc writes words at bytes ``start`` (n): its warp sees them, others after a barrier (no proxy fence)."""
        shadow = self.shadow
        for first, thread in zip(start.tolist(), np.asarray(flat).tolist()):
            cta, warp = thread // self.geometry.threads, thread % self.geometry.threads // 32
            agent, now = self.next_async(cta, self.first_tensor + warp)
            self.known[cta, warp, :, agent] = now
            places = shadow.of_bytes(np.arange(first, first + 4))
            shadow.writer[places], shadow.write_clock[places] = agent * _LANES + ASYNC_PROXY, now
            shadow.write_site[places] = self.site_number(AsyncSite(ins))

    def commit_tensor(self, flat) -> np.ndarray:
        """Vector clocks (n, 3, agents) of commits by threads: what their warps know and have issued."""
        cta, warp = np.asarray(flat) // self.geometry.threads, np.asarray(flat) % self.geometry.threads // 32
        clocks = self.known[cta, warp]
        clocks[np.arange(len(cta)), :, self.first_async_clock[cta] + self.first_tensor + warp] = self.async_clock[
            cta, self.first_tensor + warp, None
        ]
        self.tick(*self.pairs(flat))
        return clocks

    # -- reports -------------------------------------------------------------------------------------
    def site_number(self, site) -> int:
        found = self.numbers.get(id(site.ins))
        if found is None:
            found = self.numbers[id(site.ins)] = len(self.sites)
            self.sites.append(site)
        return found

    def report(
        self, site, byte, flat, owner, sites, did: str, what: str, missing: str = "barrier", finding=None
    ) -> None:
        missing = missing if finding is None else "barrier but a relaxed one"
        other = self.sites[sites[byte // self.shadow.grain]].ins
        cta, offset = divmod(int(byte), self.memories.shared_size)
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
        agent, lane = divmod(owner, _LANES)
        rank, role = divmod(agent, self.roles)
        where = f" of CTA rank {rank}" if self.geometry.cluster_size > 1 else ""
        if role < self.warps:
            tid = self.geometry.thread_name(cta, role * 32 + lane)[1]
            return (f"tid {tid}" if lane < SEVERAL_LANES else f"several threads of warp {role}") + where
        if role < self.first_store:
            return f"a product of warpgroup {role - self.first_wgmma_clock}" + where
        in_tensor = self.first_tensor <= role < self.first_copy
        return ("an operation of tensor memory" if in_tensor else "a bulk copy") + where


def _worst(bad, own, unmet) -> tuple[np.ndarray, str | None]:
    """Of bad accesses, and those of a warp's ``own`` lanes: what races; where nothing does, what only relaxed arrivals order."""
    races = (bad & unmet) | own
    return (races, None) if races.any() else (bad, RELAXED_FINDING)


class AsyncSite:
    """The site of an asynchronous access: only its instruction matters."""

    __slots__ = ("ins",)

    def __init__(self, ins):
        self.ins = ins
