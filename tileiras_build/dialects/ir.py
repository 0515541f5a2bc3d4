"""What xDSL's classes do, in a fraction of the time: operations are created, walked, and read their segments by the ten
thousands (benchmarks/emission_cost.py).

The functions write the links of xDSL's lists themselves; nothing else does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, i32
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use

Made = TypeVar("Made", bound=Operation)

_NO_VALUES: SSAValues = SSAValues(())


def create(
    kind: type[Made],
    operands: Sequence[SSAValue] = (),
    types: Sequence[Attribute] = (),
    properties: dict[str, Attribute] | None = None,
    attributes: dict[str, Attribute] | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> Made:
    """``kind.create``, unverified like it, in a third of the time, but for properties that have a default: they are given.

    The dictionaries become the operation's own.
    """
    op = object.__new__(kind)
    op._operands = SSAValues(operands)
    op._operand_uses = uses = tuple([Use(op, index) for index in range(len(operands))])
    for value, use in zip(operands, uses):
        use._next_use = following = value.first_use
        if following is not None:
            following._prev_use = use
        value.first_use = use
    op.results = SSAValues([OpResult(type, op, index) for index, type in enumerate(types)]) if types else _NO_VALUES
    op.properties = {} if properties is None else properties
    op.attributes = {} if attributes is None else attributes
    op.location = UNKNOWN_LOC
    op.regions = op._successors = op._successor_uses = ()
    if successors:
        op.successors = successors
    for region in regions:
        op.add_region(region)
    return op


def append(block: Block, op: Operation) -> None:
    """``block.add_op`` of an operation that is in no block and has no regions."""
    last = block._last_op
    op.parent, op._prev_op = block, last
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    block._last_op = op


def walk(root: Operation | Region | Block) -> list[Operation]:
    """An operation and all in its regions, or all in a region or block, in order: ``list(root.walk())`` in an eighth of
    the time. What happens to the operations while the list is looked at does not change it."""
    found: list[Operation] = []
    if isinstance(root, Operation):
        found.append(root)
        for region in root.regions:
            _walk_region(region, found)
    elif isinstance(root, Region):
        _walk_region(root, found)
    else:
        _walk_block(root, found)
    return found


def _walk_region(region: Region, found: list[Operation]) -> None:
    block = region._first_block
    while block is not None:
        _walk_block(block, found)
        block = block._next_block


def _walk_block(block: Block, found: list[Operation]) -> None:
    op = block._first_op
    while op is not None:
        found.append(op)
        if op.regions:
            for region in op.regions:
                _walk_region(region, found)
        op = op._next_op


def block_operations(block: Block) -> list[Operation]:
    """``list(block.ops)``, in a third of the time."""
    found, op = [], block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


@lru_cache(maxsize=4096)
def segments(*sizes: int) -> DenseArrayBase:
    """operandSegmentSizes: how many operands each group has."""
    return DenseArrayBase.from_list(i32, sizes)


def segment_sizes(op: Operation) -> tuple[int, ...]:
    """How many operands each group of an operation has, as its property says."""
    return _unpacked(op.properties["operandSegmentSizes"].data.data)


@lru_cache(maxsize=4096)
def _unpacked(data: bytes) -> tuple[int, ...]:
    return i32.unpack(data, len(data) // 4)
