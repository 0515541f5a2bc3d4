"""Reads of accumulators in tensor memory behind all MMAs of a kernel, which may come later, or again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.ir import Block, Operation

from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    AsyncTiledTmaStoreOp,
    AsyncTmaStoreWaitOp,
    BarrierOp,
    ConvertLayoutOp,
    TmemLoadOp,
)
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma, is_function
from .op_queries import is_pure, is_tile

# Operations, besides pure ones, that leave tensor memory as it is.
HARMLESS = frozenset(
    (
        *(one.name for one in (AsyncTiledTmaStoreOp, AsyncTmaStoreWaitOp, BarrierOp, ConvertLayoutOp, TmemLoadOp)),
        "nv_tileas.tiled_load",
        "nv_tileas.tiled_store",
    )
)


def leaves_tensor_memory(op: Operation) -> bool:
    """Whether an operation neither writes tensor memory nor tells another partition that an MMA may be issued."""
    return op.name in HARMLESS or (is_pure(op) and not op.regions)


def behind_mmas(block: Block) -> list[Operation]:
    """The last operations of a block, behind all that issue MMAs, in program order."""
    return list(takewhile(lambda op: not any(map(is_async_mma, walk(op))), reversed(list(block.ops))))[::-1]


def late_reads(block: Block) -> list[Operation]:
    """The reads of accumulators behind which a kernel, or an iteration of a loop, only computes and stores: they hold until it ends."""
    behind = behind_mmas(block)
    reads = [place for place, op in enumerate(behind) if isinstance(op, TmemLoadOp)]
    harmless = reads and all(map(leaves_tensor_memory, behind[reads[0] : -1]))
    return [behind[place] for place in reads] if harmless and (_ends(block) or _waits_at_end(behind)) else []


def _ends(block: Block) -> bool:
    """Whether threads that execute a block end with it."""
    around = block.parent_op()
    return around is not None and (
        is_function(around) or (is_agent_switch(around) and around.regions[-1].block is block)
    )


def _waits_at_end(ops: Sequence[Operation]) -> bool:
    """Whether the operations of an iteration end with a store for which threads wait for one another behind the last use of a tile, so that
    no MMA of the next one is issued before.
    """
    *_, store, end = (None, *ops)
    return isinstance(store, AsyncTiledTmaStoreOp) and not any(map(is_tile, end.operands))
