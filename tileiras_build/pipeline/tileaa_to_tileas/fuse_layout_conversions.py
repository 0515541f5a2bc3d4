"""Conversions of layouts that stand next to each other become one, which shares its barriers."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from ...ir.casting import block_of, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ..analysis.scratch_memory_sizes import conversion_bytes
from ..job import Job


def group_conversions(func: Operation, room: Callable[[Operation], int], job: Job) -> None:
    """Merge the neighbors among a kernel's conversions, as far as all tiles of one have ``room`` in scratch at once."""
    for op in walk(func):
        if op.name == "nv_tileas.convert_layout" and op.parent is not None:
            _merge_following(op, room(op), job)


def _merge_following(op: Operation, room: int, job: Job) -> None:
    group = [op]
    bytes = conversion_bytes(row(op), job)
    following = op.next_op
    while following is not None and following.name == "nv_tileas.convert_layout":
        bytes += conversion_bytes(row(following), job)
        if bytes > room or any(operand.owner in group for operand in following.operands):
            break
        group.append(following)
        following = following.next_op
    if len(group) == 1:
        return
    merged = ConvertLayoutOp.make(
        [[member.operands[0] for member in group]], [member.results[0].type for member in group]
    )
    merged.attributes.update(op.attributes)
    block_of(op).insert_op_before(merged, op)
    for member, result in zip(group, merged.results):
        member.results[0].replace_all_uses_with(result)
        member.detach()
        member.erase()
