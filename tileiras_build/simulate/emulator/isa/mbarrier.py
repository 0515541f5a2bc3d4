"""mbarrier objects: counted phases in shared memory (PTX ISA 9.0, section 9.7.13.15).

The emulator's layout of the opaque 64 bits: expected arrivals 0-19, pending arrivals 20-39, pending transaction bytes 40-62
(biased by 2^22), phase 63. Table 33 there has the limits of the counts.
"""

from __future__ import annotations

import numpy as np

from ..errors import fault_at
from ..memory.load_store import Site
from ..native import mbarrier_arrive
from ..native.native_code import is_ready
from ..ptx.ast import SINK, Address, Register
from ..simt.broadcasting import are_all, broadcast_int64, is_any, run_starts, unique_integers
from ..simt.thread_group import MBARRIER_WAIT, SchedulerEvent, is_uniform_per_cta
from ..simt.thread_selection import first_threads, flat_threads, selected
from .handler_registry import handles, helper
from .ld_st import address_expression
from .mbarrier_state_word import COUNT_LIMIT, describe, initial, pack, pending_tx, unpack

ACQUIRES_IN_CLUSTER = {"acquire", "cluster"}
_u64, _TRUE, _NONE = np.uint64, np.bool_(True), np.zeros(1, np.int64)


def arrive_and_expect_tx(batch, ins, positions, flat, arrivals, tx, drop: bool = False, clocks=None) -> np.ndarray:
    """Arrive at mbarriers and add to their expected bytes; returns the old states.

    ``positions`` (n) are indices of 64-bit words of the batch's shared memory, with repetitions; ``flat`` (n) are the
    threads; ``arrivals`` and ``tx`` (n) their increments. All threads arrive at once unless that would exceed the phase;
    then they arrive one by one. ``clocks``: the vector clocks of asynchronous operations (``racecheck_shared_memory.py``).
    """
    if batch.observers.racecheck is not None:
        if clocks is not None and np.any(arrivals):
            batch.observers.racecheck.mbarriers.committed(ins, positions, flat, clocks)
        elif clocks is not None:
            batch.observers.racecheck.mbarriers.copies_performed(positions, clocks)
        elif np.any(arrivals):
            batch.observers.racecheck.mbarriers.arrived(ins, positions, flat, "relaxed" in ins.mods)
    for at_once in (arrive_natively, arrive_runs_natively):
        if (before := at_once(batch, positions, arrivals, tx, drop)) is not None:
            return before
    places, which = np.unique(positions, return_inverse=True)
    if len(places) == len(positions):
        return arrive_at_distinct(batch, ins, positions, flat, arrivals, tx, drop)
    total, bytes_ = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
    np.add.at(total, which, arrivals)
    np.add.at(bytes_, which, tx)
    _, pending, _, _ = unpack(batch.memories.shared_view(_u64)[places])
    if is_any(too_many := total > pending):
        if batch.observers.racecheck is not None and clocks is None:
            batch.observers.racecheck.mbarriers.phase_overfilled(
                ins, positions, flat, int(places[int(np.argmax(too_many))])
            )
        return arrive_one_by_one(batch, ins, positions, flat, arrivals, tx, drop)
    first = np.zeros(len(places), np.int64)
    first[which[::-1]] = flat[::-1]
    return arrive_at_distinct(batch, ins, places, first, total, bytes_, drop)[which]


def arrive_natively(batch, positions, arrivals, tx, drop) -> np.ndarray | None:
    """``arrive_and_expect_tx`` by native code; None if NumPy must do it, or report the fault."""
    if batch.observers.racecheck is not None or not len(positions) or not is_ready():
        return None
    places = np.ascontiguousarray(positions, np.int64)
    view, before = batch.memories.shared_view(_u64), np.empty(len(places), _u64)
    arrivals, tx = (np.ascontiguousarray(value, np.int64).reshape(-1) for value in (arrivals, tx))
    result = mbarrier_arrive.arrive_and_expect_tx(view, places, arrivals, tx, drop, before)
    if result == mbarrier_arrive.REFUSED:
        return None
    batch.scheduler.changes += 1
    if result == mbarrier_arrive.COMPLETED and batch.sync.waits.sleepers:
        batch.sync.waits.completed(places[(view[places] ^ before) >> _u64(63) != 0])
    return before


