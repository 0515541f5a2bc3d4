"""Observers of memory accesses: async copy hazards, racecheck, initcheck, and counters of bank conflicts and traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..memory.address_space import Region
from ..performance_counters import Counters, count_global
from ..simt.broadcasting import unique_integers
from ..simt.thread_selection import flat_threads
from .racecheck_between_ctas import lacks_cta_ordering
from .racecheck_global_memory import STRONG, GlobalMemoryRacecheck

if TYPE_CHECKING:
    from .observers import Observers

UNORDERED = {"tcgen05"}  # tcgen05.alloc writes through the async proxy (racecheck_tensor_memory.py)


class AccessObservers:
    """Runs the active checks on every access of one batch."""

    def __init__(self, observers: Observers):
        self.observers, self.geometry, self.memories = observers, observers.geometry, observers.memories
        self.counters, self.racecheck = observers.counters, observers.racecheck
        self.global_races: GlobalMemoryRacecheck | None = None
        if self.racecheck is not None and lacks_cta_ordering(observers.program):
            self.global_races = GlobalMemoryRacecheck(self.racecheck.clocks)
        self.idle = self.racecheck is None and self.counters is None

    def __call__(self, site, group, pieces, writes: bool, selection, values=None):
        memories, marks = self.memories, self.observers.async_copy_marks
        for place, inside in pieces:
            if place.view != memories.shared_view:
                if place.bias is None:
                    self.observe_global(site, group, place, inside, selection, writes, values)
                continue
            if marks is not None and site.ins.op != "cp":
                marks.check(site, group, place, inside, writes, selection)
            if self.idle:
                continue
            start = place.offset.astype(np.int64) if place.bias is None else place.offset.astype(np.int64) + place.bias
            threads = (
                group.cta * 0 + group.tid
                if selection is None
                else np.broadcast_to(group.tid, group.shape)[selection.rows, selection.columns]
            )
            if inside is not None:
                threads = np.broadcast_to(threads, inside.shape)[inside]
            shape = np.broadcast_shapes(np.shape(start), threads.shape)
            start, threads = np.broadcast_to(start, shape).reshape(-1), np.broadcast_to(threads, shape).reshape(-1)
            if self.counters is not None:
                self.count(self.counters, site, start, threads, writes)
            if self.racecheck is not None and site.ins.op not in UNORDERED:
                flat = (
                    group.cta * self.geometry.threads + group.tid
                    if selection is None
                    else flat_threads(group, selection)
                )
                flat = flat if inside is None else np.broadcast_to(flat, inside.shape)[inside]
                data = None if values is None or inside is not None else self.bytes_of(values, shape)
                self.racecheck.shared_memory.access(site, start, np.broadcast_to(flat, shape).reshape(-1), writes, data)

    @staticmethod
    def bytes_of(values, shape):
        columns = [np.ascontiguousarray(np.broadcast_to(v, shape).reshape(-1))[:, None].view(np.uint8) for v in values]
        return np.concatenate(columns, axis=1)

    # -- global memory -------------------------------------------------------------------------------
    def observe_global(
        self, site, group, place, inside, selection, writes: bool, values=None, atomic: bool = False
    ) -> None:
        """Count an access of global memory, and check it for races of threads, races of CTAs and uninitialized reads.

        Accesses of local memory and kernel parameters are skipped.
        """
        observers = self.observers
        region, races = getattr(place.view, "__self__", None), None if atomic else observers.cta_racecheck
        unwritten = None if writes and not atomic else observers.initcheck
        if not isinstance(region, Region) or region is self.memories.params:
            return
        threads = None if atomic or not STRONG.isdisjoint(site.ins.mods) else self.global_races
        if self.counters is None and races is None and unwritten is None and threads is None:
            return
        flat = group.cta * self.geometry.threads + group.tid if selection is None else flat_threads(group, selection)
        shape = flat.shape
        flat = (flat if inside is None else np.broadcast_to(flat, inside.shape)[inside]).reshape(-1)
        offset = np.asarray(place.offset, np.int64) + (region.base - region.pad)
        start = np.broadcast_to(offset, shape if inside is None else flat.shape).reshape(-1)
        if self.counters is not None:
            cta, tid = np.divmod(flat, self.geometry.threads)
            warps = -(-self.geometry.threads // 32)
            count_global(self.counters, cta * warps + tid // 32, start, site.bytes, writes)
        if unwritten is not None:
            unwritten.access(self.geometry, site.ins, np.broadcast_to(flat, start.shape), start, site.bytes)
        if races is None and threads is None:
            return
        data = None if values is None or inside is not None else self.bytes_of(values, shape)
        if threads is not None:
            threads.access(site, region, np.broadcast_to(flat, start.shape), start, writes, data)
        if races is not None:
            races.access(self.geometry, site.ins, region, flat, start, site.bytes, writes, data)

    # -- bank conflicts ------------------------------------------------------------------------------
    def count(self, counters: Counters, site, start, threads, writes: bool) -> None:
        """Count extra wavefronts: per phase (32, 16 or 8 lanes by width), the most distinct words in one bank, minus one."""
        key = (site.ins.line, site.ins.text)
        name = "shared_written" if writes else "shared_read"
        setattr(counters, name, getattr(counters, name) + site.bytes * len(start))
        cta, offset = np.divmod(start, self.memories.shared_size)
        lanes = {8: 16, 16: 8}.get(site.bytes, 32)
        phase = (cta * self.geometry.threads + threads) // lanes
        words = (offset[:, None] + np.arange(0, max(site.bytes, 4), 4)) >> 2
        pair = unique_integers(np.repeat(phase, words.shape[1]) * (1 << 32) + words.reshape(-1))
        bank = (pair >> 32) * 32 + (pair & 31)
        unique, words_in_bank = np.unique(bank, return_counts=True)
        worst = np.zeros(int(unique.max() >> 5) + 1, np.int64)
        np.maximum.at(worst, unique >> 5, words_in_bank)
        counters.bank_conflicts[key] = counters.bank_conflicts.get(key, 0) + int((worst[worst > 0] - 1).sum())
        counters.accesses[key] = counters.accesses.get(key, 0) + int((worst > 0).sum())
