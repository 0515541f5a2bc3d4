"""Racecheck of global memory within CTAs and clusters: conflicting accesses without synchronization between them.

The vector clocks (``vector_clocks.py``) and the rules (PTX ISA 9.0, 8.7.1) are those of shared memory. Accesses of the async
proxy are not checked. The shadow memory records the last write and each warp's last read of a byte, by any CTA of the batch.
``racecheck_between_ctas.py`` checks accesses by different clusters. Kernels whose threads may synchronize through global
memory are not checked (``lacks_cta_ordering``).
"""

from __future__ import annotations

import numpy as np

from ..errors import THREAD_RACE, EmulatorFault
from ..memory.address_space import Region
from ..simt.broadcasting import unique_integers
from .shadow_memory import CHUNK, AccessSites, ShadowMemory
from .vector_clocks import ORDER, VectorClocks

_LANES = 64  # an accessing thread is encoded as (CTA * clock_count + clock_id) * 64 + lane
STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}  # strong operations do not race with each other


class GlobalMemoryRacecheck:
    """The check of one batch of CTAs."""

    def __init__(self, clocks: VectorClocks):
        self.clocks, self.geometry, self.sites = clocks, clocks.geometry, AccessSites()
        self.shadows: dict[int, ShadowMemory] = {}

    def access(self, site, region: Region, flat: np.ndarray, start: np.ndarray, writes: bool, data) -> None:
        """Check that threads ``flat`` (n) may access ``site.bytes`` bytes at addresses ``start`` (n).

        ``data`` (n, bytes) are the bytes that they write.
        """
        shadow = self._shadow(region)
        self.index = shadow.of_spans(start - region.origin, site.bytes)
        cta, tid = np.divmod(flat[:, None], self.geometry.threads)
        warp, self.lane = np.divmod(tid, 32)
        self.actor = cta * self.clocks.clock_count + self.clocks.first_async_clock[cta] + warp
        self.now, self.known = self.clocks.clock(cta, warp), self.clocks.known[cta[:, 0], warp[:, 0], ORDER]
        self.site, self.region, self.flat, self.start = site, region, flat, start
        self.data: np.ndarray | None = data if writes else None
        last = shadow.writer.take(self.index)
        self._find_conflicts(last, shadow.write_clock.take(self.index), shadow.write_site, "wrote", writes)
        if not writes:
            return self._record_read(shadow)
        for clocks, readers in shadow.readers.values():
            self._find_conflicts(readers.take(self.index), clocks.take(self.index), shadow.read_site, "read", True)
        self._record_write(shadow)

    def _shadow(self, region: Region) -> ShadowMemory:
        found = self.shadows.get(region.base)
        if found is None:
            size = -(-region.end // CHUNK) * CHUNK
            found = self.shadows[region.base] = ShadowMemory(size, who=np.int64)
        return found

    def _find_conflicts(self, last, when, sites, did: str, writes: bool) -> None:
        """Report accesses by a thread of the same cluster that do not happen before this one."""
        if not when.any():
            return
        whose, lane = np.divmod(last, _LANES)
        size = self.geometry.cluster_size * self.clocks.clock_count
        near = (when > 0) & (whose // size == self.actor // size)
        if not near.any():
            return
        clock_id = np.where(near, whose % self.clocks.clock_count, 0)
        bad = near & (when > np.take_along_axis(self.known, clock_id, axis=1))
        bad |= near & (whose == self.actor) & (when == self.now) & (lane != self.lane)
        if bad.any():
            self._report_unless_same_value(bad, last, sites, did, "write" if writes else "read")

    def _report_unless_same_value(self, bad, last, sites, did: str, what: str) -> None:
        """Raise a fault for the first conflicting byte that a write changes or a read loads."""
        grain = self.site.bytes // self.index.shape[1]
        bytes_ = np.repeat(bad, grain, axis=1)
        if self.data is not None:
            offset = (self.start - self.region.origin)[:, None] + np.arange(self.site.bytes)
            bytes_ &= self.region.view(np.uint8)[offset] != self.data
        if not bytes_.any():
            return
        row, column = (int(at) for at in np.argwhere(bytes_)[0])
        granule = int(self.index[row, column // grain])
        self._report(
            row, int(self.start[row]) + column, int(last[row, column // grain]), int(sites[granule]), did, what
        )

    def _report(self, thread_index: int, address: int, last: int, site: int, did: str, what: str) -> None:
        clocks = self.clocks
        other, ins = self.sites.known[site].ins, self.site.ins
        cta, clock_id = divmod(last // _LANES, clocks.clock_count)
        thread = self.geometry.thread_name(cta, clock_id % clocks.roles * 32 + last % _LANES % 32)[1]
        raise EmulatorFault(
            f"race on global memory: tid {thread} {did} it at line {other.line} ({other.text}) with no barrier before this {what}",
            instruction=ins.text, line=ins.line, thread=self.geometry.thread_at(self.flat[thread_index]),
            address=address, kind=THREAD_RACE, size=self.site.bytes, writes=what == "write",
        )  # fmt: skip

    def _record_read(self, shadow: ShadowMemory) -> None:
        shadow.read_site[self.index] = self.sites.index(self.site)
        role = self.actor % self.clocks.clock_count
        for clock_id in unique_integers(role).tolist():
            rows = (role == clock_id)[:, 0]
            clocks, readers = shadow.column(clock_id)
            readers[self.index[rows]] = (self.actor * _LANES + self.lane)[rows]
            clocks[self.index[rows]] = self.now[rows]

    def _record_write(self, shadow: ShadowMemory) -> None:
        who = np.broadcast_to(self.actor * _LANES + self.lane, self.index.shape)
        shadow.writer[self.index], shadow.write_clock[self.index] = who, self.now
        shadow.write_site[self.index] = self.sites.index(self.site)
        last = shadow.writer.take(self.index)
        if (twice := last != who).any() and self.data is not None:
            size = self.geometry.cluster_size * self.clocks.clock_count
            twice &= last // _LANES // size == self.actor // size
            self._check_writes_of_one_instruction(shadow, twice, last, self.data)

    def _check_writes_of_one_instruction(self, shadow: ShadowMemory, twice, last, data: np.ndarray) -> None:
        """Report threads that write different values to a byte with this instruction."""
        place = (self.start - self.region.origin)[:, None] + np.arange(self.site.bytes)
        image = dict(zip(place.reshape(-1).tolist(), data.reshape(-1).tolist()))
        grain = self.site.bytes // self.index.shape[1]
        for row, column in np.argwhere(np.repeat(twice, grain, axis=1)).tolist():
            if image[int(place[row, column])] != int(data[row, column]):
                granule = int(self.index[row, column // grain])
                other, site = int(last[row, column // grain]), int(shadow.write_site[granule])
                self._report(row, int(self.start[row]) + column, other, site, "wrote", "write")