def arrive_runs_natively(batch, positions, arrivals, tx, drop) -> np.ndarray | None:
    """Like ``arrive_natively``, for runs of threads with the same mbarrier."""
    if batch.observers.racecheck is not None or len(positions) < 2 or not is_ready():
        return None
    is_first = run_starts(positions)
    starts = np.flatnonzero(is_first)
    if len(starts) == len(positions):
        return None
    arrivals, tx = (np.add.reduceat(broadcast_int64(value, len(positions)), starts) for value in (arrivals, tx))
    before = arrive_natively(batch, positions[starts], arrivals, tx, drop)
    return None if before is None else before[np.cumsum(is_first) - 1]


def arrive_one_by_one(batch, ins, positions, flat, arrivals, tx, drop):
    out = np.empty(len(positions), _u64)
    arrivals, tx = np.broadcast_to(arrivals, len(positions)), np.broadcast_to(tx, len(positions))
    for i in range(len(positions)):
        some = slice(i, i + 1)
        out[i] = arrive_at_distinct(batch, ins, positions[some], flat[some], arrivals[some], tx[some], drop)[0]
    return out


def arrive_at_distinct(batch, ins, places, flat, arrivals, tx, drop):
    """``arrive_and_expect_tx`` for distinct mbarriers."""
    view = batch.memories.shared_view(_u64)
    before = view[places]
    expected, pending, bytes_, phase = unpack(before)
    left, bytes_ = pending - arrivals, bytes_ + tx
    check(batch, ins, places, flat, before, left, bytes_)
    if drop:
        expected = expected - arrivals
    done = (left == 0) & (bytes_ == 0)
    view[places] = pack(expected, np.where(done, expected, left), bytes_, phase ^ done)
    batch.scheduler.changes += 1
    if is_any(done):
        if batch.observers.racecheck is not None:
            batch.observers.racecheck.mbarriers.completed(ins, places[done], flat[done])
        batch.sync.waits.completed(places[done])
    return before


