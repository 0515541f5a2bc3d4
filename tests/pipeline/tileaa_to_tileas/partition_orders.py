"""Other orders for the emulator: warps that compute held back, to see how far the other agents get alone, and any order."""

from __future__ import annotations

import random

from tileiras_build.simulate.emulator.isa.tcgen05_instructions import TensorMemoryAccess
from tileiras_build.simulate.emulator.isa.tcgen05_mma import Tcgen05Mma
from tileiras_build.simulate.emulator.memory.tensor_memory import TensorMemory
from tileiras_build.simulate.emulator.simt.cta_batch import CtaBatch
from tileiras_build.simulate.emulator.simt.reconvergence import reconverge


def hold_computing_warps(monkeypatch, warps: int) -> list[str]:
    """From the first product on, the first ``warps`` warps of each CTA wait until nobody else can go on; then all run.

    What is done is added to the list: a ``product`` that is complete, a ``load`` of its sum.
    """
    done: list[str] = []
    held: list = []
    free = False
    next_group, complete, load, issue = (
        CtaBatch.next_group,
        TensorMemory.complete,
        TensorMemoryAccess.load,
        TensorMemory.issue,
    )
    issued: list[Tcgen05Mma] = []

    def choose(machine):
        nonlocal free
        while True:
            if held and not machine.ready and not machine.waits.make_progress() and not all_land(machine):
                free = True
                while held:
                    machine.push(held.pop())
            group = next_group(machine)
            computes = group is not None and int(group.tid.min()) < 32 * warps
            if free or not issued or not computes:
                return group
            held.append(group)

    def all_land(machine) -> bool:
        """What is issued is done, whether somebody waits for it or not; whether somebody can run now."""
        machine.waits.land(frozenset().union(*(places for places, _ in machine.waits.flying)))
        return bool(machine.ready)

    def note_issue(memory, operation):
        issue(memory, operation)
        if isinstance(operation, Tcgen05Mma):
            issued.append(operation)

    def note_completion(memory, operation):
        complete(memory, operation)
        if isinstance(operation, Tcgen05Mma):
            done.append("product")

    def note_load(transfer, group, address):
        done.append("load")
        return load(transfer, group, address)

    monkeypatch.setattr(CtaBatch, "next_group", choose)
    monkeypatch.setattr(TensorMemory, "issue", note_issue)
    monkeypatch.setattr(TensorMemory, "complete", note_completion)
    monkeypatch.setattr(TensorMemoryAccess, "load", note_load)
    return done


def shuffle_agents(monkeypatch, seed: int) -> None:
    """Whoever can go on may be the next to do so, for a few blocks."""
    choice = random.Random(seed).choice
    next_group = CtaBatch.next_group

    def choose(machine):
        if len(machine.ready) < 2:
            return next_group(machine)
        groups = machine.ready.pop(choice(sorted(machine.ready)))
        machine.quantum = choice((1, 3, 10))
        return groups[0] if len(groups) == 1 else reconverge(machine, groups)

    monkeypatch.setattr(CtaBatch, "next_group", choose)
