"""Loops and branches with the same regions, and other operands and results."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.ir import Attribute, Block, Region, SSAValue

from ...ir.casting import terminator
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop, is_loop


def control_operands(op: TableOp) -> list[SSAValue]:
    """The operands of a loop or branch that decide what runs."""
    if is_loop(op):
        return [op.lower, op.upper, op.step] if is_counted_loop(op) else []
    return [op.condition]


def rebuilt(
    op: TableOp, operands: list[SSAValue | list[SSAValue]], kept: Sequence[int], more: Sequence[Attribute] = ()
) -> TableOp:
    """A loop or branch with the regions of ``op``, in no block yet. It has the results ``kept`` of ``op``, with their uses, and ``more``.
    The caller inserts it and erases ``op``.
    """
    types = [*(op.results[index].type for index in kept), *more]
    regions = [Region([region.detach_block(block) for block in list(region.blocks)]) for region in op.regions]
    made = type(op).make(operands, types, dict(op.attributes), regions)
    for index, result in zip(kept, made.results):
        op.results[index].replace_all_uses_with(result)
    return made


def drop_carried(body: Block, gone: Collection[int]) -> None:
    """Let the body of a counted loop no longer carry the values at places ``gone``, which nothing uses."""
    last = terminator(body)
    last.operands = [value for index, value in enumerate(last.operands) if index not in gone]
    for index in sorted(gone, reverse=True):
        body.erase_arg(body.args[1 + index])
