"""Order the MMAs of warpgroups (ping-pong): one issues MMAs while another computes its next left operands.

In:    loops with several dots of warpgroups (async.dot), issued before the wait for the first of them.
Out:   ``async.sequence.wait`` before the first of these dots, ``arrive`` after the last; ``open`` and ``close`` around
       the consumer partition.
After: rotate_mma_loop (which issues them in sequence), allocate_shared_memory (all barriers of the partition exist).
Sound: inside its section a warpgroup waits for another one only for stages that are released outside of sections. All
       warpgroups run the same program, so they enter equally many sections, and each wait has one matching arrival.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import parent_block, terminator, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    ConsumerWaitOp,
    SequenceArriveOp,
    SequenceCloseOp,
    SequenceOpenOp,
    SequenceWaitOp,
)
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_counted_loop
from ..analysis.op_queries import is_pure
from ..analysis.resource_model import WARPGROUP
from ..job import Job
from ..mma.dots import accumulates_in_registers
from ..pass_manager import EdgePass

MIN_WARPGROUPS = 2


class PingPongWarpgroups(EdgePass):
    """Exclusive sections of warpgroups."""

    name = "tileas-ping-pong-warpgroups"
    knob = "ping_pong"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        switches = [op for op in walk(func) if is_agent_switch(op)]
        return any([_insert_ordering_barriers(switch, func.num_warps // WARPGROUP) for switch in switches])


def _insert_ordering_barriers(switch: Operation, warpgroups: int) -> bool:
    """Order the warpgroups of a kernel; whether they have sections to order."""
    consumers = switch.regions[-1].blocks[0]
    sections = [
        section for loop in walk(consumers) if is_counted_loop(loop) and (section := _find_exclusive_section(loop))
    ]
    if warpgroups < MIN_WARPGROUPS or not sections:
        return False
    for section in sections:
        parent_block(section[0]).insert_op_before(SequenceWaitOp.make([], [], warpgroups=warpgroups), section[0])
        parent_block(section[-1]).insert_op_after(SequenceArriveOp.make([], [], warpgroups=warpgroups), section[-1])
    consumers.insert_op_before(SequenceOpenOp.make([], [], warpgroups=warpgroups), unwrap(consumers.first_op))
    consumers.insert_op_before(SequenceCloseOp.make([], [], warpgroups=warpgroups), terminator(consumers))
    return True


def _find_exclusive_section(loop: Operation) -> list[Operation]:
    """The operations from the first to the last dot of a loop body that are issued before any wait; empty for one dot."""
    ops = list(loop.regions[0].blocks[0].ops)
    issued = [op for op in ops if accumulates_in_registers(op) and op.pending is None]
    if len(issued) < 2:
        return []
    section = ops[ops.index(issued[0]) : ops.index(issued[-1]) + 1]
    return section if all(_is_independent_of_others(op) for op in section) else []


def _is_independent_of_others(op: Operation) -> bool:
    """Whether the operands of an MMA do not depend on other warpgroups: they are registers or loaded stages."""
    if accumulates_in_registers(op) or isinstance(op, ConsumerWaitOp):
        return True
    return "scratch_bytes" not in op.attributes and is_pure(op)
