"""st.async and red.async: stores to a cluster's shared memory that complete bytes on an mbarrier.

See PTX ISA 9.0, sections 9.7.9.12 and 9.7.13.8. Like bulk copies, they are performed when a thread tests the mbarrier.
"""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import UNSIGNED, vector_items
from ..memory.load_store import Site
from ..simt.thread_selection import Selection, flat_threads
from .atomic import AtomicSite, handle_atomic
from .handler_registry import handles
from .ld_st import access_shape, address_expression, handle_store
from .mbarrier import arrive_and_expect_tx


class PendingAsyncStore:
    """Stores in flight to elements ``index`` (n) of the batch's shared memory."""

    def __init__(self, site, flat, index, values, positions):
        self.site, self.ins, self.flat, self.index = site, site.ins, flat, index
        self.values, self.positions, self.is_performed, self.clocks = values, positions, False, None

    def perform(self, batch) -> None:
        if self.is_performed:
            return
        self.is_performed = True
        self.site.write(batch, self.index, self.values)
        self.site.arrive(batch, self.index)
        bytes_ = np.full(len(self.flat), -self.site.bytes, np.int64)
        arrive_and_expect_tx(batch, self.ins, self.positions, self.flat, 0 * bytes_, bytes_, clocks=self.clocks)


class AsyncStoreSite:
    """One st.async or red.async of ``count`` elements of ``size`` bytes."""

    def __init__(self, ins, size: int, count: int, offset: int, mbar_offset: int, atomic: AtomicSite | None = None):
        self.ins, self.size, self.count, self.bytes, self.atomic = ins, size, count, size * count, atomic
        self.target = Site(ins, "shared", size, count, offset)
        self.mbarrier = Site(ins, "shared", 8, 1, mbar_offset)

    def issue(self, group, address, values, mbar, mask=None):
        selection = Selection(group, True if mask is None else mask)
        n = len(selection.rows)
        if not n:
            return
        index = self.target.in_shared(group, selection.pick(address), selection).index(self.size)
        positions = self.mbarrier.in_shared(group, selection.pick(mbar), selection).index(8)
        words = group.memories.shared_size
        if np.any(index * self.size // words != positions * 8 // words):
            self.target.fault(group, "the mbarrier is not in the destination CTA of the store")
        picked = [np.broadcast_to(selection.pick(v), n) for v in values]
        flat = flat_threads(group, selection)
        positions = np.broadcast_to(positions, n)
        store = PendingAsyncStore(self, flat, np.broadcast_to(index, n), picked, positions)
        if group.observers.racecheck is not None:
            store.clocks = group.observers.racecheck.shared_memory.issue_copies(positions, flat)
        self.mark_in_flight(group, store.index)
        group.sync.waits.add_in_flight(positions, store)

    def mark_in_flight(self, batch, index) -> None:
        """Mark the elements written by st.async as in flight; reductions are exempt, because they may overlap."""
        if self.atomic is None:
            for i in range(self.count):
                batch.observers.require_async_copy_marks().mark_written(self.ins, index + i, self.size)

    def arrive(self, batch, index) -> None:
        if self.atomic is None:
            for i in range(self.count):
                batch.observers.async_copy_marks.clear(index + i, self.size)

    def write(self, batch, index, values):
        view = batch.memories.shared_view(self.target.dtype)
        if self.atomic is not None:
            self.atomic.apply(view, index, values[0], None)
            return
        for i, value in enumerate(values):
            view[index + i] = value


@handles("st")
def handle_st_or_st_async(e, ins):
    if ins.mods[0] != "async":
        return handle_store(e, ins)
    _, size, count = access_shape(ins)
    emit_st_async(e, ins, size, count, None)


@handles("red")
def handle_red_or_red_async(e, ins):
    if ins.mods[0] != "async":
        return handle_atomic(e, ins)
    _, size, count = access_shape(ins)
    name = next((m for m in ins.mods if m in ("add", "min", "max", "inc", "dec", "and", "or", "xor")), None)
    if name is None:
        e.fail("unknown operation")
    emit_st_async(e, ins, size, count, AtomicSite(ins, "shared", name, ins.mods[-1], 1, 0))


def emit_st_async(e, ins, size: int, count: int, atomic):
    if "global" in ins.mods:
        e.fail("not supported")
    address, value, mbar = ins.args
    base, offset = address_expression(e, "shared", address)
    bar, bar_offset = address_expression(e, "shared", mbar)
    site = e.constant(AsyncStoreSite(ins, size, count, offset, bar_offset, atomic), "remote")
    values = ", ".join(e.use(v, UNSIGNED[size * 8]) for v in vector_items(value))
    e.line(f"{site}.issue(g, {base}, [{values}], {bar}, {e.predicate or 'None'})")
