"""Loops, branches, terminators and what a kernel can ask about its launch."""

from __future__ import annotations

import numpy as np

from ..dialects.cuda_tile.ops_control import BreakOp, ContinueOp, ForOp, IfOp, LoopOp, ReturnOp, YieldOp
from ..dialects.cuda_tile.ops_module import GetGlobalOp, GetNumTileBlocksOp, GetTileBlockIdOp
from .faults import fault
from .formats import element_of
from .integers import to_python
from .machine import Exit, Frame, handles


@handles(BreakOp, ContinueOp, ReturnOp, YieldOp)
def terminate(frame: Frame, op) -> Exit:
    return Exit(type(op), tuple(frame.operands(op)))


@handles(ForOp)
def run_for(frame: Frame, op: ForOp):
    signed = "unsignedCmp" not in op.properties
    element_type = element_of(op.lower_bound)
    low, high, step = (
        to_python(frame.get(value), element_type, signed) for value in (op.lower_bound, op.upper_bound, op.step)
    )
    if step <= 0:
        raise fault(op, "loop-step", f"the step must be positive, got {step}")
    block, carried = op.region.block, tuple(frame.get(value) for value in op.init_values)
    dtype = frame.get(op.lower_bound).dtype
    for counter in range(low, high, step):
        frame.bind(block.args, (np.asarray(counter).astype(dtype), *carried))
        end = frame.run(block)
        if end.kind is not ContinueOp:
            return end
        carried = end.values
    return carried


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
