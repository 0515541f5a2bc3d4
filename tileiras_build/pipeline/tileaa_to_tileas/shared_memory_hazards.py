"""Find read-after-write and write-after-read hazards in shared memory, and insert barriers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from xdsl.ir import Block, Operation

from ...ir.casting import as_op, defining_table_op, parent_block
from ...ir.dialects.nv_tileas.ops import AsyncTmaStoreWaitOp, BarrierOp
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, is_agent_switch, is_async_mma, is_if, is_loop, is_loop_exit, traits_of
from ..analysis.scratch_memory_sizes import STORE_BY_TMA

STORE_WAIT = AsyncTmaStoreWaitOp.name
STAGE_BUFFER_USERS = (
    "nv_tileas.async_tiled_load",
    "nv_tileas.async_load",
    "nv_tileas.local_load",
    "nv_tileas.local_store",
)
MAX_STARTS = 4  # distinct states in which one loop is entered


class Reader(Enum):
    """What reads shared memory, and until when."""

    THREADS = "until a barrier"
    TMA = "until a thread has waited for it"
    MMA = "until its warps have waited for it"


@dataclass(frozen=True)
class SmemRegion:
    """Bytes of shared memory. The mbarriers or barriers of a loop order reads of a stage buffer, ``ring``, before the next copies to it."""

    start: int
    end: int
    reader: Reader = Reader.THREADS
    ring: Operation | None = None

    @classmethod
    def all_of(cls, op: TableOp) -> list[SmemRegion]:
        """The regions of an operation: rings, or scratch."""
        if _uses_stage(op):
            rings = (defining_table_op(value) for value in op.operands if isinstance(value.type, BufferType))
            reader = Reader.MMA if is_async_mma(op) and op.pending != 0 else Reader.THREADS
            return [cls.of_stage_buffer(ring, reader) for ring in rings]
        start = op.scratch_offset
        return [cls(start, start + op.scratch_bytes, Reader.TMA if op.name == STORE_BY_TMA else Reader.THREADS)]

    @classmethod
    def of_stage_buffer(cls, ring: TableOp, reader: Reader) -> SmemRegion:
        """One of a ring over another one is that other's: mbarriers order what is read of both."""
        start, under = ring.shared_offset, ring if ring.over is None else defining_table_op(ring.over)
        return cls(start, start + ring.result.type.size_bytes, reader, under)

    def overlaps(self, other: SmemRegion) -> bool:
        is_one_ring = self.ring is not None and self.ring is other.ring
        return self.start < other.end and other.start < self.end and not is_one_ring


