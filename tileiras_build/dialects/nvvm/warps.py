"""Instructions that the lanes of a warp, or the warps of a CTA, execute together.

``nvvm.shfl.sync.b32`` is PTX's instruction on a word, with its mode as a word; MLIR's ``nvvm.shfl.sync`` stands in
``ops_thread``. The barriers of a CTA take their number as an operand, as LLVM's intrinsics do.
Source: PTX ISA 9.0: shfl.sync, barrier, bar.warp.sync, elect.sync.
"""

from __future__ import annotations

from xdsl.ir import Operation

from .rows import ALL, Intrinsic, Text, instruction, word


def _shuffle(op: Operation) -> str:
    return f"shfl.sync.{word(op, 'mode')}.i32"


def _together(name: Text) -> Intrinsic:
    return Intrinsic(name, ALL, convergent=True)


ShuffleOp = instruction(
    "shfl.sync.b32",
    "mask word lane clamp",
    "value",
    "the word of another lane; `mode` says how the lane is found: idx, bfly, up, down",
    _together(_shuffle),
)
ElectOp = instruction(
    "elect.sync",
    "mask",
    "elected",
    "a struct of the elected lane's number and whether this is it",
    _together("elect.sync"),
)
BarWarpSyncOp = instruction(
    "bar.warp.sync",
    "mask",
    "",
    "the lanes of a mask meet",
    _together("bar.warp.sync"),
)
BarrierCountOp = instruction(
    "barrier.cta.sync.aligned.count",
    "barrier threads",
    "",
    "as many threads of the CTA meet",
    _together("barrier.cta.sync.aligned.count"),
)
BarrierArriveCountOp = instruction(
    "barrier.cta.arrive.aligned.count",
    "barrier threads",
    "",
    "count as one that has come, without waiting for the others",
    _together("barrier.cta.arrive.aligned.count"),
)
