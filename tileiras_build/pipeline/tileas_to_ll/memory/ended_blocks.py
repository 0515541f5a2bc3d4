"""The end of a basic block behind a load.

ptxas orders instructions within a basic block: with 32 registers for a thread, it computes with one tile before it loads the next. A branch
behind the last load keeps the computation there (``load_before_computation.py``).
"""

from __future__ import annotations

from ....ir.dialects.gpu_ext import BlockIdOp
from ....ir.dialects.nvvm.cluster_sync_and_fences import HereOp
from ....ir.dialects.nvvm.target_independent_intrinsics import TrapOp
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_type_constructors import I32
from ..emission.kernel_emitter import Handler, KernelEmitter


def ending_block(emit: Handler) -> Handler:
    """Emits a load, and the end of its block where it is marked."""

    def emit_load(e: KernelEmitter, op: TableOp) -> None:
        emit(e, op)
        if "ends_block" in op.attributes:
            _end_block(e)

    return emit_load


def _end_block(e: KernelEmitter) -> None:
    """A branch that is never taken, as no grid is so large; LLVM may not know what it tests."""
    program = e.b.issue(HereOp, e.b.query(BlockIdOp), type=I32)
    with e.b.if_then(e.b.compare("eq", program, -1)):
        e.b.issue(TrapOp)