class HazardAnalysis:
    """The regions that threads may still be reading, and the barriers needed before they are written again.

    Each walk over a body walks the loops in it, so two walks per loop would cost 2^depth. The result of a loop is
    cached for each state in which it was entered, and a loop with many such states is analyzed for their union.
    """

    def __init__(self, func: Operation):
        self.body = func.regions[0].blocks[0]
        self.used: dict[Block, frozenset[SmemRegion]] = {}
        self.jumps: set[Block] = set()
        self.ends: dict[Operation, dict[frozenset[SmemRegion], frozenset[SmemRegion]]] = {}

    def run(self) -> None:
        self._collect_users(self.body)
        self._block(self.body, frozenset())

    def _collect_users(self, block: Block) -> None:
        """Record which regions a block uses at any depth, and whether anything in it leaves an iteration."""
        used: set[SmemRegion] = set()
        for op in block.ops:
            if is_loop_exit(op):
                self.jumps.add(block)
            if _uses_region(op):
                used.update(SmemRegion.all_of(as_op(op)))
            for inner in (inner for region in op.regions for inner in region.blocks):
                self._collect_users(inner)
                used |= self.used[inner]
                self.jumps |= {block} if inner in self.jumps else set()
        self.used[block] = frozenset(used)

    def _block(self, block: Block, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
        for op in block.ops:
            reading = self._operation(op, reading)
        return reading

    def _operation(self, op: Operation, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
        if op.name == "nv_tileas.barrier":
            return _in_flight(reading)
        if op.name == STORE_WAIT:
            return _waited_for(Reader.TMA, reading)
        if MmaRole.WAIT in traits_of(op).mma and as_op(op).pending == 0:
            return _waited_for(Reader.MMA, reading)
        if is_loop(op):
            return self._loop(op, self._before_loop(op, reading))
        if is_agent_switch(op):
            return self._block(op.regions[-1].blocks[0], reading)  # the producer partition uses no scratch
        if is_if(op):
            ends = [self._block(region.blocks[0], reading) for region in op.regions]
            return frozenset().union(*ends)
        return self._visit_user(op, reading) if _uses_region(op) else reading

    def _before_loop(self, op: Operation, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
        """The state after a barrier in front of a loop that writes to the bytes of stage buffers of others: in it, each iteration would wait."""
        used = self.used[op.regions[0].blocks[0]]
        rings = {region.ring for region in used}
        before = (other for other in reading if other.ring is not None and other.ring not in rings)
        if not any(region.ring is not None and region.overlaps(other) for other in before for region in used):
            return reading
        parent_block(op).insert_op_before(BarrierOp.make([], []), op)
        return _in_flight(reading)

    def _loop(self, op: Operation, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
        """The state after a loop that is entered in the state ``reading``."""
        ends = self.ends.setdefault(op, {})
        if reading not in ends and len(ends) >= MAX_STARTS:
            used = self.used[self.body]
            reading |= used | _waited_for(Reader.TMA, used) | _waited_for(Reader.MMA, used)
        if reading not in ends:
            ends[reading] = self._visit_loop_back_edge(op, reading)
        return ends[reading]

    def _visit_loop_back_edge(self, op: Operation, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
        """The state after a loop. The reads at the end of the body may race with the writes at its start.

        ``continue`` and ``break`` may leave with any of the body's reads.
        """
        block = op.regions[0].blocks[0]
        jumped = self.used[block] if self._has_loop_exits(block) else frozenset()
        end = self._block(block, reading)
        end = self._block(block, reading | end | jumped)
        return reading | end | jumped

    def _has_loop_exits(self, block: Block) -> bool:
        inner = (block for op in block.ops for region in op.regions for block in region.blocks)
        return not self.jumps.isdisjoint(inner)

    def _visit_user(self, op: Operation, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
        regions = frozenset(SmemRegion.all_of(as_op(op)))
        met = {other for region in regions for other in reading if region.overlaps(other)}
        if any(other.reader is Reader.TMA for other in met):
            parent_block(op).insert_op_before(AsyncTmaStoreWaitOp.make([], [], read=True), op)
            reading = _waited_for(Reader.TMA, reading)
        if is_async_mma(op) and as_op(op).pending == 0:
            reading = _waited_for(Reader.MMA, reading)
        if not _uses_stage(op):
            if met:
                as_op(op).sync_before = True
            # Its own barrier, between writes and reads, ends all earlier reads by threads.
            return regions | _in_flight(reading)
        if met:
            parent_block(op).insert_op_before(BarrierOp.make([], []), op)
            reading = _in_flight(reading)
        return reading | regions


def _in_flight(reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
    """Regions that TMA or MMAs may be reading. A barrier does not end such reads."""
    return frozenset(region for region in reading if region.reader is not Reader.THREADS)


def _waited_for(reader: Reader, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
    """After a wait, what TMA or MMAs read counts as read by threads: only the waiting threads observe the completion."""
    return frozenset(
        replace(region, reader=Reader.THREADS) if region.reader is reader else region for region in reading
    )


def _uses_region(op: Operation) -> bool:
    return "scratch_offset" in op.attributes or _uses_stage(op)


def _uses_stage(op: Operation) -> bool:
    """Whether an operation of all threads accesses a stage. MMAs without a result in registers are waited for otherwise."""
    return op.name in STAGE_BUFFER_USERS or is_async_mma(op) and bool(op.results)
