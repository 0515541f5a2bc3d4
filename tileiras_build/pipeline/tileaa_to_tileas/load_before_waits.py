"""Load tiles before the wait for the result that they are combined with: a bias of scores would be waited for behind the MMA, not beside it.

In:    counted loops of consumer partitions that wait for MMAs, read accumulators from tensor memory, and load other tiles behind that; and
       what stands before a loop, as its first iteration and the loads for the second one.
Out:   such a load stands before the wait, with the pure operations that compute its operands, and the conversion of its tile. The tile
       and the accumulator are live together in either order. Before the first loop of a block it stands before the first such wait.
After: prefetch_gathered_tiles and overlap_mmas, which have moved what they can. Before: limit_conversion_scratch, allocate_shared_memory:
       the order of conversions is final.
Sound: no token orders such a load after a write or an acquire, and its mask moves with it. What it passes does not end the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.ir import Block, Operation

from ...ir.casting import as_op, parent_block
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    BarrierOp,
    ConsumerWaitOp,
    ConvertLayoutOp,
    TmemLoadOp,
)
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma, is_counted_loop, is_loop, is_value_forwarding
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.memory_semantics import semantic_of
from ..analysis.op_queries import LOADS, is_pure, is_tile, may_end, operations_behind
from ..analysis.resource_model import exceeds_registers_of_partition
from ..analysis.scalar_slice import is_unordered_token
from ..job import Job
from ..pass_manager import EdgePass
from .issue_behind import STORES
from .op_insertion import insert_before

PASSED = (AdvanceOp, BarrierOp, ConsumerWaitOp, TmemLoadOp, COUNTERPARTS["nv_tileaa.yield"])


class LoadBeforeWaits(EdgePass):
    """Loads before waits for MMAs."""

    name = "tileas-load-before-waits"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if job.opt_level == 0:
            return
        for switch in [op for op in walk(func) if is_agent_switch(op)]:
            loops = [op for op in walk(switch.regions[-1]) if is_counted_loop(op)]
            bodies = [loop.regions[0].blocks[0] for loop in loops]
            for block in dict.fromkeys((*bodies, *map(parent_block, loops))):
                _load_before_waits(block, block in bodies, func, job)


def _load_before_waits(block: Block, is_repeated: bool, func: TableOp, job: Job) -> None:
    """Move the loads of a block: one for each wait, and others as far as threads have registers for them beside the accumulator."""
    held = dict[Operation, int]()
    for load in [as_op(op) for op in block.ops if _is_by_threads(op)]:
        if not (passed := _passed(load) if is_repeated else _passed_before_loop(load)):
            continue
        own, wait = tile_registers(load.value), passed[0]
        accumulators = sum(tile_registers(op.results[0]) for op in passed if isinstance(op, TmemLoadOp))
        beside = held.get(wait, 0)
        if beside and exceeds_registers_of_partition(accumulators + beside + own, func, job):
            continue
        if _move(load, passed):
            held[wait] = beside + own


def _is_by_threads(op: Operation) -> bool:
    """Whether an operation is a load of a tile, by threads, that orders nothing, and that no token orders behind a write."""
    if op.name not in LOADS or not is_tile(op.results[0]) or semantic_of(op) != "weak":
        return False
    return is_unordered_token(as_op(op).token) and {"tma", "lazy", "read_by_threads"}.isdisjoint(op.attributes)


def _move(load: TableOp, passed: Sequence[Operation]) -> bool:
    """Move a load before the operations that it passes; False where one of them that does more than compute computes its operands."""
    needed = operations_behind(load.operands, parent_block(load))
    computation = [op for op in passed if op in needed]
    if not all(map(_is_free, computation)):
        return False
    for op in (*computation, load, *_conversion(load)):
        op.detach()
        insert_before(op, passed[0])
    return True


def _passed(load: Operation) -> list[Operation]:
    """The operations from the last wait before a load that it may pass, and a read of tensor memory follows; none where there is no such wait."""
    found: list[Operation] = []
    op = load.prev_op
    while op is not None and _may_be_passed(op):
        found.insert(0, op)
        if isinstance(op, ConsumerWaitOp) and any(isinstance(one, TmemLoadOp) for one in found):
            return found
        op = op.prev_op
    return []


def _passed_before_loop(load: Operation) -> list[Operation]:
    """The same from the first wait on, if the first loop of the block is behind the load: behind a loop, conversions may have scratch memory
    where MMAs that are waited for still read stages.
    """
    loop = next((op for op in parent_block(load).ops if _has_loop(op)), None)
    if loop is None or not load.is_before_in_block(loop):
        return []
    found: list[Operation] = []
    op = load.prev_op
    while op is not None and (op.name in STORES or _may_be_passed(op)):
        found.insert(0, op)
        op = op.prev_op
    first = next((place for place, op in enumerate(found) if isinstance(op, ConsumerWaitOp)), len(found))
    return found[first:] if any(isinstance(op, TmemLoadOp) for op in found[first:]) else []


def _has_loop(op: Operation) -> bool:
    return any(map(is_loop, walk(op)))


def _may_be_passed(op: Operation) -> bool:
    """Whether an operation, and those inside it, only compute, wait for stages and MMAs, or issue MMAs."""
    alone = (inner for inner in walk(op) if not inner.regions)
    return not may_end(op) and all(isinstance(one, PASSED) or is_async_mma(one) or is_pure(one) for one in alone)


def _is_free(op: Operation) -> bool:
    return is_pure(op) and not op.regions


def _conversion(load: TableOp) -> list[Operation]:
    """The conversion of what is loaded, with the operations between, where nothing else uses these."""
    found: list[Operation] = []
    value = load.value
    while len(uses := list(value.uses)) == 1:
        user = uses[0].operation
        if user.parent is not load.parent or not (is_value_forwarding(user) or isinstance(user, ConvertLayoutOp)):
            break
        found.append(user)
        value = user.results[0]
    behind = list(takewhile(lambda op: not isinstance(op, ConvertLayoutOp), reversed(found)))
    return found[: len(found) - len(behind)]
