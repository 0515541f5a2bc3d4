"""Trace the addresses of a kernel back to its pointer parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.dialects.nv_tileaa.types import MemRefType, PointerType, TiledViewType
from ...ir.dialects.nv_tileas.types import TmaDescType

_ADDRESSES = (PointerType, MemRefType, TiledViewType, TmaDescType)


def is_address(type: Attribute) -> bool:
    return _are_addresses((type.element_type if type.__class__ is TensorType else type).__class__)


@cache
def _are_addresses(kind: type[Attribute]) -> bool:
    """Whether values are addresses. This is called for every value of a kernel, and isinstance is ten times as slow,
    since the classes of xDSL are abstract.
    """
    return issubclass(kind, _ADDRESSES)


class PointerOrigins:
    """The pointer parameters that each address may be derived from.

    ``origin``: the parameter that a value is; ``ops``: the operations of the kernel, at any depth.
    """

    def __init__(self, origin: Mapping[SSAValue, int], ops: Sequence[Operation]):
        self.known: dict[SSAValue, frozenset[int]] = {
            value: frozenset([index]) for value, index in origin.items() if is_address(value.type)
        }
        # Other operations neither produce an address nor end a region.
        flowing = [op for op in ops if op.regions or not op.results or any(map(_has_address_type, op.results))]
        self.changed = True
        while self.changed:  # to a fixed point: addresses may be loop-carried
            self.changed = False
            for op in flowing:
                self._flow(op)

    def of(self, value: SSAValue) -> frozenset[int]:
        return self.known.get(value, frozenset())

    def _flow(self, op: Operation) -> None:
        if op.regions:
            for block in _blocks(op):
                self._flow_in(op.operands, block.args)
            return
        if op.results:
            self._join(op.operands, op.results)
            return
        if _yields(op):
            self._flow_out(op)

    def _flow_out(self, op: Operation) -> None:
        """A terminator's operands flow to the results of its loop or branch, and to the next iteration of a loop."""
        around = op.parent_op()
        while around is not None and around.parent_op() is not None and _is_passed(op, around):
            around = around.parent_op()
        if around is None or not around.regions:
            return
        self._flow_in(op.operands, around.results)
        for block in _blocks(around):
            self._flow_in(op.operands, block.args)

    def _flow_in(self, values: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Propagate values to targets, aligned at the last one; with fewer values than targets, each may reach any
        target.
        """
        if len(values) < len(targets) and not (values and len(targets) - len(values) == 1):
            self._join(values, targets)
            return
        for value, target in zip(reversed(values), reversed(targets)):
            self._join([value], [target])

    def _join(self, values: Iterable[SSAValue], targets: Iterable[SSAValue]) -> None:
        addresses = [target for target in targets if is_address(target.type)]
        if not addresses:
            return
        roots = frozenset().union(*(self.of(value) for value in values))
        for target in addresses:
            if not roots <= self.of(target):
                self.known[target] = self.of(target) | roots
                self.changed = True


def _has_address_type(value: SSAValue) -> bool:
    return is_address(value.type)


def _yields(op: Operation) -> bool:
    return op.name.partition(".")[2] in ("break", "continue", "yield")


def _is_passed(op: Operation, around: Operation) -> bool:
    """Whether a break or continue leaves ``around``, which is a branch and not a loop."""
    return op.name.partition(".")[2] in ("break", "continue") and around.name.partition(".")[2] == "if"


def _blocks(op: Operation) -> Iterator[Block]:
    return (block for region in op.regions for block in region.blocks)
