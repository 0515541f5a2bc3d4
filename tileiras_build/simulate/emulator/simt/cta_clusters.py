"""Clusters: which CTAs form one, where they lie in the grid, and their barrier (PTX ISA 9.0, sections 2.2.2, 9.7.13.4).

The CTAs of a batch are numbered cluster after cluster, by rank within each; a cluster is never split over batches.
An address of shared memory holds the rank of its CTA from bit 24 (``RANK_SHIFT``), in clusters of several CTAs.
"""

from __future__ import annotations

import numpy as np

from ..errors import EmulatorError, fault_at

RANK_SHIFT = 24
RANK_MASK = 0xFF
OFFSET_MASK = (1 << RANK_SHIFT) - 1
MAX_CTAS_PER_CLUSTER = 16  # CTAs of a cluster, the non-portable limit
_IDLE, _ARRIVED, _COMPLETE = 0, 1, 2


def check_shape(shape, grid) -> None:
    """Whether a grid can be launched in clusters of a shape."""
    size = int(np.prod(shape))
    if not 1 <= size <= MAX_CTAS_PER_CLUSTER:
        raise EmulatorError(f"a cluster of {size} CTAs: 1 to {MAX_CTAS_PER_CLUSTER} are possible")
    if any(g % c for g, c in zip(grid, shape)):
        raise EmulatorError(f"the grid {tuple(grid)} does not divide into clusters of {tuple(shape)}")


class Clusters:
    """The barriers of the clusters of one batch."""

    def __init__(self, machine):
        self.machine = machine
        self.states = np.zeros(machine.geometry.ctas * machine.geometry.threads, np.int8)
        self.blocked: list = []

    def arrive(self, ins, flat) -> None:
        again = self.states[flat] != _IDLE
        if again.any():
            fault_at(
                self.machine.geometry,
                ins,
                flat[again][0],
                "a thread arrives at the cluster's barrier twice without waiting",
            )
        self.states[flat] = _ARRIVED
        if self.machine.observers.racecheck is not None:
            self.machine.observers.racecheck.arrive_in_cluster(flat, "relaxed" in ins.mods)
        self.complete()

    def wait(self, group, after: int):
        """Wait for the phase at which the threads have arrived."""
        flat = group.flat
        ins = self.machine.program.code[after - 1]
        if (self.states[flat] == _IDLE).any():
            fault_at(
                self.machine.geometry,
                ins,
                flat[self.states[flat] == _IDLE][0],
                "a thread waits at the cluster's barrier without arriving",
            )
        group.pc = after
        self.blocked.append(group)
        self.release()

    def complete(self) -> None:
        """Complete the phase of clusters in which all living threads have arrived."""
        machine = self.machine
        states = self.states.reshape(-1, machine.geometry.cluster_size * machine.geometry.threads)
        alive = machine.alive.reshape(states.shape)
        arrived = (states == _ARRIVED) & alive
        done = arrived.any(axis=1) & (arrived.sum(axis=1) == alive.sum(axis=1))
        if not done.any():
            return
        states[done] = np.where(arrived[done], _COMPLETE, states[done])
        machine.waits.changes += 1
        self.release()

    def release(self) -> None:
        """Let waiting threads go whose phase is complete."""
        still = []
        for group in self.blocked:
            ready = (self.states[group.flat] == _COMPLETE).reshape(group.shape)
            if not ready.any():
                still.append(group)
                continue
            if not ready.all():
                rest, part = group.split_off(~ready), group.split_off(ready)
                rest.pc = part.pc = group.pc
                still.append(rest)
                group = part
            self.states[group.flat] = _IDLE
            if self.machine.observers.racecheck is not None:
                self.machine.observers.racecheck.leave_in_cluster(group.flat)
            self.machine.push(group)
        self.blocked = still

    def on_threads_exited(self) -> None:
        """Threads have exited: nobody waits for them any more."""
        if (self.states == _ARRIVED).any():
            self.complete()
