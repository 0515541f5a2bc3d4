"""Instructions that the lanes of a warp, or the warps of a CTA, execute together.

``nvvm.shfl.sync`` and ``nvvm.barrier0`` are MLIR's, in ``ops_thread``. The barrier id of a named barrier is an operand,
as in LLVM's intrinsics.
Source: PTX ISA 9.0: barrier, bar.warp.sync, elect.sync.
"""

from __future__ import annotations

from .intrinsic_or_inline_asm import ALL, Intrinsic, define_instruction


def _convergent(name: str) -> Intrinsic:
    return Intrinsic(name, ALL, convergent=True)


ElectOp = define_instruction(
    "elect.sync",
    "mask",
    "elected",
    "a struct of the elected lane and whether this lane is it",
    _convergent("elect.sync"),
)
BarWarpSyncOp = define_instruction(
    "bar.warp.sync",
    "mask",
    "",
    "barrier of the lanes of a mask",
    _convergent("bar.warp.sync"),
)
BarrierCountOp = define_instruction(
    "barrier.cta.sync.aligned.count",
    "barrier threads",
    "",
    "named barrier of so many threads of the CTA",
    _convergent("barrier.cta.sync.aligned.count"),
)
BarrierArriveCountOp = define_instruction(
    "barrier.cta.arrive.aligned.count",
    "barrier threads",
    "",
    "arrive at a named barrier, without waiting",
    _convergent("barrier.cta.arrive.aligned.count"),
)
