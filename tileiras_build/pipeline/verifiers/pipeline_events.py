"""Steps of warp partitions in pipelines, as events that depend on events of other partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue


class EventCounts:
    """The number of events of each kind in each pipeline: the minimum over the partitions with such events."""

    def __init__(self, events: Sequence[Sequence[PipelineEvent]]):
        self.counts: dict[tuple[str, SSAValue], dict[int, int]] = defaultdict(dict)
        for partition, of_partition in enumerate(events):
            for event in of_partition:
                self.counts[event.kind, event.pipeline][partition] = 0

    def add(self, partition: int, event: PipelineEvent) -> None:
        self.counts[event.kind, event.pipeline][partition] += 1

    def count(self, kind: str, pipeline: SSAValue) -> int:
        return min(self.counts[kind, pipeline].values(), default=0)


@dataclass(frozen=True)
class PipelineEvent:
    """A step of a partition in a pipeline, possible after ``count`` events of the kind ``needs``.

    ``item``: what it waits for, or accesses in a stage of ``buffer``, where another partition releases that.
    """

    kind: str
    pipeline: SSAValue
    needs: str = ""
    count: int = 0
    item: int | None = None
    buffer: SSAValue | None = None

    def may_happen(self, done: EventCounts) -> bool:
        return self.count <= 0 or done.count(self.needs, self.pipeline) >= self.count


def advance_all(
    runs: Sequence[Sequence[PipelineEvent]], done: EventCounts, limits: Sequence[int], start: Sequence[int]
) -> list[int]:
    """Advance every partition from ``start`` as far as possible, at most to ``limits``; return where each one is."""
    at = list(start)
    moving = True
    while moving:
        moving = False
        for number, events in enumerate(runs):
            while at[number] < limits[number] and events[at[number]].may_happen(done):
                done.add(number, events[at[number]])
                at[number] += 1
                moving = True
    return at
