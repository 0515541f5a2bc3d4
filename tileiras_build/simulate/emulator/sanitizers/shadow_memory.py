"""The shadow memory of racecheck: the last write and each actor's last read of every byte.

An *actor* has a vector clock: a warp, or an asynchronous unit of the hardware (see ``racecheck_shared_memory.py``).
Bytes that were always accessed together share one entry, a granule. An access that splits a granule makes all granules
smaller. Most kernels access whole words, so the check visits a fraction of the entries without losing precision.
"""

from __future__ import annotations

import numpy as np

CHUNK = 16  # bytes; the size of shared memory is a multiple of it


class ShadowMemory:
    """Arrays with one entry per granule: ``writer``, ``write_clock``, ``write_site``, ``read_site``; ``readers`` by clock id."""

    def __init__(self, size: int, who: type[np.signedinteger] | None = None):
        """``who``: the type of an encoded thread; None: int32 for writers, int8 for the lanes of readers."""
        self.grain, count, self.who = CHUNK, size // CHUNK, who
        self.writer = np.full(count, -1, who or np.int32)
        self.write_clock = np.zeros(count, np.int32)
        self.write_site, self.read_site = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.readers: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # clock id -> (clock, lane) of the last read

    def column(self, clock_id: int) -> tuple[np.ndarray, np.ndarray]:
        """(clock, lane) of an actor's last reads."""
        found = self.readers.get(clock_id)
        if found is None:
            count = len(self.writer)
            found = self.readers[clock_id] = (np.zeros(count, np.int32), np.zeros(count, self.who or np.int8))
        return found

    # -- granules of bytes ---------------------------------------------------------------------------
    def of_spans(self, start: np.ndarray, size: int) -> np.ndarray:
        """The granules (n, granules) of ``size`` bytes from each ``start`` (n)."""
        together = int(np.bitwise_or.reduce(start, axis=None)) | size
        self.refine(together & -together)
        return (start // self.grain)[:, None] + np.arange(size // self.grain)

    def of_chunks(self, chunks: np.ndarray) -> np.ndarray:
        """The granules of 16-byte chunks, in order."""
        each = CHUNK // self.grain
        return (chunks.reshape(-1, 1) * each + np.arange(each)).reshape(-1)

    def of_bytes(self, places: np.ndarray) -> np.ndarray:
        """The granules of bytes, in order; makes granules smaller until the bytes are whole granules."""
        while (found := self._whole(places)) is None:
            self.refine(self.grain // 2)
        return found

    def _whole(self, places: np.ndarray) -> np.ndarray | None:
        if len(places) % self.grain:
            return None
        rows = places.reshape(-1, self.grain)
        first = rows[:, 0]
        if (first % self.grain).any() or (rows != first[:, None] + np.arange(self.grain)).any():
            return None
        return first // self.grain

    def refine(self, grain: int) -> None:
        """Split granules that are larger than ``grain`` bytes, a power of two."""
        if grain >= self.grain:
            return
        parts, self.grain = self.grain // grain, grain
        for name in ("writer", "write_clock", "write_site", "read_site"):
            setattr(self, name, np.repeat(getattr(self, name), parts))
        self.readers = {
            clock_id: (clock.repeat(parts), lane.repeat(parts)) for clock_id, (clock, lane) in self.readers.items()
        }


class AccessSites:
    """The sites of recorded accesses; the shadow memory has their indices."""

    def __init__(self) -> None:
        self.known: list = []
        self._indices: dict[int, int] = {}  # by the identity of the instruction

    def index(self, site) -> int:
        found = self._indices.get(id(site.ins))
        if found is None:
            found = self._indices[id(site.ins)] = len(self.known)
            self.known.append(site)
        return found
