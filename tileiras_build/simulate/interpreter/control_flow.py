"""Loops, branches, terminators and queries of the launch."""

from __future__ import annotations

from math import gcd

import numpy as np

from ...ir.dialects.cuda_tile.element_types import BITS
from ...ir.dialects.cuda_tile.ops_control import BreakOp, ContinueOp, ForOp, IfOp, LoopOp, ReturnOp, YieldOp
from ...ir.dialects.cuda_tile.ops_module import GetGlobalOp, GetNumTileBlocksOp, GetTileBlockIdOp
from .element_types import element_of
from .integer_ops import to_python, wrap
from .interpreter_errors import make_fault
from .tile_block_interpreter import BlockResult, Frame, handles


@handles(BreakOp, ContinueOp, ReturnOp, YieldOp)
def terminate(frame: Frame, op) -> BlockResult:
    return BlockResult(type(op), tuple(frame.operands(op)))


@handles(ForOp)
def run_for(frame: Frame, op: ForOp):
    """A counted loop; its counter wraps in its type, so that a step may lead back into the range."""
    signed, element_type = "unsignedCmp" not in op.properties, element_of(op.lower_bound)
    number = lambda value: to_python(value, element_type, signed)
    counter, high, step = frame.get(op.lower_bound), number(frame.get(op.upper_bound)), number(frame.get(op.step))
    block, carried = op.region.block, tuple(frame.get(value) for value in op.init_values)
    bounds = number(counter), high, step, BITS[element_type], signed
    if _never_ends(*bounds) and not _may_return(op):
        message = (
            f"infinite loop: counter of type {element_type} from {number(counter)} by {step} overflows before {high}"
        )
        raise make_fault(op, "loop-endless", message)
    if frame.is_too_long(_min_iterations(*bounds)) and not _may_return(op):
        frame.raise_limit_exceeded(op)
    while number(counter) < high:
        frame.bind(block.args, (counter, *carried))
        end = frame.run(block)
        if end.kind is not ContinueOp:
            return end
        carried = end.values
        counter = wrap(np.asarray((number(counter) + step) & 0xFFFFFFFFFFFFFFFF, np.uint64), element_type)
    return carried


def _may_return(op: ForOp) -> bool:
    """Whether an operation of a loop's body may exit the kernel."""
    return any(isinstance(inside, ReturnOp) for inside in op.region.walk())


def _never_ends(low: int, high: int, step: int, bits: int, signed: bool) -> bool:
    """Whether a wrapping counter never reaches the upper bound: it takes all values at multiples of a power of two."""
    distance, largest = gcd(step, 1 << bits), (1 << bits - signed) - 1
    return low < high and largest - (largest - low) % distance < high


def _min_iterations(low: int, high: int, step: int, bits: int, signed: bool) -> int:
    """The number of iterations before the counter wraps or the loop ends."""
    smallest = -(1 << bits - 1) if signed else 0
    way = high - low if step > 0 else low - smallest
    return max(way // abs(step), 0) if step and low < high else 0


@handles(LoopOp)
def run_loop(frame: Frame, op: LoopOp):
    block, carried = op.region.block, tuple(frame.operands(op))
    while True:
        frame.bind(block.args, carried)
        end = frame.run(block)
        if end.kind is BreakOp:
            return end.values
        if end.kind is not ContinueOp:
            return end
        carried = end.values


@handles(IfOp)
def run_if(frame: Frame, op: IfOp):
    region = op.then_region if bool(frame.get(op.condition)) else op.else_region
    if not region.blocks:
        return ()
    end = frame.run(region.block)
    return end.values if end.kind is YieldOp else end


@handles(GetTileBlockIdOp)
def get_tile_block_id(frame: Frame, op) -> tuple:
    return tuple(np.int32(index) for index in frame.block_id)


@handles(GetNumTileBlocksOp)
def get_num_tile_blocks(frame: Frame, op) -> tuple:
    return tuple(np.int32(size) for size in frame.launch.grid)


@handles(GetGlobalOp)
def get_global(frame: Frame, op: GetGlobalOp):
    return np.asarray(frame.launch.globals[op.symbol.root_reference.data], np.uint64)
