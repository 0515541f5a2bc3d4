"""Which accesses to memory tokens put in an order."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from ...ir.casting import row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import Effect, facts_of, is_access, is_structured
from .sharding_propagation import carried
from .view_chains import TOKEN


def ordered_pairs(func: Operation) -> Iterator[tuple[TableOperation, TableOperation]]:
    """(first, second) for each two accesses of which the second comes after the first, one of them a write.

    An access of a loop that its own token comes back to is such a pair with itself.
    """
    behind = _behind(func)
    for op in walk(func):
        for first in _before(op, behind) if is_access(op) else ():
            if Effect.WRITE in facts_of(first).effect | facts_of(op).effect:
                yield first, row(op)


Behind = dict[SSAValue, frozenset[TableOperation]]


def _behind(func: Operation) -> Behind:
    """The accesses that each token comes after."""
    behind: Behind = {}
    again = True
    while again:
        again = False
        for op in walk(func):
            for token, accesses in _follow(op, behind):
                if not accesses <= behind.get(token, frozenset()):
                    behind[token] = behind.get(token, frozenset()) | accesses
                    again = True
    return behind


def _before(op: Operation, behind: Behind) -> frozenset[TableOperation]:
    return frozenset().union(*(behind.get(value, frozenset()) for value in op.operands if value.type.name == TOKEN))


def _follow(op: Operation, behind: Behind) -> Iterator[tuple[SSAValue, frozenset[TableOperation]]]:
    """The tokens that an operation gives, and what they come after."""
    if not is_structured(op):
        own = frozenset({op} if is_access(op) else ())
        yield from ((result, _before(op, behind) | own) for result in op.results if result.type.name == TOKEN)
        return
    for group in carried(op):
        if group[0].type.name == TOKEN:
            together = frozenset().union(*(behind.get(value, frozenset()) for value in group))
            given = [value for value in group if value.owner is op or value.owner in _blocks(op)]
            yield from ((value, together) for value in given)


def _blocks(op: Operation) -> list:
    return [block for region in op.regions for block in region.blocks]
