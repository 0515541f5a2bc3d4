"""Find read-after-write and write-after-read hazards in shared memory, and insert barriers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation

from ...ir.casting import as_op, defining_table_op, parent_block
from ...ir.dialects.nv_tileas.ops import AsyncTmaStoreWaitOp, BarrierOp
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma, is_if, is_loop, is_loop_exit
from ..analysis.buffer_liveness import loop_of
from ..analysis.op_queries import is_own
from ..analysis.scratch_memory_sizes import STORE_BY_TMA

STORE_WAIT = AsyncTmaStoreWaitOp.name
STAGE_BUFFER_USERS = (
    "nv_tileas.async_tiled_load",
    "nv_tileas.async_load",
    "nv_tileas.local_load",
    "nv_tileas.local_store",
)
MAX_STARTS = 4  # distinct states in which one loop is entered


@dataclass(frozen=True)
class SmemRegion:
    """Bytes of shared memory. The mbarriers or barriers of a loop order reads of a stage buffer before the next copies to it.

    ``copied``: TMA reads the bytes until a thread has waited for it. ``loop``: the one whose warps read their own copies.
    """

    start: int
    end: int
    is_stage_buffer: bool = False
    copied: bool = False
    loop: Operation | None = None

    @classmethod
    def all_of(cls, op: TableOp) -> list[SmemRegion]:
        """The regions of an operation: rings, or scratch."""
        if _uses_stage(op):
            rings = (defining_table_op(value) for value in op.operands if isinstance(value.type, BufferType))
            return [cls.of_stage_buffer(ring) for ring in rings]
        start = op.scratch_offset
        return [cls(start, start + op.scratch_bytes, copied=op.name == STORE_BY_TMA)]

    @classmethod
    def of_stage_buffer(cls, ring: TableOp) -> SmemRegion:
        start = ring.shared_offset
        loop = loop_of(ring) if is_own(ring.result) else None
        return cls(start, start + ring.result.type.size_bytes, True, loop=loop)

    def overlaps(self, other: SmemRegion) -> bool:
        are_of_one_loop = self.is_stage_buffer and other.is_stage_buffer and self.loop is other.loop
        return self.start < other.end and other.start < self.end and not are_of_one_loop


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
            return _being_copied_by_tma(reading)
        if op.name == STORE_WAIT:
            return _read_by_threads(reading)
        if is_loop(op):
            return self._loop(op, reading)
        if is_agent_switch(op):
            return self._block(op.regions[-1].blocks[0], reading)  # the producer partition uses no scratch
        if is_if(op):
            ends = [self._block(region.blocks[0], reading) for region in op.regions]
            return frozenset().union(*ends)
        return self._visit_user(op, reading) if _uses_region(op) else reading

    def _loop(self, op: Operation, reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
        """The state after a loop that is entered in the state ``reading``."""
        ends = self.ends.setdefault(op, {})
        if reading not in ends and len(ends) >= MAX_STARTS:
            reading |= self.used[self.body] | _read_by_threads(self.used[self.body])
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
        if any(other.copied for other in met):
            parent_block(op).insert_op_before(AsyncTmaStoreWaitOp.make([], [], read=True), op)
            reading = _read_by_threads(reading)
        if not _uses_stage(op):
            if met:
                as_op(op).sync_before = True
            # Its own barrier, between writes and reads, ends all earlier reads by threads.
            return regions | _being_copied_by_tma(reading)
        if met:
            parent_block(op).insert_op_before(BarrierOp.make([], []), op)
            reading = _being_copied_by_tma(reading)
        return reading | regions


def _being_copied_by_tma(reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
    """Regions that TMA may be reading. A barrier does not end such reads."""
    return frozenset(region for region in reading if region.copied)


def _read_by_threads(reading: frozenset[SmemRegion]) -> frozenset[SmemRegion]:
    """After a wait for TMA, its regions count as read by threads: only the waiting threads observe the completion."""
    return frozenset(replace(region, copied=False) for region in reading)


def _uses_region(op: Operation) -> bool:
    return "scratch_offset" in op.attributes or _uses_stage(op)


def _uses_stage(op: Operation) -> bool:
    """Whether an operation of all threads accesses a stage. MMAs without a result in registers are waited for otherwise."""
    return op.name in STAGE_BUFFER_USERS or is_async_mma(op) and bool(op.results)
