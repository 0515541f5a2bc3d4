"""Issue the loads in front of a consumer's loop together: the barriers of a layout conversion would let each wait for the one before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.ir import Operation

from ...ir.casting import as_op, parent_block
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ...ir.dialects.op_traits import is_agent_switch
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.memory_semantics import semantic_of
from ..analysis.op_queries import LOADS, is_pure, is_tile, operations_behind
from ..analysis.resource_model import accumulators_fit
from ..job import Job


def load_before_conversions(func: Operation, job: Job) -> None:
    """In each consumer, move loads of its first block that depend on no conversion before the first one, while registers hold the tiles."""
    for switch in [op for op in walk(func) if is_agent_switch(op)]:
        block = switch.regions[-1].blocks[0]
        ops = list(takewhile(_acts_alone, block.ops))
        first = next((n for n, op in enumerate(ops) if isinstance(op, ConvertLayoutOp)), None)
        if first is not None:
            _load_before(ops[first], ops[:first], ops[first + 1 :], func, job)


def _load_before(
    first: Operation, before: Sequence[Operation], behind: Sequence[Operation], func: Operation, job: Job
) -> None:
    """Nothing else is held before the loop: what was loaded and the first conversion are all that counts."""
    block = parent_block(first)
    held = sum(_registers(op) for op in (first, *before) if op is first or op.name in LOADS)
    for load in [op for op in behind if op.name in LOADS]:
        computation = operations_behind(load.operands, block)
        if any(isinstance(op, ConvertLayoutOp) for op in computation):
            continue
        held += _registers(load)
        if not accumulators_fit(held, func, job, as_op(func).num_warps):
            return
        for op in [op for op in behind if op is load or op in computation]:
            if first.is_before_in_block(op):
                op.detach()
                block.insert_op_before(op, first)


def _registers(op: Operation) -> int:
    return sum(tile_registers(value) for value in op.results if is_tile(value))


def _acts_alone(op: Operation) -> bool:
    """Whether no other operation can tell where this one stands, but for those that use its results."""
    if op.name in LOADS:
        return semantic_of(op) == "weak" and {"tma", "lazy", "read_by_threads"}.isdisjoint(op.attributes)
    return isinstance(op, ConvertLayoutOp) or is_pure(op) and not op.regions
