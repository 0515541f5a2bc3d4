"""The sixteen barriers of each CTA (PTX ISA 9.0, section 9.7.13): arrivals and waiting groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import OTHER
from .broadcasting import are_all, is_any, unique_integers
from .geometry import Geometry
from .thread_group import ThreadGroup, narrow_value

if TYPE_CHECKING:
    from ..sanitizers.observers import Observers
    from .scheduler import Scheduler

BARRIERS = 16


class CtaBarriers:
    """``blocked``: (group, barrier, reduction) of waiting threads."""

    def __init__(self, geometry: Geometry, scheduler: Scheduler, observers: Observers) -> None:
        self.geometry, self.scheduler, self.observers = geometry, scheduler, observers
        self.blocked: list[tuple[ThreadGroup, int, str | None]] = []
        self.arrived, self.needed, self.votes = (np.zeros((geometry.ctas, BARRIERS), np.int64) for _ in range(3))

    def arrive(
        self, group: ThreadGroup, barrier, count, red: str | None, predicate, waits: bool, after: int
    ) -> ThreadGroup | None:
        """Arrive at a CTA barrier and, except for bar.arrive, wait at it; returns the group if it does not have to wait."""
        if np.ndim(barrier) and barrier.size > 1 and barrier.min() != barrier.max():
            self._arrive_at_several(group, barrier, count, red, predicate, waits, after)
            return None
        barrier = int(np.ravel(barrier)[0])
        if not 0 <= barrier < BARRIERS:
            group.pc = after - 1
            self.scheduler.raise_stuck(
                group, f"barrier {barrier} does not exist: a CTA has barriers 0 to {BARRIERS - 1}", OTHER
            )
        group.pc = after
        count = None if count is None else int(np.ravel(count)[0])
        whole = group.whole and count in (None, self.geometry.threads)
        if whole and not is_any(self.arrived[group.cta[:, 0], barrier]):
            return self._complete_at_once(group, red, predicate)
        self._record_arrival(group, barrier, count or 0, red, predicate)
        if waits:
            self.blocked.append((group, barrier, red))
        else:
            self.scheduler.push(group)
        self.release()
        return None

    def _arrive_at_several(
        self, group: ThreadGroup, barrier, count, red: str | None, predicate, waits: bool, after: int
    ) -> None:
        """Arrive of threads with different barrier operands."""
        for value in unique_integers(barrier):
            child = group.split_off(barrier == value)
            child.pc = after
            parts = [None if x is None else narrow_value(x, child.select) for x in (count, predicate)]
            if self.arrive(child, value, parts[0], red, parts[1], waits, after) is not None:
                self.scheduler.push(child)

    def _complete_at_once(self, group: ThreadGroup, red: str | None, predicate) -> ThreadGroup:
        """Complete a barrier at which all threads of whole CTAs arrive at once."""
        if red is not None:
            votes = np.broadcast_to(predicate, group.shape).sum(axis=1, keepdims=True)
            group.barrier_value = _reduce_votes(red, votes, self.geometry.threads)
        if self.observers.racecheck is not None:
            self.observers.racecheck.clocks.whole_barrier(group.cta[:, 0])
        return group

    def _record_arrival(self, group: ThreadGroup, barrier: int, needed: int, red: str | None, predicate) -> None:
        if self.observers.racecheck is not None:
            self.observers.racecheck.clocks.arrive(group, barrier)
        ctas = group.full(group.cta)
        np.add.at(self.arrived[:, barrier], ctas, 1)
        self.needed[ctas, barrier] = needed
        if red is not None:
            np.add.at(self.votes[:, barrier], ctas, group.full(predicate).astype(np.int64))

    def release(self) -> None:
        """Release the groups waiting at complete barriers."""
        living = self.scheduler.alive.reshape(self.geometry.ctas, self.geometry.threads).sum(axis=1)
        needed = np.where(self.needed > 0, self.needed, living[:, None])
        done = (self.arrived > 0) & (self.arrived >= needed)
        if not is_any(done):
            return
        self.scheduler.changes += 1
        released = self._split_released(done)
        for group, barrier, red in released:
            if red is not None:
                group.barrier_value = _reduce_votes(red, self.votes[group.cta, barrier], needed[group.cta, barrier])
            if self.observers.racecheck is not None:
                self.observers.racecheck.clocks.leave_barrier(group, barrier)
        if self.observers.racecheck is not None:
            self.observers.racecheck.clocks.reset(done)
        self.arrived[done] = 0
        self.votes[done] = 0
        for group, _, _ in released:
            self.scheduler.push(group)

    def _split_released(self, done: np.ndarray) -> list[tuple[ThreadGroup, int, str | None]]:
        """The blocked groups, or parts of groups, whose barriers are complete; the rest stays blocked."""
        still, released = [], []
        for group, barrier, red in self.blocked:
            ready = done[group.cta, barrier]
            if not is_any(ready):
                still.append((group, barrier, red))
                continue
            if not are_all(ready):
                rest, part = group.split_off(~ready), group.split_off(ready)
                rest.pc = part.pc = group.pc
                still.append((rest, barrier, red))
                group = part
            released.append((group, barrier, red))
        self.blocked = still
        return released


def _reduce_votes(red: str, votes, needed):
    if red == "popc":
        return votes
    return (votes > 0) if red == "or" else (votes >= needed)
