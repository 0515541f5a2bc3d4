"""Place the shared memory that operations use while they run, and the barriers that keep them apart.

In:    nv_tileas operations with layouts.
Out:   scratch_bytes and scratch_offset on operations that exchange data between threads, sync_before where another
       operation's data may still be read; shared_bytes on the kernel; convert_layouts that stand together are one.
After: assign_layouts, order_tokens. Before: LLVM IR is written.
Sound: a walk over the program keeps the regions that may still be read since the last barrier: a loop's body is
       walked with what its own end leaves, too; an operation that writes to one of them gets a barrier first. Each
       operation has its own barrier between its writes and its reads. Scratch shares bytes with a ring only outside the statements of one block that fill and
       drain the ring, at whose end every thread has waited for its copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i32
from xdsl.ir import Block, Operation

from ...dialects.nv_tileas.ops import (
    AsyncTiledTmaStoreOp,
    AsyncTmaStoreWaitOp,
    BarrierOp,
    ConsumerWaitOp,
    ConvertLayoutOp,
)
from ...dialects.nv_tileas.types import BufferType
from ...errors import Unsupported
from ...layouts import SharedRoundTrip
from ..analysis.conversions import conversion_plan
from ..analysis.kinds import is_tile
from ..contracts import EdgePass
from ..job import Job
from ..shared.element_types import element_of

# Scratch starts on a row of all banks; a ring where the longest swizzle repeats.
ALIGNMENT, RING_ALIGNMENT = 128, 1024
STORE_BY_TMA, STORE_WAIT, WAIT = AsyncTiledTmaStoreOp.name, AsyncTmaStoreWaitOp.name, ConsumerWaitOp.name
# What names the instruction of a product; one without reads its operands from scratch.
TENSOR_CORES = ("atom", "warpgroup", "tensor_memory")
ADDRESS_BYTES = 16  # of an address that one thread leaves for all
TENSOR_ADDRESS_BYTES = 16  # where an allocation of tensor memory leaves its address


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


class AssignScratch(EdgePass):
    """Sizes, offsets, barriers."""

    name = "tileas-assign-scratch"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if func.name == "nv_tileaa.func":
                _assign(func, job)


def _assign(func: Operation, job: Job) -> None:
    _group_conversions(func)
    users = []
    for op in func.walk():
        if op.name in SIZES and (size := SIZES[op.name](op, job)):
            op.attributes["scratch_bytes"] = IntegerAttr(size, i32)
            users.append(op)
    total = _place_shared(func, users, job.target.max_shared_memory)
    _check_size(total, job)
    if total:
        func.attributes["shared_bytes"] = IntegerAttr(total, i32)
    _Hazards(func).run()


def _place_shared(func: Operation, users: list[Operation], most: int) -> int:
    """Offsets of all shared memory; its size. From the bottom: scratch beside rings, rings; other scratch over both; storage."""
    storage = _place_storage(func, 0)
    rings = [op for op in func.walk() if op.name == "nv_tileas.alloc_tensor"]
    lives = [RingLife.of(ring) for ring in rings]
    beside = [op for op in users if any(life.covers(op) for life in lives)]
    apart = [op for op in users if op not in beside]
    total = _place_rings(rings, _place(beside, most - storage - sum(map(ring_bytes, rings))))
    # Tiles for TMA were chosen for what rings leave: two at a time may not take more.
    room = total if rings and any(op.name == STORE_BY_TMA for op in apart) else most - storage
    return _place_storage(func, max(total, _place(apart, room)))


def ring_bytes(ring: Any) -> int:
    """Bytes of shared memory that an alloc_tensor takes."""
    return -(-ring.result.type.size_bytes // RING_ALIGNMENT) * RING_ALIGNMENT


def largest_scratch(ops: Iterable[Operation], job: Job) -> int:
    """Bytes of shared memory without which some of the operations cannot run."""
    sizes = (SIZES[op.name](op, job) for op in ops if op.name in SIZES)
    return max(map(aligned, sizes), default=0)


@dataclass(frozen=True)
class RingLife:
    """While a ring holds tiles: from the first to the last operation of one block in which it is used."""

    block: Block
    first: Operation
    last: Operation

    @classmethod
    def of(cls, ring: Any) -> RingLife:
        users = [use.operation for use in ring.result.uses] or [ring]
        block = next(block for block in _blocks_around(users[0]) if all(_lifted(op, block) for op in users))
        switch = _lifted(users[0], block)
        if switch.name == "nv_tileas.agent_switch":
            return cls._beside_agent(switch.regions[-1].blocks[0], users)
        lifted = {_lifted(op, block) for op in users}
        ordered = [op for op in block.ops if op in lifted]
        return cls(block, ordered[0], ordered[-1])

    @classmethod
    def _beside_agent(cls, block: Block, users: list[Operation]) -> RingLife:
        """Another agent may fill the ring as soon as there are agents, until the last of its tiles is read here.

        Where a third one reads them, what is waited for here is done with them.
        """
        here = [op for op in users if _lifted(op, block)] or [op for op in block.walk() if op.name == WAIT]
        lifted = {_lifted(op, block) for op in here}
        return cls(block, block.first_op, [op for op in block.ops if op in lifted][-1])

    def covers(self, op: Operation) -> bool:
        place = _lifted(op, self.block)
        return (
            place is not None and not place.is_before_in_block(self.first) and not self.last.is_before_in_block(place)
        )


def _blocks_around(op: Operation) -> Iterator[Block]:
    """The blocks that an operation lies in, innermost first."""
    place: Operation | None = op
    while place is not None and (block := place.parent) is not None:
        yield block
        place = place.parent_op()


def _lifted(op: Operation, block: Block) -> Operation | None:
    """The operation of ``block`` that is or contains ``op``."""
    place: Operation | None = op
    while place is not None and place.parent is not block:
        place = place.parent_op()
    return place


def _place(users: list[Operation], room: int) -> int:
    """Neighbors alternate between two regions, so that one need not wait for the other's readers; one if both do not fit.

    ``room`` is the bytes that are left for scratch. What TMA reads starts where its swizzle does.
    """
    unit = RING_ALIGNMENT if any(op.name == STORE_BY_TMA for op in users) else ALIGNMENT
    sizes = [-(-op.attributes["scratch_bytes"].value.data // unit) * unit for op in users]
    first, second = max(sizes[0::2], default=0), max(sizes[1::2], default=0)
    alternate = first + second <= room
    for number, op in enumerate(users):
        op.attributes["scratch_offset"] = IntegerAttr(first if alternate and number % 2 else 0, i32)
    return first + second if alternate else max(first, second)


def _check_size(total: int, job: Job) -> None:
    if total > job.target.max_shared_memory:
        raise Unsupported(
            "shared-memory",
            f"the kernel needs {total} bytes of shared memory, {job.target.name} has {job.target.max_shared_memory}",
            remedy="use smaller tiles",
        )


def _place_rings(rings: list[Any], total: int) -> int:
    """Rings lie behind the scratch that is used while they hold tiles."""
    for ring in rings:
        start = -(-total // RING_ALIGNMENT) * RING_ALIGNMENT
        ring.attributes["shared_offset"] = IntegerAttr(start, i32)
        total = start + ring.result.type.size_bytes
    return total


def _place_storage(func: Operation, total: int) -> int:
    """Storage that lives as long as the kernel lies behind all else."""
    for op in func.walk():
        if op.name == "nv_tileas.async.pipeline.create":
            op.attributes["shared_offset"] = IntegerAttr(aligned(total), i32)
            total = aligned(total) + op.result.type.size_bytes
        if op.name == "nv_tileas.create_tmem":
            op.attributes["shared_offset"] = IntegerAttr(aligned(total), i32)
            total = aligned(total) + TENSOR_ADDRESS_BYTES
        if op.name != "nv_tileas.alloca":
            continue
        size, alignment = _storage(op)
        total = -(-total // alignment) * alignment
        op.attributes["shared_offset"] = IntegerAttr(total, i32)
        total += size
    return total


def _storage(op: Any) -> tuple[int, int]:
    """Size and alignment, bytes, of what an alloca needs in shared memory: itself, or its address on the heap."""
    if "global" in op.attributes:
        return ADDRESS_BYTES, ADDRESS_BYTES
    size = element_of(op.result.type.pointee).global_bytes(op.attributes["num_elem"].value.data)
    return size, max(op.attributes["alignment"].value.data, 16)


# ---- sizes ---------------------------------------------------------------------------------------
def conversion_bytes(op: Any, job: Job) -> int:
    total = 0
    for source, result in zip(op.operands, op.results):
        plan = conversion_plan(
            job.target, source.type.encoding.data, result.type.encoding.data, element_of(source.type)
        )
        if isinstance(plan, SharedRoundTrip):
            total += aligned(plan.scratch_bytes)
    return total


def _tile_bytes(value: Any) -> int:
    return element_of(value.type).bytes * value.type.encoding.data.size


def _reduce_bytes(op: Any, job: Job) -> int:
    axis = op.attributes["axis"].value.data
    layout = op.sources[0].type.encoding.data
    parts = 1 << layout.bits_along(axis)["warp"].bit_count()
    if parts == 1:
        return 0
    end = 0
    for source in op.sources:
        size = element_of(source.type).bytes
        end = -(-end // size) * size + parts * layout.drop_dim(axis).size * size
    return end


def _extract_bytes(op: Any, job: Job) -> int:
    return 0 if op.source.type.encoding.data.size == 1 else _tile_bytes(op.source)


def _insert_bytes(op: Any, job: Job) -> int:
    return _tile_bytes(op.result)


def _dot_bytes(op: Any, job: Job) -> int:
    if any(row in op.attributes for row in TENSOR_CORES):
        return 0
    return aligned(_tile_bytes(op.lhs)) + _tile_bytes(op.rhs)


def _atomic_bytes(op: Any, job: Job) -> int:
    if not op.results[0].uses:
        return 0
    if not is_tile(op.value):
        return 8
    layout = op.value.type.encoding.data
    return _tile_bytes(op.value) if layout.free_bits("lane") or layout.free_bits("warp") else 0


def _stored_bytes(op: Any, job: Job) -> int:
    parts, slots = (op.attributes[key].value.data for key in ("parts", "slots"))
    return op.attributes["placement"].data.size_bytes // parts * slots


SIZES = {
    "nv_tileas.convert_layout": conversion_bytes,
    "nv_tileas.reduce": _reduce_bytes,
    "nv_tileas.extract_slice": _extract_bytes,
    "nv_tileas.insert_slice": _insert_bytes,
    "nv_tileas.dot": _dot_bytes,
    "nv_tileas.atomic_rmw": _atomic_bytes,
    "nv_tileas.atomic_cas": _atomic_bytes,
    STORE_BY_TMA: _stored_bytes,
}


# ---- grouping ------------------------------------------------------------------------------------
def _group_conversions(func: Operation) -> None:
    """Conversions that stand next to each other share their barriers."""
    for op in list(func.walk()):
        if op.name == "nv_tileas.convert_layout" and op.parent is not None:
            _merge_following(op)


def _merge_following(op: Operation) -> None:
    group = [op]
    following = op.next_op
    while following is not None and following.name == "nv_tileas.convert_layout":
        if any(operand.owner in group for operand in following.operands):
            break
        group.append(following)
        following = following.next_op
    if len(group) == 1:
        return
    merged = ConvertLayoutOp.make(
        [[member.operands[0] for member in group]], [member.results[0].type for member in group]
    )
    merged.attributes.update(op.attributes)
    op.parent.insert_op_before(merged, op)
    for member, result in zip(group, merged.results):
        member.results[0].replace_all_uses_with(result)
        member.detach()
        member.erase()


# ---- barriers ------------------------------------------------------------------------------------
RING_USERS = ("nv_tileas.async_tiled_load", "nv_tileas.local_load", "nv_tileas.async.dot")


@dataclass(frozen=True)
class _Region:
    """Bytes of shared memory; ``ring`` where they hold tiles that a pipeline's own barriers protect from its copies.

    ``copied``: TMA reads them until a thread has waited for it.
    """

    start: int
    end: int
    ring: bool = False
    copied: bool = False

    @classmethod
    def all_of(cls, op: Any) -> list[_Region]:
        """The regions that an operation uses: rings, or scratch."""
        if op.name in RING_USERS:
            rings = (value.owner for value in op.operands if isinstance(value.type, BufferType))
            return [cls.of_ring(ring) for ring in rings]
        start = op.attributes["scratch_offset"].value.data
        return [cls(start, start + op.attributes["scratch_bytes"].value.data, copied=op.name == STORE_BY_TMA)]

    @classmethod
    def of_ring(cls, ring: Any) -> _Region:
        start = ring.attributes["shared_offset"].value.data
        return cls(start, start + ring.result.type.size_bytes, True)

    def meets(self, other: _Region) -> bool:
        return self.start < other.end and other.start < self.end and not (self.ring and other.ring)


MAX_STARTS = 4  # states in which one loop is entered that are told apart
JUMPS = ("nv_tileas.break", "nv_tileas.continue")


class _Hazards:
    """The regions that threads may still be reading.

    Each walk over a body walks the loops in it, so two walks per loop would be 2^depth: what a loop leaves is kept for
    each state in which it was entered, and one that is entered in many is taken to be entered in the worst.
    """

    def __init__(self, func: Operation):
        self.body = func.regions[0].blocks[0]
        self.used: dict[Block, frozenset[_Region]] = {}
        self.jumps: set[Block] = set()
        self.ends: dict[Operation, dict[frozenset[_Region], frozenset[_Region]]] = {}

    def run(self) -> None:
        self._look_inside(self.body)
        self._block(self.body, frozenset())

    def _look_inside(self, block: Block) -> None:
        """Note which regions a block uses at any depth, and whether anything in it leaves an iteration."""
        used: set[_Region] = set()
        for op in block.ops:
            if op.name in JUMPS:
                self.jumps.add(block)
            if _uses_region(op):
                used.update(_Region.all_of(op))
            for inner in (inner for region in op.regions for inner in region.blocks):
                self._look_inside(inner)
                used |= self.used[inner]
                self.jumps |= {block} if inner in self.jumps else set()
        self.used[block] = frozenset(used)

    def _block(self, block: Block, reading: frozenset[_Region]) -> frozenset[_Region]:
        for op in block.ops:
            reading = self._operation(op, reading)
        return reading

    def _operation(self, op: Operation, reading: frozenset[_Region]) -> frozenset[_Region]:
        if op.name == "nv_tileas.barrier":
            return _copied(reading)
        if op.name == STORE_WAIT:
            return _read_by_threads(reading)
        if op.name in ("nv_tileas.for", "nv_tileas.loop"):
            return self._loop(op, reading)
        if op.name == "nv_tileas.agent_switch":
            return self._block(op.regions[-1].blocks[0], reading)  # the agent that fetches uses no scratch
        if op.name == "nv_tileas.if":
            ends = [self._block(region.blocks[0], reading) for region in op.regions]
            return frozenset().union(*ends)
        return self._user(op, reading) if _uses_region(op) else reading

    def _loop(self, op: Operation, reading: frozenset[_Region]) -> frozenset[_Region]:
        """What a loop that is entered in the state ``reading`` leaves."""
        ends = self.ends.setdefault(op, {})
        if reading not in ends and len(ends) >= MAX_STARTS:
            reading |= self.used[self.body] | _read_by_threads(self.used[self.body])
        if reading not in ends:
            ends[reading] = self._repeat(op, reading)
        return ends[reading]

    def _repeat(self, op: Operation, reading: frozenset[_Region]) -> frozenset[_Region]:
        """What the end of the body reads, its start may meet; ``continue`` and ``break`` may leave with anything it reads."""
        block = op.regions[0].blocks[0]
        jumped = self.used[block] if self._jumps_inside(block) else frozenset()
        end = self._block(block, reading)
        end = self._block(block, reading | end | jumped)
        return reading | end | jumped

    def _jumps_inside(self, block: Block) -> bool:
        inner = (block for op in block.ops for region in op.regions for block in region.blocks)
        return not self.jumps.isdisjoint(inner)

    def _user(self, op: Operation, reading: frozenset[_Region]) -> frozenset[_Region]:
        regions = frozenset(_Region.all_of(op))
        met = {other for region in regions for other in reading if region.meets(other)}
        if any(other.copied for other in met):
            op.parent.insert_op_before(AsyncTmaStoreWaitOp.make([], [], {"read": UnitAttr()}), op)
            reading = _read_by_threads(reading)
        if op.name not in RING_USERS:
            if met:
                op.attributes["sync_before"] = UnitAttr()
            # Its own barrier, between writes and reads, ends all earlier reading by threads.
            return regions | _copied(reading)
        if met:
            op.parent.insert_op_before(BarrierOp.make([], []), op)
            reading = _copied(reading)
        return reading | regions


def _copied(reading: frozenset[_Region]) -> frozenset[_Region]:
    """What TMA may be reading, which no barrier ends."""
    return frozenset(region for region in reading if region.copied)


def _read_by_threads(reading: frozenset[_Region]) -> frozenset[_Region]:
    """After a wait for TMA: its regions are read like others, for threads that have not waited know nothing yet."""
    return frozenset(replace(region, copied=False) for region in reading)


def _uses_region(op: Operation) -> bool:
    return "scratch_offset" in op.attributes or op.name in RING_USERS
