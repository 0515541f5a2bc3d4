"""Other orders for the emulator: warps that compute held back, to see how far the other partitions get alone, and any order."""

from __future__ import annotations

import random

from tileiras_build.simulate.emulator.isa.tcgen05_async_queue import Tcgen05AsyncQueue
from tileiras_build.simulate.emulator.isa.tcgen05_instructions import TensorMemoryAccess
from tileiras_build.simulate.emulator.isa.tcgen05_mma import Tcgen05Mma
from tileiras_build.simulate.emulator.simt.merge_thread_groups import reconverge
from tileiras_build.simulate.emulator.simt.scheduler import Scheduler


def hold_computing_warps(monkeypatch, warps: int) -> list[str]:
    """From the first MMA on, the first ``warps`` warps of each CTA wait until nobody else can go on; then all run.

    What is done is added to the list: an ``mma`` that is complete, a ``load`` of its accumulator.
    """
    done: list[str] = []
    held: list = []
    free = False
    next_group, complete, load, issue = (
        Scheduler.next_group,
        Tcgen05AsyncQueue.complete,
        TensorMemoryAccess.load,
        Tcgen05AsyncQueue.issue,
    )
    issued: list[Tcgen05Mma] = []

    def choose(scheduler):
        nonlocal free
        while True:
            if (
                held
                and not scheduler.ready
                and not scheduler.sync.waits.make_progress()
                and not complete_copies(scheduler)
            ):
                free = True
                while held:
                    scheduler.push(held.pop())
            group = next_group(scheduler)
            computes = group is not None and int(group.tid.min()) < 32 * warps
            if free or not issued or not computes:
                return group
            held.append(group)

    def complete_copies(scheduler) -> bool:
        """What is issued is done, whether somebody waits for it or not; whether somebody can run now."""
        scheduler.sync.waits.perform(frozenset().union(*(places for places, _ in scheduler.sync.waits.in_flight)))
        return bool(scheduler.ready)

    def note_issue(queue, operation):
        issue(queue, operation)
        if isinstance(operation, Tcgen05Mma):
            issued.append(operation)

    def note_completion(queue, operation):
        complete(queue, operation)
        if isinstance(operation, Tcgen05Mma):
            done.append("mma")

    def note_load(transfer, group, address):
        done.append("load")
        return load(transfer, group, address)

    monkeypatch.setattr(Scheduler, "next_group", choose)
    monkeypatch.setattr(Tcgen05AsyncQueue, "issue", note_issue)
    monkeypatch.setattr(Tcgen05AsyncQueue, "complete", note_completion)
    monkeypatch.setattr(TensorMemoryAccess, "load", note_load)
    return done


def shuffle_partitions(monkeypatch, seed: int) -> None:
    """Whoever can go on may be the next to do so, for a few blocks."""
    choice = random.Random(seed).choice
    next_group = Scheduler.next_group

    def choose(scheduler):
        if len(scheduler.ready) < 2:
            return next_group(scheduler)
        groups = scheduler.ready.pop(choice(sorted(scheduler.ready)))
        scheduler.quantum = choice((1, 3, 10))
        return groups[0] if len(groups) == 1 else reconverge(groups)

    monkeypatch.setattr(Scheduler, "next_group", choose)
