"""Threads that wait for an mbarrier, asynchronous copies that complete on one, and the report of a deadlock.

A failed mbarrier.try_wait suspends its group until the mbarrier completes a phase. If no other group can run, the wait of
suspended groups returns false once (the ISA allows a time-out). If nothing has changed by the next time, it is a deadlock. A
bulk copy is performed when a thread tests its mbarrier or no group can run: the latest moment that the ISA allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import DEADLOCK, EmulatorFault, fault_at, fault_of
from ..isa.mbarrier_state_word import describe
from ..ptx.ast import Instruction
from .broadcasting import unique_integers

if TYPE_CHECKING:
    from ..isa.tcgen05_async_queue import Operation

MAX_SHOWN_WAITS = 6  # waits described in a deadlock message
MAX_FAILED_TESTS_ALONE = 2000  # failed mbarrier.test_wait in a row that count as a deadlock if no other group can run
MAX_FAILED_TESTS = 200_000  # the same while other groups run


class InFlight(Protocol):
    """An operation in flight: a copy, or a commit of tensor cores. ``flat``: the threads that have issued it."""

    ins: Instruction
    flat: np.ndarray
    is_performed: bool

    def perform(self, batch) -> None: ...


class InFlightArrival:
    """A commit in flight: it writes no data and only arrives at mbarriers of one CTA, after operations of tensor memory."""

    commit: Operation


class MbarrierWaits:
    """Suspended groups and copies in flight of one batch, by the index of the 8-byte word of their mbarrier."""

    def __init__(self, batch):
        self.batch = batch
        self.sleepers: dict[int, list] = {}
        self.in_flight: list[tuple[frozenset[int], InFlight]] = []  # (mbarriers, copy), in the order of issue
        self.unseen: list[
            tuple[frozenset[int], InFlight]
        ] = []  # performed, but no thread has tested their mbarriers since
        self.revived_at = -1
        self.failed_alone = (0, -1)  # failed tests while no other group could run, and ``changes`` at that time
        self.failures = 0  # failed tests since the last change

    # -- copies --------------------------------------------------------------------------------------
    def add_in_flight(self, positions: np.ndarray | frozenset[int], copy: InFlight) -> None:
        """Add a copy that will complete on the mbarriers at ``positions``."""
        places = positions if isinstance(positions, frozenset) else frozenset(positions.tolist())
        self.in_flight.append((places, copy))

    def perform(self, positions: Iterable[int]) -> bool:
        """Perform the copies in flight that complete on these mbarriers, ordered by mbarrier; returns whether there were any."""
        if not self.in_flight:
            return False
        wanted = frozenset(positions)
        found = [
            (min(wanted & places), i) for i, (places, _) in enumerate(self.in_flight) if not wanted.isdisjoint(places)
        ]
        copies = [self.in_flight[i][1] for _, i in sorted(found)]
        self.in_flight = [entry for entry in self.in_flight if wanted.isdisjoint(entry[0])]
        for _, some in groupby(copies, lambda copy: isinstance(copy, InFlightArrival)):
            completed = list(some)
            if commits := [copy.commit for copy in completed if isinstance(copy, InFlightArrival)]:
                # All at once, because their MMAs may be computed together.
                self.batch.memories.tcgen05_queue.complete_commits(commits)
            for copy in completed:
                copy.perform(self.batch)
        return bool(copies)

    def observe(self, positions: np.ndarray) -> None:
        """Record that threads test these mbarriers, and so observe the copies that completed on them."""
        wanted = frozenset(positions.tolist())
        self.unseen = [entry for entry in self.unseen if wanted.isdisjoint(entry[0])]

    # -- sleepers ------------------------------------------------------------------------------------
    def sleep(self, group, positions) -> None:
        group.asleep = True
        for position in unique_integers(positions).tolist():
            self.sleepers.setdefault(position, []).append(group)

    def completed(self, positions) -> None:
        """Wake the groups that wait for completed phases."""
        if self.sleepers:
            for position in positions.tolist():
                self.wake(self.sleepers.pop(position, ()))

    def wake(self, groups) -> None:
        for group in groups:
            if group.asleep:
                group.asleep = False
                self.batch.scheduler.push(group)

    def make_progress(self) -> bool:
        """If no group can run: perform copies and awaited operations, or let waits time out once. Returns whether a group can run."""
        if self.in_flight:
            before, awaited = self.batch.scheduler.changes, frozenset(self.sleepers)
            copies = [(places, copy) for places, copy in self.in_flight if not isinstance(copy, InFlightArrival)]
            self.unseen += [(places, copy) for places, copy in copies if awaited.isdisjoint(places)]
            self.perform(awaited.union(*(places for places, _ in copies)))
            if self.batch.scheduler.ready or self.batch.scheduler.changes != before:
                return True
        if not self.sleepers or self.revived_at == self.batch.scheduler.changes:
            return False
        self.revived_at = self.batch.scheduler.changes
        sleepers, self.sleepers = self.sleepers, {}
        for groups in sleepers.values():
            for group in groups:
                group.times_out = True
            self.wake(groups)
        return True

    def failed_test(self, group) -> None:
        """Count a failed non-blocking test; report a deadlock after too many without any change."""
        count, changes = self.failed_alone
        alone = not self.batch.scheduler.ready and changes == self.batch.scheduler.changes
        self.failed_alone = (count + 1 if alone else 0, self.batch.scheduler.changes)
        self.failures = self.failures + 1 if changes == self.batch.scheduler.changes else 0
        if self.failed_alone[0] > MAX_FAILED_TESTS_ALONE or self.failures > MAX_FAILED_TESTS:
            self.deadlock([(group, group.pc, "tests an mbarrier in a loop, and no thread completes it")])

    # -- exits ---------------------------------------------------------------------------------------
    def check_exit(self, group) -> None:
        """Check that the bulk copies of exiting threads have read shared memory, and perform their writes."""
        self.batch.scheduler.changes += 1
        copies = [copy for batch in (*group.bulk_copy_groups.groups, group.bulk_copy_groups.pending) for copy in batch]
        unread = [copy for copy in copies if not copy.source_was_read]
        if unread:
            why = "a thread exits before its bulk copy has read shared memory (no wait_group)"
            self.batch.observers.findings.report("exit-before-read", self.unfinished(unread[0], why))
        group.bulk_copy_groups.perform_all(self.batch)

    def check_exited_ctas(self, group) -> None:
        """Check that no copy to the shared memory of exited CTAs is in flight.

        A copy performed by ``make_progress`` still counts as in flight if no thread has tested its mbarrier since.
        """
        in_flight = [*self.in_flight, *self.unseen]
        if not in_flight and self.batch.observers.racecheck is None:
            return
        batch, words = self.batch, self.batch.memories.shared_size // 8
        ctas = unique_integers(group.flat // batch.geometry.threads)
        gone = frozenset(ctas[~batch.scheduler.are_ctas_alive(ctas)].tolist())
        for places, copy in in_flight if gone else ():
            if not gone.isdisjoint(place // words for place in places):
                self.report_outlived(copy)
        if batch.observers.racecheck is not None:
            batch.observers.racecheck.cluster.ctas_exited(gone)

    def report_outlived(self, copy: InFlight) -> None:
        """Raise a fault, or report a finding, for an operation in flight to the shared memory of an exited CTA."""
        if not isinstance(copy, InFlightArrival):
            raise self.unfinished(
                copy, "a CTA exits while this copy to its shared memory is in flight (no thread waits for it)"
            )
        why = "a CTA exits before this arrives at its mbarrier (no thread waits for it)"
        self.batch.observers.findings.report("exit-before-arrival", self.unfinished(copy, why))

    def unfinished(self, copy, why: str) -> EmulatorFault:
        return fault_of(self.batch.geometry, copy.ins, copy.flat[0], why)

    # -- deadlock ------------------------------------------------------------------------------------
    def deadlock(self, more=()) -> None:
        """Raise the fault of a deadlock; the message describes the waits in the cluster of the first waiting CTA."""
        batch = self.batch
        waiting = [
            *self.barriers(),
            *self.mbarriers(),
            *self.cluster_barriers(),
            *self.blocked_groups(),
            *self.groups_awaiting_convergence(),
            *more,
        ]
        first = int(waiting[0][0].flat[0]) // batch.geometry.threads
        cluster = first // batch.geometry.cluster_size
        lines = []
        for group, pc, why in waiting:
            flat = group.flat[group.flat // batch.geometry.threads // batch.geometry.cluster_size == cluster]
            for cta in unique_integers(flat // batch.geometry.threads).tolist():
                tids = flat[flat // batch.geometry.threads == cta] % batch.geometry.threads
                where = batch.program.code[pc]
                who = f"{warps(tids)} of CTA {batch.geometry.thread_name(cta, 0)[0]}"
                lines.append(f"{who} at line {where.line} ({where.text}): {why(cta) if callable(why) else why}")
        group, pc, why = waiting[0]
        head = why(first) if callable(why) else why
        rest = f"; and {len(lines) - MAX_SHOWN_WAITS} more" if len(lines) > MAX_SHOWN_WAITS else ""
        what = f"deadlock: {self.summary(head)} and no other thread can run: {'; '.join(lines[:MAX_SHOWN_WAITS])}{rest}"
        fault_at(batch.geometry, batch.program.code[pc], group.flat[0], what, kind=DEADLOCK)

    @staticmethod
    def summary(why: str) -> str:
        return "threads wait " + why.split(",")[0].removeprefix("waits ")

    def barriers(self):
        """(group, pc, why) of the threads waiting at CTA barriers."""
        batch = self.batch
        for group, barrier, _ in batch.sync.barriers.blocked:
            yield group, group.pc - 1, lambda cta, barrier=barrier: self.barrier_state(cta, barrier)

    def cluster_barriers(self):
        for group in self.batch.sync.clusters.blocked:
            yield group, group.pc - 1, "waits at the cluster's barrier"

    def barrier_state(self, cta: int, barrier: int) -> str:
        batch = self.batch
        arrived, needed = (int(of[cta, barrier]) for of in (batch.sync.barriers.arrived, batch.sync.barriers.needed))
        alive = int(batch.scheduler.alive[cta * batch.geometry.threads : (cta + 1) * batch.geometry.threads].sum())
        return f"waits at barrier {barrier}, where {arrived} of {needed or alive} threads have arrived"

    def mbarriers(self):
        seen = set()
        for position, groups in self.sleepers.items():
            for group in groups:
                if id(group) not in seen:
                    seen.add(id(group))
                    yield group, group.pc, self.mbarrier_state(position)

    def mbarrier_state(self, position: int) -> str:
        batch = self.batch
        cta, word = divmod(position, batch.memories.shared_size // 8)
        return f"waits for the mbarrier at shared {word * 8:#x} of CTA {batch.geometry.thread_name(cta, 0)[0]}, {describe(batch.memories, position)}"

    def blocked_groups(self):
        """Threads blocked by another instruction, for example by an allocation of tensor memory."""
        for group, why in self.batch.scheduler.blocked_groups:
            yield group, group.pc, why

    def groups_awaiting_convergence(self):
        for groups in self.batch.scheduler.waiting_for_convergence.values():
            for group in groups:
                yield group, group.pc, "waits for the other threads of its warp or warpgroup"


def warps(tids) -> str:
    """``warps 0-3, 5`` or, if a warp is incomplete, ``threads 0-30``."""
    tids = np.sort(tids)
    indices, counts = np.unique(tids // 32, return_counts=True)
    word, values = ("warp", indices) if (counts == 32).all() else ("thread", tids)
    edges = np.flatnonzero(np.diff(values) != 1) + 1
    spans = [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in np.split(values, edges)]
    more = f", … ({len(values)} in all)" if len(spans) > 4 else ""
    return f"{word}{'s' if len(values) > 1 else ''} {', '.join(spans[:4])}{more}"
