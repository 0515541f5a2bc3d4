"""How long CTAs of unequal length take: each SM gets the next one in the order of the grid as soon as one ends.

The tail of such a launch depends on the order: the longest CTAs first leave the shortest tail [Graham, "Bounds on
Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17(2), 1969].
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence


class _Sm:
    """An SM; ``clocks[n]`` is how long n CTAs of length 1 take together. ``remaining``: the lengths that its CTAs have left."""

    def __init__(self, clocks: Sequence[float]):
        self.clocks, self.time, self.remaining = clocks, 0.0, list[float]()

    def add(self, length: float, now: float) -> None:
        """A CTA starts."""
        self._advance(now)
        self.remaining.append(length)

    def next_end(self) -> float:
        """When the first of its CTAs ends."""
        return self.time + min(self.remaining) * self.clocks[len(self.remaining)]

    def end_first(self, now: float) -> None:
        """The first CTA to end does so."""
        self._advance(now)
        self.remaining.remove(min(self.remaining))

    def _advance(self, now: float) -> None:
        if self.remaining:
            done = (now - self.time) / self.clocks[len(self.remaining)]
            self.remaining = [length - done for length in self.remaining]
        self.time = now


def launch_clocks(lengths: Sequence[float], sms: int, clocks: Sequence[float]) -> float:
    """Cycles until the last of the CTAs ends; ``clocks[n]`` are those of n CTAs of length 1 that share an SM."""
    resident = len(clocks) - 1
    waiting = iter(lengths)
    machine = [_Sm(clocks) for _ in range(sms)]
    for _ in range(resident):
        for sm, length in zip(machine, waiting):
            sm.add(length, 0.0)
    ends = [(sm.next_end(), number) for number, sm in enumerate(machine) if sm.remaining]
    heapq.heapify(ends)
    now = 0.0
    while ends:
        now, number = heapq.heappop(ends)
        sm = machine[number]
        sm.end_first(now)
        if (following := next(waiting, None)) is not None:
            sm.add(following, now)
        if sm.remaining:
            heapq.heappush(ends, (sm.next_end(), number))
    return now
