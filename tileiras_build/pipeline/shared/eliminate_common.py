"""Remove pure operations that are unused or equal to an earlier one.

In:    any module.
Out:   the same program; no pure operation is unused, none repeats one that dominates it.
After: anything. Before: anything.
Sound: only operations with the Pure trait and no regions are merged, and only with one of an enclosing block.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import Pure

from ..contracts import EdgePass
from ..job import Job


class EliminateCommon(EdgePass):
    """Common subexpression and dead code elimination."""

    name = "eliminate-common"

    def run(self, module: ModuleOp, job: Job) -> None:
        for block in (block for region in module.regions for block in region.blocks):
            merge(block)
            _remove_unused(block)


# Pure in xDSL's arith and math too, but asking an operation for a trait is slow: ask each class once.
_PURE: dict[type[Operation], bool] = {}


def is_pure(op: Operation) -> bool:
    """Whether the operation may be removed when unused and merged when repeated."""
    kind = type(op)
    if (known := _PURE.get(kind)) is None:
        known = _PURE[kind] = op.name.startswith(("arith.", "math.")) or op.has_trait(Pure)
    return known and not op.regions


def _key(op: Operation) -> tuple:
    attributes = (
        tuple((name, op.attributes[name]) for name in sorted(op.attributes) if name != "loc") if op.attributes else ()
    )
    properties = tuple((name, op.properties[name]) for name in sorted(op.properties)) if op.properties else ()
    return op.name, tuple(map(id, op.operands)), attributes, properties, tuple(result.type for result in op.results)


def merge(block: Block, mergeable: Callable[[Operation], bool] = is_pure) -> None:
    """Merge the ``mergeable`` operations of a block, at any depth, that repeat an earlier one in their scope."""
    _merge(block, {}, mergeable)


def _merge(block: Block, known: dict[tuple, Operation], mergeable: Callable[[Operation], bool]) -> None:
    """``known``: what is in scope; it is the same again afterwards. Hashing a key is slow, so each is looked up once."""
    added = []
    for op in list(block.ops):
        if not mergeable(op):
            for region in op.regions:
                for inner in region.blocks:
                    _merge(inner, known, mergeable)
            continue
        key = _key(op)
        earlier = known.setdefault(key, op)
        if earlier is op:
            added.append(key)
            continue
        for old, new in zip(op.results, earlier.results):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()
    for key in added:
        del known[key]


def _remove_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                _remove_unused(inner)
        if is_pure(op) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
