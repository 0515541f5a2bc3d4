"""Fuse adjacent layout conversions into one operation with shared barriers."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from ...ir.casting import as_op, parent_block
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ..analysis.scratch_memory_sizes import conversion_bytes
from ..job import Job


def fuse_conversions(func: Operation, available: Callable[[Operation], int], job: Job) -> None:
    """Fuse adjacent conversions of a kernel while the tiles of one fit in ``available`` bytes of scratch together."""
    for op in walk(func):
        if op.name == "nv_tileas.convert_layout" and op.parent is not None:
            _fuse_with_next(op, available(op), job)


def _fuse_with_next(op: Operation, available: int, job: Job) -> None:
    group = [op]
    bytes = conversion_bytes(as_op(op), job)
    following = op.next_op
    while following is not None and following.name == "nv_tileas.convert_layout":
        bytes += conversion_bytes(as_op(following), job)
        if bytes > available or any(operand.owner in group for operand in following.operands):
            break
        group.append(following)
        following = following.next_op
    if len(group) == 1:
        return
    merged = ConvertLayoutOp.make(
        [[member.operands[0] for member in group]], [member.results[0].type for member in group]
    )
    merged.attributes.update(op.attributes)
    parent_block(op).insert_op_before(merged, op)
    for member, result in zip(group, merged.results):
        member.results[0].replace_all_uses_with(result)
        member.detach()
        member.erase()
