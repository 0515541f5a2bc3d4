"""Hoist conversions of layouts out of the loops whose iterations convert the same tile again.

A kernel masks the accesses of each iteration by rows that it compared before the loop, or compares them in the loop though no operand
changes. Where the access has another layout than the rows, each iteration would exchange them through shared memory and wait for all
threads, which LLVM cannot hoist.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from ....ir.casting import parent_block, parent_op
from ....ir.dialects.cute import layout_of
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.op_traits import is_loop
from ...analysis.op_queries import dots_in, is_outside, is_pure, may_divide_by_zero
from ...mma.family import Storage, family_of

# Of a thread, which has 255: the tile is live across the loop beside accumulators, addresses, and what is loaded ahead.
MOST_REGISTERS, MOST_ACCUMULATORS = 16, 127
CONVERSION = "nv_tileas.convert_layout"


def hoist_conversions(func: Operation) -> None:
    """Move conversions of small tiles that change in no iteration before their loops, with what computes the tiles."""
    for op in [op for op in walk(func) if op.name == CONVERSION]:
        if layout_of(op.results[0]).num_registers > MOST_REGISTERS:
            continue
        while is_loop(loop := parent_op(op)) and _accumulators(loop) <= MOST_ACCUMULATORS:
            if (moved := _invariant_ops(op, parent_block(op))) is None:
                break
            for each in moved:
                each.detach()
                parent_block(loop).insert_op_before(each, loop)


def _accumulators(loop: Operation) -> int:
    """Registers of a thread for the results of a loop's dots, but for those in tensor memory."""
    dots = dots_in(loop)
    kept = [dot for dot in dots if dot.mma is None or family_of(dot).accumulator is not Storage.TENSOR]
    return sum(layout_of(dot.result).num_registers for dot in kept)


def _invariant_ops(op: Operation, body: Block) -> list[Operation] | None:
    """``op`` and the operations of a loop's body from which it follows, in their order; None if an iteration changes it."""
    found, waiting = {op}, list(op.operands)
    while waiting:
        value = waiting.pop()
        if is_outside(value, body):
            continue
        owner = value.owner
        if isinstance(owner, Block) or not _computes(owner):
            return None
        found.add(owner)
        waiting += owner.operands
    return [each for each in body.ops if each in found]


def _computes(op: Operation) -> bool:
    """Whether an operation may be executed where the program might not reach it."""
    return op.name == CONVERSION or is_pure(op) and not op.regions and not may_divide_by_zero(op)
