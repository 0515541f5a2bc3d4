"""What is remembered of each byte of shared memory, for the race check: its last write and every agent's last reads.

Bytes that were always accessed together have one entry, a granule: an access that parts granules makes all of them smaller.
Kernels access words, mostly, so that there is a fraction of the entries to look at, and the same to be said of each byte.
"""

from __future__ import annotations

import numpy as np

CHUNK = 16  # bytes; shared memory has a multiple of them


class ShadowMemory:
    """Arrays with one entry for each granule: ``writer``, ``write_clock``, ``write_site``, ``read_site``; ``readers`` by agent."""

    def __init__(self, size: int, who: type[np.signedinteger] | None = None):
        """``who``: the type of what names a thread; None: as above."""
        self.grain, count, self.who = CHUNK, size // CHUNK, who
        self.writer = np.full(count, -1, who or np.int32)
        self.write_clock = np.zeros(count, np.int32)
        self.write_site, self.read_site = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.readers: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # agent -> (clock, lane) of the last read

    def column(self, clock_id: int) -> tuple[np.ndarray, np.ndarray]:
        """(clock, lane) of an agent's last reads."""
        found = self.readers.get(clock_id)
        if found is None:
            count = len(self.writer)
            found = self.readers[clock_id] = (np.zeros(count, np.int32), np.zeros(count, self.who or np.int8))
        return found

    # -- granules of bytes ---------------------------------------------------------------------------
    def of_spans(self, start: np.ndarray, size: int) -> np.ndarray:
        """(n, granules) of ``size`` bytes from each ``start`` (n)."""
        together = int(np.bitwise_or.reduce(start, axis=None)) | size
        self.refine(together & -together)
        return (start // self.grain)[:, None] + np.arange(size // self.grain)

    def of_chunks(self, chunks: np.ndarray) -> np.ndarray:
        """The granules of chunks of 16 bytes, one after another."""
        each = CHUNK // self.grain
        return (chunks.reshape(-1, 1) * each + np.arange(each)).reshape(-1)

    def of_bytes(self, places: np.ndarray) -> np.ndarray:
        """The granules that bytes make up, in their order."""
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
        """Make granules as small as ``grain`` bytes, a power of two, where they are larger."""
        if grain >= self.grain:
            return
        parts, self.grain = self.grain // grain, grain
        for name in ("writer", "write_clock", "write_site", "read_site"):
            setattr(self, name, np.repeat(getattr(self, name), parts))
        self.readers = {
            agent: (clock.repeat(parts), lane.repeat(parts)) for agent, (clock, lane) in self.readers.items()
        }
