"""Non-tensor bulk copies: contiguous bytes between global and shared memory."""

from __future__ import annotations

import numpy as np

from ..performance_counters import count_bulk
from .mbarrier import arrive_and_expect_tx
from .tma_box_copies import InFlightCopy, global_view
from .tma_box_layout import CHUNK


class LineCopy(InFlightCopy):
    """Contiguous copies, one per thread: (flat, from, to, bytes), with addresses as ("global" | "shared", offset)."""

    def __init__(self, ins, flat, to, source, sizes, positions=None, function=None, dtype=None):
        self.ins, self.flat, self.to, self.source, self.sizes = ins, flat, to, source, sizes
        self.positions, self.function, self.dtype, self.is_performed = positions, function, dtype, False

    def only(self, member):
        if (keep := self.copies_of_threads(member)) is None:
            return None
        part = lambda pair: (pair[0], pair[1][keep])
        positions = None if self.positions is None else self.positions[keep]
        out = LineCopy(
            self.ins,
            self.flat[keep],
            part(self.to),
            part(self.source),
            self.sizes[keep],
            positions,
            self.function,
            self.dtype,
        )
        out.clocks = None if self.clocks is None else self.clocks[keep]
        out.prefetched = (
            None if self.prefetched is None else [line for line, is_kept in zip(self.prefetched, keep) if is_kept]
        )
        return out

    def sources(self, batch) -> list:
        """The source bytes of each copy; None for empty copies."""
        sizes = enumerate(self.sizes.tolist())
        return [self.bytes_at(batch, self.source, i, size, False).copy() if size else None for i, size in sizes]

    def perform(self, batch) -> None:
        if self.is_performed:
            return
        self.is_performed = True
        self.read(batch)
        for i, size in enumerate(self.sizes.tolist()):
            if size:
                self.move(self.bytes_at(batch, self.to, i, size, True), self.prefetched[i])
        if self.positions is not None:
            for chunks in self.chunks():
                batch.observers.async_copy_marks.clear(chunks, CHUNK)
            sizes = self.sizes.astype(np.int64)
            arrive_and_expect_tx(batch, self.ins, self.positions, self.flat, 0 * sizes, -sizes, clocks=self.clocks)

    def shared_bytes(self) -> list:
        _, starts = self.source if self.positions is None else self.to
        return [start + np.arange(size) for start, size in zip(starts.tolist(), self.sizes.tolist())]

    def chunks(self) -> list:
        """The slice of 16-byte chunks in shared memory of each copy."""
        starts = self.to[1] // CHUNK
        return [slice(start, start + size // CHUNK) for start, size in zip(starts.tolist(), self.sizes.tolist())]

    def mark_in_flight(self, batch) -> None:
        for chunks in self.chunks():
            batch.observers.require_async_copy_marks().mark_written(self.ins, chunks, CHUNK)

    def move(self, target, source):
        if self.function is None:
            target[:] = source
            return
        old, values = target.view(self.dtype), source.view(self.dtype)
        old[:] = self.function(old, values, None)

    def bytes_at(self, batch, where, i: int, size: int, writes: bool):
        space, addresses = where
        if space == "shared":
            return batch.memories.shared[int(addresses[i]) : int(addresses[i]) + size]
        count_bulk(batch.observers.counters, 1, size, writes)
        ends = np.array([0, size - 1])
        view, index = global_view(batch, self.ins, self.flat[i], int(addresses[i]), ends, 1, writes)
        return view[int(index[0]) : int(index[1]) + 1]
