"""Check that threads access tensor memory and operands only where MMAs of other partitions that access them are complete.

Threads that wait for a later MMA, or for the same one behind their access, could still read a result too early, or overwrite an operand that
is being read. For each access, all other partitions advance as far as mbarriers allow while its partition is stalled in front of it: each MMA that
may have been issued by then, and writes what the threads read, or reads or writes what they write, must be one that they have waited for.

Accumulators with stages, chunks, tiles of rows, and operands in stages of pipelines are items, which ``partition_interpreter.py`` checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NoReturn, Protocol

from xdsl.ir import Operation, SSAValue

from ...ir.casting import cast
from ...ir.dialects.nv_tileas.ops import LocalStoreOp, TmemLoadOp, TmemStoreOp
from ...ir.dialects.nv_tileas.types import BufferType, PipelineType, TmemType
from ...ir.dialects.op_definition import TableOp
from .pipeline_events import EventCounts, PipelineEvent, advance_all
from .tmem_column_lifetimes import TmemColumnLifetimes, columns_of, is_tracked

STORES, LOADS = (LocalStoreOp.name, TmemStoreOp.name), (TmemLoadOp.name,)
Place = int | SSAValue  # a column of tensor memory, or a buffer


class Run(Protocol):
    """The part of ``PartitionInterpreter`` that is used."""

    known_integers: dict[SSAValue, int | None]
    events: list[PipelineEvent]
    accesses: MmaAccesses
    columns: TmemColumnLifetimes
    filled: dict[SSAValue, int]

    def fail(self, message: str) -> NoReturn: ...


@dataclass(frozen=True)
class _Access:
    """An operation behind so many events of its partition, and what it reads and writes."""

    op: Operation
    events: int
    read: frozenset[Place]
    written: frozenset[Place]

    @classmethod
    def of(cls, op: Operation, run: Run, read: Iterable[SSAValue], written: Iterable[SSAValue]) -> _Access:
        return cls(op, len(run.events), _places(read), _places(written))

    def conflicts(self, other: _Access) -> bool:
        return not (self.written.isdisjoint(other.read | other.written) and self.read.isdisjoint(other.written))


def _places(values: Iterable[SSAValue]) -> frozenset[Place]:
    return frozenset(place for value in values for place in (columns_of(value) or [value]))


@dataclass
class MmaAccesses:
    """What the threads and the MMAs of a partition access along its run."""

    run: Run
    by_threads: list[_Access] = field(default_factory=list)
    by_mmas: list[_Access] = field(default_factory=list)

    def add_threads(self, op: TableOp) -> None:
        """An operation of all threads, unless it is known that it is not enabled."""
        enabled = getattr(op, "enabled", None)
        if is_tracked(op, set()) and (enabled is None or self.run.known_integers.get(enabled) != 0):
            tiles = [value for value in op.operands if isinstance(value.type, TmemType | BufferType)]
            read = [] if op.name in STORES else tiles
            self.by_threads.append(_Access.of(op, self.run, read, [] if op.name in LOADS else tiles))

    def add_mma(self, op: TableOp) -> None:
        """An MMA. Of items it only counts."""
        read, written = ((op.lhs, op.rhs), (op.acc,)) if is_tracked(op, set()) else ((), ())
        self.by_mmas.append(_Access.of(op, self.run, read, written))


def check_mma_access_order(partitions: Sequence[Run]) -> None:
    """Check the accesses of each partition."""
    for number, run in enumerate(partitions):
        if run.accesses.by_threads and any(other.accesses.by_mmas for other in partitions if other is not run):
            _check_accesses(partitions, number)


def _check_accesses(partitions: Sequence[Run], number: int) -> None:
    """Advance one partition from access to access, and before each of them all others as far as possible."""
    stalled, runs = partitions[number], [run.events for run in partitions]
    done, limits, at = EventCounts(runs), [*map(len, runs)], [0] * len(runs)
    complete = [0] * len(runs)
    for access in stalled.accesses.by_threads:
        passed = stalled.events[at[number] : access.events]
        limits[number] = access.events
        at = advance_all(runs, done, limits, at)
        for index, run in enumerate(partitions):
            complete[index] = max(complete[index], *(_complete_behind(event, run) for event in passed), 0)
            in_flight = _issued(run.accesses.by_mmas[complete[index] :], at[index])
            if run is not stalled and any(map(access.conflicts, in_flight)):
                stalled.fail(f"{access.op.name} accesses what an MMA of other threads accesses that is not waited for")


def _issued(mmas: Sequence[_Access], events: int) -> Iterator[_Access]:
    """The MMAs that a partition may have issued when it has come so far."""
    return takewhile(lambda mma: mma.events <= events, mmas)


def _complete_behind(event: PipelineEvent, run: Run) -> int:
    """How many MMAs of a partition are complete behind an event of another one."""
    if not event.needs:
        return 0
    item = event.count - 1
    if event.needs == "fill" and event.pipeline not in run.filled:  # behind the release of the stage
        item -= cast(PipelineType, event.pipeline.type).stages.data
    return run.columns.completed_by.get((event.pipeline, item), 0)
