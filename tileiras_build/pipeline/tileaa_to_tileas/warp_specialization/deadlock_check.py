"""Check that the producer and the consumer partition cannot wait for each other forever.

The producer fills the stages of its buffers in program order, and blocks at the first stage that is not released. Let a
buffer have s stages. Let an iteration load b tiles to it, up to the tile that the consumer waits for one iteration
ahead, at a position where a tiles of this iteration are not released. The last of the b tiles overwrites the tile s
before it, which must have been released by then: a + b <= s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, type_as
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import AsyncTiledTmaLoadOp, ConsumerReleaseOp, ConsumerWaitOp
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_traits import is_counted_loop

UNBOUNDED = 1 << 16  # count in an inner loop: more than there are stages


def load_completes_before(loads: Collection[Operation], position: Operation) -> bool:
    """Whether the tiles that ``loads`` load for the next iteration arrive before anything after ``position``, in a
    loop, runs.
    """
    blocks = {load.parent for load in loads}
    if len(blocks) != 1 or (block := blocks.pop()) is None:
        return False
    ops = list(block.ops)
    loaded = _count(ops[: 1 + max(map(ops.index, loads))], AsyncTiledTmaLoadOp)
    held = _stages_held_past(position)
    return all(loaded[ring] + held[ring] <= _stages(ring) for ring in _count(ops, AsyncTiledTmaLoadOp))


def _stages_held_past(position: Operation) -> Counter[SSAValue]:
    """The number of stages of each ring that are released only after ``position``, in the same or the next iteration."""
    loop = position.parent_op()
    later = [] if loop is None else [op for op in _ops_after(loop) if not is_counted_loop(op)]
    ops = [*_ops_after(position), *later]
    return _count(ops, ConsumerWaitOp) | _count(ops, ConsumerReleaseOp)


def _ops_after(position: Operation) -> list[Operation]:
    found = []
    while (following := position.next_op) is not None:
        position = following
        found.append(position)
    return found


def _count(ops: Sequence[Operation], kind: type[Operation]) -> Counter[SSAValue]:
    """How many operations of a kind, among ``ops`` or inside them, use each ring."""
    found: Counter[SSAValue] = Counter()
    for op in ops:
        for inner in walk(op):
            if isinstance(inner, kind):
                found[as_op(inner).pipeline] += UNBOUNDED if _is_repeated(inner, op.parent) else 1
    return found


def _is_repeated(op: Operation, block: Block | None) -> bool:
    """Whether an operation is inside a loop that is inside ``block``."""
    around = op.parent_op() if op.parent is not block else None
    while around is not None and not is_counted_loop(around):
        around = around.parent_op() if around.parent is not block else None
    return around is not None


def _stages(ring: SSAValue) -> int:
    return type_as(ring, PipelineType).stages.data
