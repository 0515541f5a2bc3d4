"""Optional observers of memory accesses: the shared-memory race check and the bank-conflict counters.

Race rule: between two barriers, a byte of shared memory touched by two threads, at least one of them writing (and
not the value already there), is a race. ``bar.warp.sync`` orders the threads of one warp among themselves. Atomics
are exempt; cp.async counts as a write where it is issued. mbarriers do not count as barriers.
"""

from __future__ import annotations

import numpy as np

from .faults import EmulatorFault

NOBODY, MANY = -1, -2


class Watch:
    """Called for every access of one batch. ``races`` and ``counters`` switch its two halves.

    Shadow arrays per byte of shared memory: the last writer, the only reader (or MANY), and their instructions.
    A thread is its index in the CTA; ``threads + warp`` stands for "ordered for that warp".
    """

    def __init__(self, machine, races: bool, counters):
        self.machine, self.races, self.counters = machine, races, counters
        self.sites: list = []
        self.numbers: dict = {}
        if races:
            size = machine.ctas * machine.shared_size
            self.writer = np.full(size, NOBODY, np.int16)
            self.reader = np.full(size, NOBODY, np.int16)
            self.write_site = np.zeros(size, np.int32)
            self.read_site = np.zeros(size, np.int32)
            self.image = np.zeros(size, np.uint8)

    def __call__(self, site, group, pieces, writes: bool, selection, values=None):
        machine = self.machine
        for place, inside in pieces:
            if place.view != machine.shared_view:
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
                self.count(site, start, threads)
            if self.races:
                data = None if values is None or inside is not None else self.bytes_of(site, values, shape)
                self.check(site, start, threads, writes, data)

    # -- races ---------------------------------------------------------------------------------------
    @staticmethod
    def bytes_of(site, values, shape):
        columns = [np.ascontiguousarray(np.broadcast_to(v, shape).reshape(-1))[:, None].view(np.uint8) for v in values]
        return np.concatenate(columns, axis=1)

    def number(self, site) -> int:
        found = self.numbers.get(id(site))
        if found is None:
            found = self.numbers[id(site)] = len(self.sites)
            self.sites.append(site)
        return found

    def foreign(self, owner, threads):
        """Whether an access recorded for ``owner`` conflicts with one by ``threads``."""
        warp = self.machine.threads + threads // 32
        return (owner != NOBODY) & (owner != threads) & (owner != warp)

    def check(self, site, start, threads, writes, data):
        width = site.bytes
        index = start[:, None] + np.arange(width)
        who = np.broadcast_to(threads[:, None], index.shape)
        bad = self.foreign(self.writer[index], who)
        if writes and data is not None and bad.any():
            bad &= self.machine.shared[index] != data
        if bad.any():
            self.report(site, index[bad][0], who[bad][0], self.write_site, "wrote", writes)
        if not writes:
            return self.note_read(site, index, who)
        bad = self.foreign(self.reader[index], who)
        if data is not None and bad.any():
            bad &= self.machine.shared[index] != data
        if bad.any():
            self.report(site, index[bad][0], who[bad][0], self.read_site, "read", writes)
        self.note_write(site, index, who, data)

    def note_read(self, site, index, who):
        old = self.reader[index]
        self.reader[index] = np.where((old == NOBODY) | (old == who), who, MANY)
        shared = self.reader[index] != who  # several threads of this instruction read the byte
        self.reader[index[shared]] = MANY
        self.read_site[index] = self.number(site)

    def note_write(self, site, index, who, data):
        self.writer[index] = who
        self.write_site[index] = self.number(site)
        twice = self.writer[index] != who
        if data is not None:
            self.image[index] = data
            twice &= self.image[index] != data
        if twice.any():
            self.report(site, index[twice][0], who[twice][0], self.write_site, "wrote", True)

    def report(self, site, byte, thread, sites, did: str, writes: bool):
        machine = self.machine
        other = self.sites[sites[byte]].ins
        cta, offset = divmod(int(byte), machine.shared_size)
        owner = int((self.writer if did == "wrote" else self.reader)[byte])
        whom = (
            "several threads"
            if owner < 0
            else f"tid {machine.thread_name(cta, owner)[1]}"
            if owner < machine.threads
            else f"warp {owner - machine.threads}"
        )
        raise EmulatorFault(
            f"race on shared byte {offset:#x}: {whom} {did} it at line {other.line} ({other.text}) "
            f"with no barrier before this {'write' if writes else 'read'}",
            instruction=site.ins.text, line=site.ins.line, thread=machine.thread_name(cta, thread), address=offset,
        )  # fmt: skip

    def barrier(self, ctas):
        """A CTA barrier: what happened before is ordered."""
        size = self.machine.shared_size
        for array in (self.writer, self.reader):
            array.reshape(-1, size)[ctas] = NOBODY

    def warp_barrier(self, group):
        """bar.warp.sync: accesses by threads of a warp are ordered for that warp."""
        threads = self.machine.threads
        size = self.machine.shared_size
        rows = np.unique(group.cta)
        warps = np.unique(group.tid // 32)
        for array in (self.writer, self.reader):
            part = array.reshape(-1, size)[rows]
            mine = (part >= 0) & (part < threads) & np.isin(part // 32, warps)
            array.reshape(-1, size)[rows] = np.where(mine, threads + part // 32, part)

    # -- bank conflicts ------------------------------------------------------------------------------
    def count(self, site, start, threads):
        """Extra wavefronts: per phase (32, 16 or 8 lanes by width), the most distinct words in one bank, minus one."""
        key = (site.ins.line, site.ins.text)
        machine = self.machine
        cta, offset = np.divmod(start, machine.shared_size)
        lanes = {8: 16, 16: 8}.get(site.bytes, 32)
        phase = (cta * machine.threads + threads) // lanes
        words = (offset[:, None] + np.arange(0, max(site.bytes, 4), 4)) >> 2
        pair = np.unique(np.repeat(phase, words.shape[1]) * (1 << 32) + words.reshape(-1))
        bank = (pair >> 32) * 32 + (pair & 31)
        unique, number = np.unique(bank, return_counts=True)
        worst = np.zeros(int(unique.max() >> 5) + 1, np.int64)
        np.maximum.at(worst, unique >> 5, number)
        self.counters.bank_conflicts[key] = self.counters.bank_conflicts.get(key, 0) + int((worst[worst > 0] - 1).sum())
        self.counters.accesses[key] = self.counters.accesses.get(key, 0) + int((worst > 0).sum())
