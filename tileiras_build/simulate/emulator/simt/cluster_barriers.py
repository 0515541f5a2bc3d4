"""The barrier of each cluster (PTX ISA 9.0, section 9.7.13.4): arrived threads and waiting groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import fault_at
from .geometry import Geometry

if TYPE_CHECKING:
    from ..sanitizers.observers import Observers
    from .scheduler import Scheduler

_IDLE, _ARRIVED, _COMPLETE = 0, 1, 2


class ClusterBarriers:
    """The barriers of the clusters of one batch."""

    def __init__(self, geometry: Geometry, scheduler: Scheduler, observers: Observers) -> None:
        self.geometry, self.scheduler, self.observers = geometry, scheduler, observers
        self.states = np.zeros(geometry.ctas * geometry.threads, np.int8)
        self.is_relaxed = np.zeros(geometry.ctas // geometry.cluster_size, bool)
        self.blocked: list = []

    def arrive(self, ins, flat) -> None:
        again = self.states[flat] != _IDLE
        if again.any():
            fault_at(
                self.geometry,
                ins,
                flat[again][0],
                "a thread arrives at the cluster's barrier twice without waiting",
            )
        self.states[flat] = _ARRIVED
        if "relaxed" in ins.mods:
            self.is_relaxed[flat // (self.geometry.cluster_size * self.geometry.threads)] = True
        if self.observers.racecheck is not None:
            self.observers.racecheck.clocks.arrive_in_cluster(flat, "relaxed" in ins.mods)
        self.complete()

    def wait(self, group, after: int):
        """Wait for the phase in which the threads have arrived."""
        flat = group.flat
        ins = self.scheduler.program.code[after - 1]
        if (self.states[flat] == _IDLE).any():
            fault_at(
                self.geometry,
                ins,
                flat[self.states[flat] == _IDLE][0],
                "a thread waits at the cluster's barrier without arriving",
            )
        group.pc = after
        self.blocked.append(group)
        self.release()

    def complete(self) -> None:
        """Complete the phase of clusters in which all living threads have arrived."""
        states = self.states.reshape(-1, self.geometry.cluster_size * self.geometry.threads)
        alive = self.scheduler.alive.reshape(states.shape)
        arrived = (states == _ARRIVED) & alive
        done = arrived.any(axis=1) & (arrived.sum(axis=1) == alive.sum(axis=1))
        if not done.any():
            return
        states[done] = np.where(arrived[done], _COMPLETE, states[done])
        if self.observers.cta_racecheck is not None:
            self.observers.cta_racecheck.synchronize(self.geometry, np.flatnonzero(done & ~self.is_relaxed))
        self.is_relaxed[done] = False
        self.scheduler.changes += 1
        self.release()

    def release(self) -> None:
        """Release the waiting threads whose phase is complete."""
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
            if self.observers.racecheck is not None:
                self.observers.racecheck.clocks.leave_in_cluster(group.flat)
            self.scheduler.push(group)
        self.blocked = still

    def on_threads_exited(self) -> None:
        """Update the barriers after threads have exited: no thread waits for exited threads."""
        if (self.states == _ARRIVED).any():
            self.complete()
