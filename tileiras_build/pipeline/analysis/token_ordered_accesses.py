"""Pairs of memory accesses that tokens order."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MemoryEffect, is_access, is_structured_control_flow, traits_of
from .scalar_slice import TOKEN
from .sharding_propagation import loop_carried_group


def token_ordered_pairs(func: Operation) -> Iterator[tuple[TableOp, TableOp]]:
    """(first, second) for all pairs of accesses that tokens order, of which one is a write.

    An access in a loop that depends on its own token is such a pair with itself.
    """
    predecessors = _token_predecessors(func)
    for op in walk(func):
        for first in _operand_predecessors(op, predecessors) if is_access(op) else ():
            if MemoryEffect.WRITE in traits_of(first).effect | traits_of(op).effect:
                yield first, as_op(op)


Predecessors = dict[SSAValue, frozenset[TableOp]]


def _token_predecessors(func: Operation) -> Predecessors:
    """The accesses that each token depends on."""
    predecessors: Predecessors = {}
    again = True
    while again:
        again = False
        for op in walk(func):
            for token, accesses in _propagate(op, predecessors):
                if not accesses <= predecessors.get(token, frozenset()):
                    predecessors[token] = predecessors.get(token, frozenset()) | accesses
                    again = True
    return predecessors


def _operand_predecessors(op: Operation, predecessors: Predecessors) -> frozenset[TableOp]:
    return frozenset().union(
        *(predecessors.get(value, frozenset()) for value in op.operands if value.type.name == TOKEN)
    )


def _propagate(op: Operation, predecessors: Predecessors) -> Iterator[tuple[SSAValue, frozenset[TableOp]]]:
    """The result tokens of an operation, and the accesses that they depend on."""
    if not is_structured_control_flow(op):
        own = frozenset({op} if is_access(op) else ())
        yield from (
            (result, _operand_predecessors(op, predecessors) | own)
            for result in op.results
            if result.type.name == TOKEN
        )
        return
    for group in loop_carried_group(op):
        if group[0].type.name == TOKEN:
            together = frozenset().union(*(predecessors.get(value, frozenset()) for value in group))
            passed = [value for value in group if value.owner is op or value.owner in _blocks(op)]
            yield from ((value, together) for value in passed)


def _blocks(op: Operation) -> list:
    return [block for region in op.regions for block in region.blocks]
