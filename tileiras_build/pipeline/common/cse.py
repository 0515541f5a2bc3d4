"""Remove pure operations that are unused or equal to an earlier one.

In:    any module.
Out:   the same program; no pure operation is unused, none repeats one that dominates it.
After: anything. Before: anything.
Sound: only operations with the Pure trait and no regions are merged, and only with one of an enclosing block.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import IsTerminator, Pure

from ...ir.dialects.fast_xdsl import block_operations, erase, operands_of, replace_uses
from ..job import Job
from ..pass_manager import EdgePass


class Cse(EdgePass):
    """Common subexpression and dead code elimination."""

    name = "cse"

    def run(self, module: ModuleOp, job: Job) -> None:
        for block in (block for region in module.regions for block in region.blocks):
            merge(block)
            eliminate_dead_code(block)


# Also pure in xDSL's arith and math, but querying a trait is slow: query each class once.
_PURE: dict[type[Operation], bool] = {}


def is_pure(op: Operation) -> bool:
    """Whether the operation may be removed if unused and merged if repeated."""
    kind = type(op)
    if (known := _PURE.get(kind)) is None:
        pure = op.has_trait(Pure) and not op.has_trait(IsTerminator)  # scf.yield is both
        known = _PURE[kind] = pure or op.name.startswith(("arith.", "math."))
    return known and not op.regions


def _operand_key(op: Operation) -> tuple:
    """The hash key of an operation. Hashing attributes is slow, and operands distinguish nearly all operations."""
    if operands_of(op):
        return op.__class__, *map(id, operands_of(op))
    described = (*op.properties.items(), *_attributes_key(op).items())
    return op.__class__, *described, *[result.type for result in op.results]


def are_equal(a: Operation, b: Operation) -> bool:
    """Whether two operations with the same key compute the same, regardless of their source location."""
    types = all([x.type == y.type for x, y in zip(a.results, b.results, strict=True)])
    return types and a.properties == b.properties and _attributes_key(a) == _attributes_key(b)


def _attributes_key(op: Operation) -> dict[str, Attribute]:
    return {name: value for name, value in op.attributes.items() if name != "loc"} if op.attributes else op.attributes


def merge(block: Block, mergeable: Callable[[Operation], bool] = is_pure) -> None:
    """Merge the ``mergeable`` operations of a block, at any depth, that repeat an earlier one in their scope."""
    _merge(block, {}, mergeable)


def _merge(block: Block, known: dict[tuple, list[Operation]], mergeable: Callable[[Operation], bool]) -> None:
    """Merge operations of a block; ``known``: the available operations by key, which is restored at the end."""
    added = []
    for op in block_operations(block):
        if not mergeable(op):
            for region in op.regions:
                for inner in region.blocks:
                    _merge(inner, known, mergeable)
            continue
        here = known.setdefault(_operand_key(op), [])
        earlier = next((other for other in here if are_equal(op, other)), None)
        if earlier is None:
            here.append(op)
            added.append(here)
            continue
        for old, new in zip(op.results, earlier.results):
            replace_uses(old, new)
        erase(op)
    for here in added:
        here.pop()


def eliminate_dead_code(block: Block) -> None:
    """Erase the pure operations of a block, at any depth, whose results are unused."""
    for op in reversed(block_operations(block)):
        for region in op.regions:
            for inner in region.blocks:
                eliminate_dead_code(inner)
        if is_pure(op) and all([result.first_use is None for result in op.results]):
            erase(op)
