"""Warpgroups that take turns (PTX ISA 9.0, section 9.7.13.1, barrier).

Each warpgroup has a named barrier of its own threads and those of the one before it: these arrive when their turn is
over, its own wait. The last one's first arrival, and the first one's last wait, stand outside all turns.
"""

from __future__ import annotations

from ....ir.casting import number_of
from ....ir.dialects.nvvm.warp_sync import BarrierArriveCountOp, BarrierCountOp
from ....ir.dialects.op_definition import TableOperation
from ...common.llvm_types import I32
from ..emission.function_builder import Value
from ..emission.kernel_emitter import COMPUTE_BARRIER, Handler, KernelEmitter

FIRST_BARRIER = COMPUTE_BARRIER + 1
WARPS = 4  # of a warpgroup


def _warpgroups(op: TableOperation) -> int:
    return number_of(op, "warpgroups")


def _warpgroup(e: KernelEmitter) -> Value:
    with e.b.in_prologue():
        return e.b.shift(e.uniform_warp, -2)


def _meet(e: KernelEmitter, kind: type[TableOperation], barrier: Value) -> None:
    e.b.issue(kind, barrier, 2 * 32 * WARPS)


def emit_open(e: KernelEmitter, op: TableOperation) -> None:
    with e.b.in_prologue():
        is_last = e.b.compare("uge", e.uniform_warp, WARPS * (_warpgroups(op) - 1))
    with e.b.when(is_last):
        _meet(e, BarrierArriveCountOp, FIRST_BARRIER)


def emit_wait(e: KernelEmitter, op: TableOperation) -> None:
    _meet(e, BarrierCountOp, e.b.add(_warpgroup(e), FIRST_BARRIER))


def emit_arrive(e: KernelEmitter, op: TableOperation) -> None:
    """At the barrier of the next warpgroup: of the first one, after the last."""
    b, count = e.b, _warpgroups(op)
    with e.b.in_prologue():
        following = b.add(_warpgroup(e), 1)
        wraps = b.compare("eq", following, count)
        barrier = b.add(b.select(wraps, 0, following, I32), FIRST_BARRIER)
    _meet(e, BarrierArriveCountOp, barrier)


def emit_close(e: KernelEmitter, op: TableOperation) -> None:
    with e.b.in_prologue():
        is_first = e.b.compare("ult", e.uniform_warp, WARPS)
    with e.b.when(is_first):
        _meet(e, BarrierCountOp, FIRST_BARRIER)


HANDLERS: dict[str, Handler] = {
    "nv_tileas.async.sequence.open": emit_open,
    "nv_tileas.async.sequence.wait": emit_wait,
    "nv_tileas.async.sequence.arrive": emit_arrive,
    "nv_tileas.async.sequence.close": emit_close,
}
