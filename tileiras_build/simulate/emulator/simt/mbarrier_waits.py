"""Threads that wait for an mbarrier, asynchronous copies that will complete one, and what to say when nobody can run.

A failed mbarrier.try_wait puts its group to sleep until the mbarrier completes a phase. When nobody else can run,
sleepers see their wait fail once (the ISA lets it time out); if nothing has changed the next time, it is a deadlock.
A bulk copy is performed when a thread tests its mbarrier or no group can run: the latest moment that the ISA allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import DEADLOCK, EmulatorFault
from ..isa.mbarrier_state_word import describe
from ..ptx.ast import Instruction
from .broadcasting import unique_integers

if TYPE_CHECKING:
    from ..memory.tensor_memory import Operation

MAX_SHOWN_WAITS = 6  # waits that a deadlock message describes
MAX_FAILED_TESTS_ALONE = 2000  # failed mbarrier.test_wait in a row, with nobody else to run, that make a deadlock
MAX_FAILED_TESTS = 200_000  # the same with others that run


class InFlight(Protocol):
    """What is on its way: copies, and commits of tensor cores. ``flat``: the threads that have issued it."""

    ins: Instruction
    flat: np.ndarray
    is_performed: bool

    def perform(self, batch) -> None: ...


class InFlightArrival:
    """What is on its way and brings no data, only an arrival at mbarriers of one CTA, behind operations of tensor memory."""

    commit: Operation


class MbarrierWaits:
    """Sleepers and copies in flight of one batch, by the index of the 8-byte word of their mbarrier."""

    def __init__(self, batch):
        self.batch = batch
        self.sleepers: dict[int, list] = {}
        self.flying: list[tuple[frozenset[int], InFlight]] = []  # (mbarriers, copy), in the order of issue
        self.unseen: list[
            tuple[frozenset[int], InFlight]
        ] = []  # performed, at whose mbarriers no thread has looked yet
        self.revived_at = -1
        self.fruitless = (0, -1)  # failed tests with nobody else to run, and ``changes`` then
        self.failures = 0  # failed tests since the last change, whoever runs

    # -- copies --------------------------------------------------------------------------------------
    def add_in_flight(self, positions: np.ndarray | frozenset[int], copy: InFlight) -> None:
        """``copy.perform(batch)`` completes bytes on the mbarriers at ``positions``."""
        places = positions if isinstance(positions, frozenset) else frozenset(positions.tolist())
        self.flying.append((places, copy))

    def perform(self, positions: Iterable[int]) -> bool:
        """Finish the copies in flight towards these mbarriers, of the first one first; whether there were any."""
        if not self.flying:
            return False
        wanted = frozenset(positions)
        found = [
            (min(wanted & places), i) for i, (places, _) in enumerate(self.flying) if not wanted.isdisjoint(places)
        ]
        copies = [self.flying[i][1] for _, i in sorted(found)]
        self.flying = [entry for entry in self.flying if wanted.isdisjoint(entry[0])]
        for _, some in groupby(copies, lambda copy: isinstance(copy, InFlightArrival)):
            completed = list(some)
            if commits := [copy.commit for copy in completed if isinstance(copy, InFlightArrival)]:
                self.batch.memories.tensor_memory.complete_commits(
                    commits
                )  # at once: what leads to them may be carried out together
            for copy in completed:
                copy.perform(self.batch)
        return bool(copies)

    def observe(self, positions: np.ndarray) -> None:
        """Threads test these mbarriers, and so observe the copies that were performed there."""
        wanted = frozenset(positions.tolist())
        self.unseen = [entry for entry in self.unseen if wanted.isdisjoint(entry[0])]

    # -- sleepers ------------------------------------------------------------------------------------
    def sleep(self, group, positions) -> None:
        group.asleep = True
        for position in unique_integers(positions).tolist():
            self.sleepers.setdefault(position, []).append(group)

    def completed(self, positions) -> None:
        """Phases have completed: wake the groups that wait for them."""
        if self.sleepers:
            for position in positions.tolist():
                self.wake(self.sleepers.pop(position, ()))

    def wake(self, groups) -> None:
        for group in groups:
            if group.asleep:
                group.asleep = False
                self.batch.scheduler.push(group)

    def make_progress(self) -> bool:
        """Nobody can run: land copies and what sleepers wait for, or let their waits fail once. Whether somebody can run now."""
        if self.flying:
            before, awaited = self.batch.scheduler.changes, frozenset(self.sleepers)
            copies = [(places, copy) for places, copy in self.flying if not isinstance(copy, InFlightArrival)]
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
        """A non-blocking test failed; with nobody else to run and nothing changing, that cannot go on."""
        count, changes = self.fruitless
        alone = not self.batch.scheduler.ready and changes == self.batch.scheduler.changes
        self.fruitless = (count + 1 if alone else 0, self.batch.scheduler.changes)
        self.failures = self.failures + 1 if changes == self.batch.scheduler.changes else 0
        if self.fruitless[0] > MAX_FAILED_TESTS_ALONE or self.failures > MAX_FAILED_TESTS:
            self.deadlock([(group, group.pc, "tests an mbarrier in a loop that nobody completes")])

    # -- exits ---------------------------------------------------------------------------------------
    def check_exit(self, group) -> None:
        """Threads exit: their bulk copies must have read shared memory; they write at the latest now."""
        self.batch.scheduler.changes += 1
        copies = [copy for batch in (*group.bulk_copy_groups.groups, group.bulk_copy_groups.pending) for copy in batch]
        unread = [copy for copy in copies if not copy.source_was_read]
        if unread:
            why = "a thread exits before its bulk copy has read shared memory (no wait_group)"
            self.batch.observers.findings.report("exit-before-read", self.unfinished(unread[0], why))
        group.bulk_copy_groups.perform_all(self.batch)

    def check_gone(self, group) -> None:
        """Threads have exited: nothing may be on its way to the shared memory of CTAs that are gone with them.

        A copy that landed while nobody could run may as well land later, if nobody has looked at its mbarrier since.
        """
        in_flight = [*self.flying, *self.unseen]
        if not in_flight and self.batch.observers.racecheck is None:
            return
        batch, words = self.batch, self.batch.memories.shared_size // 8
        ctas = unique_integers(group.flat // batch.geometry.threads)
        gone = frozenset(ctas[~batch.scheduler.are_ctas_alive(ctas)].tolist())
        for places, copy in in_flight if gone else ():
            if not gone.isdisjoint(place // words for place in places):
                self.report_outlived(copy)
        if batch.observers.racecheck is not None:
            batch.observers.racecheck.ctas_exited(gone)

    def report_outlived(self, copy: InFlight) -> None:
        """Fault, or report, what is on its way to shared memory that nobody has any more."""
        if not isinstance(copy, InFlightArrival):
            raise self.unfinished(
                copy, "a CTA ends while this copy to its shared memory is in flight (nobody waits for it)"
            )
        why = "a CTA ends before this arrives at its mbarrier (nobody waits for it)"
        self.batch.observers.findings.report("exit-before-arrival", self.unfinished(copy, why))

    def unfinished(self, copy, why: str) -> EmulatorFault:
        cta, tid = divmod(int(copy.flat[0]), self.batch.geometry.threads)
        thread = self.batch.geometry.thread_name(cta, tid)
        return EmulatorFault(why, instruction=copy.ins.text, line=copy.ins.line, thread=thread)

    # -- deadlock ------------------------------------------------------------------------------------
    def deadlock(self, more=()) -> None:
        """Fault: nobody can run. Describes who of the first waiting CTA's cluster waits where."""
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
        cta, tid = divmod(int(group.flat[0]), batch.geometry.threads)
        head = why(cta) if callable(why) else why
        rest = f"; and {len(lines) - MAX_SHOWN_WAITS} more" if len(lines) > MAX_SHOWN_WAITS else ""
        ins = batch.program.code[pc]
        raise EmulatorFault(
            f"deadlock: {self.summary(head)} and no other thread can run: {'; '.join(lines[:MAX_SHOWN_WAITS])}{rest}",
            instruction=ins.text, line=ins.line, thread=batch.geometry.thread_name(cta, tid), kind=DEADLOCK,
        )  # fmt: skip

    @staticmethod
    def summary(why: str) -> str:
        return "threads wait " + why.split(",")[0].removeprefix("waits ")

    def barriers(self):
        """(group, pc, why) of the threads at CTA barriers."""
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
        return f"waits for the mbarrier at shared {word * 8:#x} of CTA {batch.geometry.thread_name(cta, 0)[0]}, {describe(batch, position)}"

    def blocked_groups(self):
        """Threads stopped by an instruction that waits for something else, such as tensor memory."""
        for group, why in self.batch.scheduler.blocked_groups:
            yield group, group.pc, why

    def groups_awaiting_convergence(self):
        for groups in self.batch.scheduler.waiting_for_convergence.values():
            for group in groups:
                yield group, group.pc, "waits for the other threads of its warp or warpgroup"


def warps(tids) -> str:
    """``warps 0-3, 5`` or, where some of a warp are missing, ``threads 0-30``."""
    tids = np.sort(tids)
    numbers, counts = np.unique(tids // 32, return_counts=True)
    word, values = ("warp", numbers) if (counts == 32).all() else ("thread", tids)
    edges = np.flatnonzero(np.diff(values) != 1) + 1
    spans = [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in np.split(values, edges)]
    more = f", … ({len(values)} in all)" if len(spans) > 4 else ""
    return f"{word}{'s' if len(values) > 1 else ''} {', '.join(spans[:4])}{more}"
