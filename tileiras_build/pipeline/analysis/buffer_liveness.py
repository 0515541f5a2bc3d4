"""The live ranges of stage buffers in shared memory, and the operations inside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import ancestor_in, as_op, ops_behind, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConsumerWaitOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, is_agent_switch, is_async_mma, traits_of
from ..mma.dots import accumulates_in_registers
from .enclosing_control_flow import enclosing_kernel
from .op_queries import is_own

WAIT = ConsumerWaitOp.name


@dataclass(frozen=True)
class LiveRange:
    """The range in which a stage buffer holds tiles: from its first use in one block to the last one, or to the wait for the last MMA that
    reads it: one may be in flight in the next iteration.
    """

    block: Block
    first: Operation
    last: Operation

    @classmethod
    def of(cls, ring: TableOp) -> LiveRange:
        users = [use.operation for use in ring.result.uses if use.operation.name != ring.name] or [ring]
        users += _ends_of_reads(users)
        block = next(block for block in blocks_around(users[0]) if has_all(block, users))
        switch = unwrap(ancestor_in(users[0], block))
        if is_agent_switch(switch):
            return cls._extended_by_partition(switch.regions[-1].blocks[0], users)
        return cls.within(block, users)

    @classmethod
    def within(cls, block: Block, ops: Iterable[Operation]) -> LiveRange:
        """From the first to the last operation of a block that is or contains one of ``ops``."""
        lifted = {ancestor_in(op, block) for op in ops}
        ordered = [op for op in block.ops if op in lifted]
        return cls(block, ordered[0], ordered[-1])

    @classmethod
    def _extended_by_partition(cls, block: Block, users: list[Operation]) -> LiveRange:
        """Another partition may fill the buffer from its start, until the last tile is read here.

        If a third partition reads the tiles, a wait here for its results ends the range, even where threads access the stages, too.
        """
        here = [op for op in users if ancestor_in(op, block)]
        if not here or any(is_async_mma(op) for op in users if op not in here):
            here += [op for op in walk(block) if op.name == WAIT]
        lifted = {ancestor_in(op, block) for op in here}
        return cls(block, unwrap(block.first_op), [op for op in block.ops if op in lifted][-1])

    def covers(self, op: Operation) -> bool:
        place = ancestor_in(op, self.block)
        return (
            place is not None and not place.is_before_in_block(self.first) and not self.last.is_before_in_block(place)
        )


def rings_of_loops(rings: Iterable[TableOp]) -> tuple[list[TableOp], list[list[TableOp]]]:
    """The rings that have bytes of their own (not those over another one), and those of each loop whose warps read their own copies: such
    loops drain their rings, and run one after another, so they share bytes.
    """
    alone, loops = list[TableOp](), dict[Operation, list[TableOp]]()
    for ring in (ring for ring in rings if ring.over is None):
        (loops.setdefault(loop_of(ring), []) if is_own(ring.result) else alone).append(ring)
    return alone, list(loops.values())


def loop_of(ring: TableOp) -> Operation:
    """The last loop that reads a ring whose warps read their own copies."""
    return LiveRange.of(ring).last


def has_all(block: Block, ops: Iterable[Operation]) -> bool:
    """Whether operations are in a block, at any depth."""
    return all(ancestor_in(op, block) for op in ops)


def blocks_around(op: Operation) -> Iterator[Block]:
    """The blocks around an operation, innermost first."""
    place: Operation | None = op
    while place is not None and (block := place.parent) is not None:
        yield block
        place = place.parent_op()


# ---- MMAs in flight ------------------------------------------------------------------------------------------------
def _ends_of_reads(users: Iterable[Operation]) -> list[Operation]:
    """Where the compute warps have waited for the MMAs among the users of a buffer; all of their waits where that is not known."""
    found = list[Operation]()
    for mma in filter(is_async_mma, users):
        block = block_of_compute_warps(mma)
        end = end_of_reads(as_op(mma)) if ancestor_in(mma, block) else None
        found += [op for op in walk(block) if op.name == WAIT] if end is None else [end]
    return found


def block_of_compute_warps(op: Operation) -> Block:
    """The last partition of the switch around an operation, or the kernel's block."""
    around = (block.parent_op() for block in blocks_around(op))
    switch = next((place for place in around if place is not None and is_agent_switch(place)), None)
    return enclosing_kernel(op).regions[0].blocks[0] if switch is None else switch.regions[-1].blocks[0]


def end_of_reads(mma: TableOp) -> Operation | None:
    """Where threads have waited for an MMA, behind it or behind a loop around it; None where the wait is not known."""
    if mma.results and mma.pending == 0:
        return mma
    ready: set[SSAValue | None] = set() if mma.results else {mma.ready}
    place: Operation | None = mma
    while place is not None and not is_agent_switch(place):
        for op in ops_behind(place):
            if MmaRole.COMMIT in traits_of(op).mma:
                ready.add(as_op(op).ready)
            elif _waits_for_registers(op) if mma.results else _waits_for_all(op, ready):
                return op
        place = place.parent_op()
    return None


def _waits_for_registers(op: Operation) -> bool:
    """Whether an operation waits for all MMAs that accumulate in registers."""
    waits = MmaRole.WAIT in traits_of(op).mma or accumulates_in_registers(op)
    return waits and as_op(op).pending == 0


def _waits_for_all(op: Operation, ready: set[SSAValue | None]) -> bool:
    """Whether all threads wait for the MMAs that fill one of some pipelines. In one of several stages, later MMAs may be in flight."""
    if op.name != ConsumerWaitOp.name or (wait := as_op(op)).pipeline not in ready:
        return False
    return not wait.by_issuer and wait.pipeline.type.stages.data == 1
