"""Check the columns of tensor memory that threads and MMAs of one partition access, along a run of it.

Tiles may share columns: dots with equal left operands, accumulators of several loops, a left operand over the accumulator that it is
computed from. In a run:

- Threads access columns only if the MMAs that access them are complete: an accumulator that was committed after these was
  waited for, or the next item of an operand stage that one of these released.
- An MMA accesses columns that threads have written or read only after all threads synchronized.
- A commit, which one thread issues, fills an item only after all threads synchronized behind their wait for the last one in its stage, and
  releases one only after all threads that wait for empty stages have synchronized behind their wait for its stage.
- Threads write columns that other threads read through another tile only after they synchronized; of four warps each has lanes of its own, and
  of more each has columns of its own in a tile in parts, and in one of as many columns in the same place.
- What an MMA or a thread reads was written last through the same tile.
- What an operation writes is read in some run: else another one overwrites it too early (``unread``).

Accumulators with stages, chunks of left operands and tiles of rows are items of pipelines, which ``partition_interpreter.py`` checks,
and so are the columns that several partitions access, as where one issues the MMAs and another reads their results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from xdsl.ir import Operation, Region, SSAValue

from ...ir.casting import as_op, cast, defining_op, int_attr, parent_op
from ...ir.dialects.nv_tileas.types import TmemType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_async_mma
from ...ir.layouts.tmem_layout import WARPS
from .control_flow_paths import AGENT_SWITCH

PARTS = ("chunk", "rows", "line_dim")  # attributes of operations on parts of a tile, and on scales


class Run(Protocol):
    """The part of ``PartitionInterpreter`` that is used."""

    known_integers: dict[SSAValue, int | None]

    def fail(self, message: str) -> NoReturn: ...


@dataclass
class _Content:
    """What columns hold: the tile through which operations wrote them, and these."""

    tile: SSAValue
    writers: set[Operation]


@dataclass
class TmemColumnLifetimes:
    """The state of each column; ``written`` and ``read``: the operations that wrote columns, and whose columns were read."""

    run: Run
    written: set[Operation] = field(default_factory=set)
    read: set[Operation] = field(default_factory=set)
    contents: dict[int, _Content] = field(default_factory=dict)
    # Since the threads synchronized last: the columns that they have read, each through a tile, and written.
    loaded: dict[int, SSAValue] = field(default_factory=dict)
    stored: set[int] = field(default_factory=set)
    # Since then, too: items that all threads have waited for, or whose stages they have acquired.
    waited: set[tuple[SSAValue, int]] = field(default_factory=set)
    acquired: set[tuple[SSAValue, int]] = field(default_factory=set)
    # MMAs in the order of their issue: how many there are, how many are complete, and the last one that accesses each column.
    issued: int = 0
    complete: int = 0
    multiplying: dict[int, int] = field(default_factory=dict)
    completed_by: dict[tuple[SSAValue, int], int] = field(default_factory=dict)  # items, by the MMAs before them

    # ---- threads -----------------------------------------------------------------------------------------------
    def load(self, op: TableOp) -> None:
        """Read a tile by all threads."""
        self._check_complete(op, op.operands[0])
        self._read(op, op.operands[0])
        self.loaded.update(dict.fromkeys(_columns(op.operands[0]), op.operands[0]))

    def store(self, op: TableOp) -> None:
        """Write a tile by all threads, unless it is known that it is not enabled."""
        if op.enabled is not None and self.run.known_integers.get(op.enabled) == 0:
            return
        self._check_complete(op, op.dest)
        others = [tile for column in _columns(op.dest) if (tile := self.loaded.get(column, op.dest)) is not op.dest]
        if not all(_has_parts_of(op.dest, tile) for tile in others) and _warps_of_kernel(op) > WARPS:
            self.run.fail(f"{op.name} overwrites columns of another tile that other threads may still read")
        self.stored.update(_columns(op.dest))
        self._write(op, op.dest, added=op.enabled is not None and self.run.known_integers.get(op.enabled) is None)

    def scale(self, op: TableOp) -> None:
        """Multiply a tile in its place, by all threads."""
        self._check_complete(op, op.tile)
        self._read(op, op.tile)
        self.stored.update(_columns(op.tile))
        self._write(op, op.tile, added=True)

    def _check_complete(self, op: Operation, tile: SSAValue) -> None:
        if any(self.multiplying.get(column, 0) > self.complete for column in _columns(tile)):
            self.run.fail(f"{op.name} accesses columns of tensor memory of an MMA that is not waited for")

    def barrier(self) -> None:
        """Synchronize all threads."""
        self.loaded.clear()
        self.stored.clear()
        self.waited.clear()
        self.acquired.clear()

    # ---- MMAs --------------------------------------------------------------------------------------------------
    def issue(self, op: TableOp) -> None:
        """Read the left operand and add to the accumulator, or overwrite it, some time after: by the MMA that was issued last."""
        tiles = [tile for tile in (op.lhs, op.acc) if isinstance(tile.type, TmemType)]
        columns = {column for tile in tiles for column in _columns(tile)}
        if self.stored & columns:
            self.run.fail("an MMA accesses columns of tensor memory that other threads may still write")
        if self.loaded.keys() & set(_columns(op.acc)):
            self.run.fail("an MMA overwrites columns of tensor memory that other threads may still read")
        if op.acc is not tiles[0]:
            self._read(op, op.lhs)
        self._write(op, op.acc, added=self.run.known_integers.get(op.accumulate) != 0)
        self.multiplying.update(dict.fromkeys(columns, self.issued))

    def complete_with(self, item: tuple[SSAValue, int]) -> None:
        """An item of a pipeline is filled, or its stage released, when all MMAs that were issued before are complete."""
        self.completed_by[item] = self.issued

    def commit(self, item: tuple[SSAValue, int], stages: int) -> None:
        """One thread fills an item once MMAs are complete: in its stage, no other thread may still wait for the item before."""
        pipeline, number = item
        if (pipeline, number - stages) in self.waited:
            self.run.fail(f"item {number} may be filled while other threads wait for item {number - stages}")

    def release(self, item: tuple[SSAValue, int]) -> None:
        """One thread releases a stage once MMAs are complete: no other thread may still wait for the release before."""
        if item in self.acquired:
            self.run.fail(f"item {item[1]} may be released while other threads wait for its stage")
        self.complete_with(item)

    def wait(self, item: tuple[SSAValue, int], stages: int) -> None:
        """Wait for an item: also for what released its stage."""
        pipeline, number = item
        self.waited.add(item)
        before = (self.completed_by.get((pipeline, one), 0) for one in (number, number - stages))
        self.complete = max(self.complete, *before)

    # ---- contents ----------------------------------------------------------------------------------------------
    def _read(self, op: Operation, tile: SSAValue) -> None:
        for column in _columns(tile):
            if (content := self.contents.get(column)) is not None:
                if content.tile is not tile:
                    self.run.fail(f"{op.name} reads columns of tensor memory that another tile has overwritten")
                self.read |= content.writers

    def _write(self, op: Operation, tile: SSAValue, *, added: bool) -> None:
        """``added``: to what the columns hold, which must be of the same tile."""
        self.written.add(op)
        for column in _columns(tile):
            before = self.contents.get(column)
            if added and before is not None and before.tile is not tile:
                self.run.fail(f"{op.name} adds to columns of tensor memory that another tile has overwritten")
            kept = before.writers if added and before is not None else set()
            self.contents[column] = _Content(tile, {*kept, op})


def unread(runs: list[TmemColumnLifetimes]) -> set[Operation]:
    """The operations that write columns which no run reads afterwards."""
    return {op for run in runs for op in run.written} - {op for run in runs for op in run.read}


def is_tracked(op: TableOp, shared: set[int]) -> bool:
    """Whether an operation accesses whole tiles, which are no items of pipelines; ``shared``: the columns of several partitions."""
    stage = getattr(op, "acc_stage" if is_async_mma(op) else "stage", None)
    if stage is not None or any(name in op.attributes for name in PARTS):
        return False
    return shared.isdisjoint(column for value in op.operands for column in columns_of(value))


def is_staged(op: Operation) -> bool:
    """Whether threads write a left operand to a stage in tensor memory."""
    return op.name == "nv_tileas.tmem_store" and as_op(op).filled is not None and as_op(op).chunk is None


def columns_of_several_partitions(kernel: Operation) -> set[int]:
    """The columns that operations of more than one partition access."""
    partitions: dict[int, set[Region]] = {}
    for switch in (op for op in kernel.walk() if op.name == AGENT_SWITCH):
        for region in switch.regions:
            for column in {column for op in region.walk() for value in op.operands for column in columns_of(value)}:
                partitions.setdefault(column, set()).add(region)
    return {column for column, found in partitions.items() if len(found) > 1}


def _warps_of_kernel(op: Operation) -> int:
    """The warps that compute in the kernel of an operation."""
    while "num_warps" not in op.attributes:
        op = parent_op(op)
    return int_attr(op, "num_warps")


def _has_parts_of(tile: SSAValue, other: SSAValue) -> bool:
    """Whether each warp writes only those columns of a tile that it reads of another one."""
    return as_op(defining_op(tile)).parts is not None and _columns(tile) == _columns(other)


def columns_of(value: SSAValue) -> range:
    """The columns of a value, none where it is no tile in tensor memory."""
    return _columns(value) if isinstance(value.type, TmemType) else range(0)


def _columns(tile: SSAValue) -> range:
    first = int_attr(defining_op(tile), "column")
    return range(first, first + cast(TmemType, tile.type).columns.data)
