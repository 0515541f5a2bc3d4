"""Ping-pong warpgroups: named barriers order their MMAs (PTX ISA 9.0, section 9.7.13.1, barrier).

Each warpgroup has a named barrier, shared with the warpgroup before it: that one arrives after its MMAs, this one waits
before its own. The first arrival of the last warpgroup, and the last wait of the first, are outside the loop.
"""

from __future__ import annotations

from ....ir.casting import int_attr
from ....ir.dialects.nvvm.warp_sync import BarrierArriveCountOp, BarrierCountOp
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_type_constructors import I32
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.instruction_builder import InstructionBuilder
from ...tileas_to_ll.emission.kernel_emitter import Handler, KernelEmitter
from ...tileas_to_ll.emission.kernel_memory import COMPUTE_BARRIER
from ...tileas_to_ll.emission.thread_ids import ThreadIds

FIRST_BARRIER = COMPUTE_BARRIER + 1
WARPS = 4  # of a warpgroup


def _warpgroups(op: TableOp) -> int:
    return int_attr(op, "warpgroups")


def _warpgroup(threads: ThreadIds) -> Value:
    with threads.b.at_function_start():
        return threads.b.shift(threads.uniform_warp, -2)


def _named_barrier(b: InstructionBuilder, kind: type[TableOp], barrier: Value) -> None:
    b.issue(kind, barrier, 2 * 32 * WARPS)


def emit_open(e: KernelEmitter, op: TableOp) -> None:
    with e.b.at_function_start():
        is_last = e.b.compare("uge", e.threads.uniform_warp, WARPS * (_warpgroups(op) - 1))
    with e.b.if_then(is_last):
        _named_barrier(e.b, BarrierArriveCountOp, FIRST_BARRIER)


def emit_wait(e: KernelEmitter, op: TableOp) -> None:
    _named_barrier(e.b, BarrierCountOp, e.b.add(_warpgroup(e.threads), FIRST_BARRIER))


def emit_arrive(e: KernelEmitter, op: TableOp) -> None:
    """Arrive at the barrier of the next warpgroup; after the last one, of the first."""
    b, count = e.b, _warpgroups(op)
    with e.b.at_function_start():
        following = b.add(_warpgroup(e.threads), 1)
        wraps = b.compare("eq", following, count)
        barrier = b.add(b.select(wraps, 0, following, I32), FIRST_BARRIER)
    _named_barrier(e.b, BarrierArriveCountOp, barrier)


def emit_close(e: KernelEmitter, op: TableOp) -> None:
    with e.b.at_function_start():
        is_first = e.b.compare("ult", e.threads.uniform_warp, WARPS)
    with e.b.if_then(is_first):
        _named_barrier(e.b, BarrierCountOp, FIRST_BARRIER)


BARRIER_HANDLERS: dict[str, Handler] = {
    "nv_tileas.async.sequence.open": emit_open,
    "nv_tileas.async.sequence.wait": emit_wait,
    "nv_tileas.async.sequence.arrive": emit_arrive,
    "nv_tileas.async.sequence.close": emit_close,
}