def check(batch, ins, places, flat, before, left, bytes_):
    _, _, old, _ = unpack(before)
    for bad, why in (
        (np.abs(old) > COUNT_LIMIT, "the mbarrier is not initialized"),
        (left < 0, "more arrivals than the mbarrier's phase expects"),
        (np.abs(bytes_) > COUNT_LIMIT, f"the transaction count of the mbarrier exceeds its range (±{COUNT_LIMIT})"),
    ):
        if is_any(bad):
            at = int(np.flatnonzero(bad)[0])
            word = int(places[at]) % (batch.memories.shared_size // 8)
            why = f"{why}: it is {describe(batch.memories, places[at])}"
            fault_at(batch.geometry, ins, flat[at], why, 8 * word)


class MbarrierSite:
    """The mbarrier operand of one instruction."""

    def __init__(self, ins, offset: int):
        self.ins, self.site = ins, Site(ins, "shared", 8, 1, offset)

    def where(self, group, address, selection):
        """(indices of 64-bit words, flat threads) of the selected threads; read-only."""
        key = None
        if selection.of and isinstance(address, np.generic) and group.geometry.cluster_size == 1:
            key = self, selection.of, int(address)
            if (found := group.memo.get(key)) is not None:
                return found
        place = self.site.in_shared(group, selection.pick(address), selection)
        found = broadcast_int64(place.index(8), len(selection.rows)), flat_threads(group, selection)
        if key is not None:
            group.memo[key] = found
        return found

    def init(self, group, address, count, mask):
        selection = selected(group, mask)
        index, flat = self.where(group, address, selection)
        words = group.memories.shared_view(_u64)
        if isinstance(count, np.generic) and 1 <= int(count) <= COUNT_LIMIT:
            words[index] = initial(int(count))
        else:
            words[index] = self.initial_state_words(group, broadcast_int64(selection.pick(count), len(index)))
        group.scheduler.changes += 1
        if group.observers.racecheck is not None:
            group.observers.racecheck.mbarriers.initialised(self.ins, index, flat)

    def initial_state_words(self, group, counts: np.ndarray) -> np.ndarray:
        bad = (counts < 1) | (counts > COUNT_LIMIT)
        if is_any(bad):
            self.site.fault(
                group, f"invalid arrival count {counts[bad][0]} of an mbarrier: expected 1 to {COUNT_LIMIT}"
            )
        return pack(counts, counts, _NONE, _NONE)

    def invalidate(self, group, address, mask):
        selection = selected(group, mask)
        index, _ = self.where(group, address, selection)
        group.memories.shared_view(_u64)[index] = _u64(0xFFFFFFFFFFFFFFFF)

    def arrive(self, group, address, count, tx, mask, drop=False):
        """Arrive (and expect bytes); returns the old states."""
        if mask is None and (before := self.arrive_whole_ctas(group, address, count, tx, drop)) is not None:
            return before
        selection = selected(group, mask)
        out = np.zeros(group.shape, _u64)
        if not len(selection.rows):
            return out
        index, flat = self.where(group, address, selection)
        if group.observers.racecheck is not None:
            group.observers.racecheck.mbarriers.used(self.ins, index, flat)
        counts, bytes_ = (broadcast_int64(selection.pick(value), len(index)) for value in (count, tx))
        out[selection.rows, selection.columns] = arrive_and_expect_tx(
            group, self.ins, index, flat, counts, bytes_, drop
        )
        return out

    def arrive_whole_ctas(self, group, address, count, tx, drop: bool) -> np.ndarray | None:
        """Like ``arrive``, for all threads of CTAs with one mbarrier each; None if they may exceed the phase."""
        operands = (address, count, tx)
        if (
            group.shape[1] == 1
            or group.observers.racecheck is not None
            or not group.is_rectangular
            or not all(map(is_uniform_per_cta, operands))
        ):
            return None
        selection, threads = first_threads(group), group.shape[1]
        index, _ = self.where(group, address, selection)
        arrivals, bytes_ = (broadcast_int64(selection.pick(value), len(index)) * threads for value in (count, tx))
        before = arrive_natively(group, index, arrivals, bytes_, drop)
        return None if before is None else before[:, None]

    def test(self, group, address, state, parity, mask, sleeps=False):
        """Whether the phase of a state (or parity) has completed; a SchedulerEvent if the group must be suspended."""
        if (
            mask is None
            and group.observers.racecheck is None
            and group.observers.cta_racecheck is None
            and group.is_rectangular
            and is_uniform_per_cta(address)
            and is_uniform_per_cta(state)
        ):
            selection, shape = first_threads(group), (group.shape[0], 1)
            if self.have_all_completed(group, address, state, parity, selection):
                return _TRUE
        else:
            selection, shape = selected(group, mask), group.shape
        out = np.zeros(shape, bool)
        if not len(selection.rows):
            return out
        index, flat = self.where(group, address, selection)
        if group.observers.racecheck is not None:
            group.observers.racecheck.mbarriers.used(self.ins, index, flat)
        if group.sync.waits.unseen:
            group.sync.waits.observe(index)
        wanted = np.asarray(selection.pick(state)).astype(_u64)
        wanted = wanted & _u64(1) if parity else wanted >> _u64(63)
        words = group.memories.shared_view(_u64)[index]
        if is_any(np.abs(pending_tx(words)) > COUNT_LIMIT):
            check(group, self.ins, index, flat, words, 0 * index, 0 * index)
        done = words >> _u64(63) != wanted
        if not are_all(done):
            if group.sync.waits.perform(index[~done].tolist()):
                done = group.memories.shared_view(_u64)[index] >> _u64(63) != wanted
            if not are_all(done):
                event = self.wait(group, selection, np.ones_like(out), index, done, sleeps)
                if event is not None:
                    return event
        self.observe_acquired(group, index[done], flat[done])
        out[selection.rows, selection.columns] = done
        return out

    def observe_acquired(self, group, index, flat) -> None:
        """Tell racecheck that the waits of threads ``flat`` (n) have returned."""
        observers, geometry = group.observers, group.geometry
        if observers.racecheck is not None:
            observers.racecheck.mbarriers.acquired(index, flat, "relaxed" in self.ins.mods)
        if observers.cta_racecheck is not None and ACQUIRES_IN_CLUSTER.issubset(self.ins.mods):
            clusters = unique_integers(flat // (geometry.threads * geometry.cluster_size))
            observers.cta_racecheck.synchronize(geometry, clusters)

    def have_all_completed(self, group, address, state, parity: bool, selection) -> bool:
        """Whether native code finds that the phase of all threads has completed in every CTA; False requires a full test."""
        if not isinstance(state, np.generic) or not is_ready():
            return False
        (index, _), view = self.where(group, address, selection), group.memories.shared_view(_u64)
        if group.sync.waits.unseen:
            group.sync.waits.observe(index)
        wanted = int(state) & 1 if parity else int(state) >> 63
        found = mbarrier_arrive.phases_completed(view, index, wanted)
        if found is False and group.sync.waits.perform(index[view[index] >> _u64(63) == _u64(wanted)].tolist()):
            found = mbarrier_arrive.phases_completed(view, index, wanted)
        return bool(found)

    def wait(self, group, selection, ready, index, done, sleeps):
        """Handle failed tests: a SchedulerEvent, or None if the instruction returns false. ``ready``: ones, per thread or CTA."""
        if not sleeps:
            return group.sync.waits.failed_test(group)
        if group.times_out:
            group.times_out = False
            return None
        ready[selection.rows, selection.columns] = done
        return SchedulerEvent(MBARRIER_WAIT, ready, index[~done])


@handles("mbarrier")
def handle_mbarrier(e, ins):
    form = ins.mods[0]
    if form == "pending_count":
        return e.set(ins.args[0], "u32", f"(({e.use(ins.args[1], 'u64')} >> u64(20)) & u64(0xFFFFF)).astype(u32)")
    address = next(a for a in ins.args if isinstance(a, Address))
    rest = ins.args[ins.args.index(address) + 1 :]
    space = "shared" if any(m.startswith("shared") for m in ins.mods) else "generic"
    base, offset = address_expression(e, space, address)
    site = e.constant(MbarrierSite(ins, offset), "mbarrier")
    mask = e.predicate or "None"
    if form == "inval":
        return e.line(f"{site}.invalidate(g, {base}, {mask})")
    if form == "init":
        return e.line(f"{site}.init(g, {base}, {e.use(rest[0], 'u32')}, {mask})")
    if form in ("expect_tx", "complete_tx"):
        tx = e.use(rest[0], "s32")
        return e.line(f"{site}.arrive(g, {base}, 0, {tx if form == 'expect_tx' else f'-({tx})'}, {mask})")
    if form in ("arrive", "arrive_drop"):
        return emit_arrive(e, ins, form, site, base, rest, mask)
    if form in ("test_wait", "try_wait"):
        return emit_wait(e, ins, form, site, base, rest, mask)
    e.fail()


def emit_arrive(e, ins, form, site, base, rest, mask):
    expect = "expect_tx" in ins.mods
    tx = e.use(rest[0], "s32") if expect else "0"
    count = "1" if expect or not rest else e.use(rest[0], "u32")
    call = f"{site}.arrive(g, {base}, {count}, {tx}, {mask}, {form == 'arrive_drop'})"
    if isinstance(ins.args[0], Register) and ins.args[0] is not SINK:
        return e.set(ins.args[0], "u64", call)
    e.line(call)


def emit_wait(e, ins, form, site, base, rest, mask):
    """A try_wait starts its function (``starts_function``), so that the group can be suspended there and retry."""
    parity = "parity" in ins.mods
    state = e.use(rest[0], "u32" if parity else "u64")
    sleeps = form == "try_wait"
    done = e.temp(f"{site}.test(g, {base}, {state}, {parity}, {mask}, {sleeps})")
    if sleeps:
        e.line(f"if type({done}) is SchedulerEvent: return {done}")
    e.set(ins.args[0], "p", done)


@helper
def arrive_after_copies(site, group, address, count, mask):
    """cp.async.mbarrier.arrive: perform the thread's earlier copies, then arrive."""
    group.cp_async_groups.perform_all(group)
    if count:
        site.arrive(group, address, count, 0, mask)
