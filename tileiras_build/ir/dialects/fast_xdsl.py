"""Faster versions of xDSL functions: create and walk operations, read operand segments, replace uses.

A kernel has tens of thousands of operations (benchmarks/emission_cost.py). No other module reads or writes private
members of xDSL (tests/meta/test_private_members.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, IntegerAttr, IntegerType, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation

from .checked_cast import cast

Made = TypeVar("Made", bound=Operation)

SEGMENTS = "operandSegmentSizes"
# Sequence types for operands and results: those of xDSL test for slices in Python each time.
item = tuple.__getitem__
# The operands of an operation as a tuple: ``op.operands`` makes an object each time.
operands_of: Callable[[Operation], SSAValues[SSAValue]] = attrgetter("_operands")
# The classes of values, frequent ones first: comparing exact classes avoids ABC's isinstance.
VALUES = (OpResult, BlockArgument, SSAValue)
# Sequences of values: tested first, because only ABC can tell that a list is not a value.
GROUP = (list, tuple)
_NO_VALUES: SSAValues[OpResult] = SSAValues(())
_new = object.__new__
_values = tuple.__new__


def create(
    kind: type[Made],
    operands: Sequence[SSAValue] = (),
    types: Sequence[Attribute] = (),
    properties: dict[str, Attribute] | None = None,
    attributes: dict[str, Attribute] | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> Made:
    """``kind.create``, also unverified, in a third of the time. Properties with a default must be passed.

    The operation takes ownership of the dictionaries.
    """
    op = _new(kind)
    op._operands = _values(SSAValues, operands)
    if operands:
        _use(op, operands)
    op.results = _results(op, types) if types else _NO_VALUES
    op.properties = {} if properties is None else properties
    op.attributes = {} if attributes is None else attributes
    op.location = UNKNOWN_LOC
    op.regions = ()
    if successors:
        op.successors = successors
    for region in regions:
        op.add_region(region)
    return op


def build(
    kind: type[Made],
    groups: Sequence[SSAValue | Sequence[SSAValue] | None],
    types: Sequence[Attribute] = (),
    properties: dict[str, Attribute] | None = None,
) -> Made:
    """``kind.build`` of an IRDL operation without defaults, also unverified, with one entry for each operand group: a
    value, several or none. The operation takes ownership of the dictionary.
    """
    several = [() if group is None else (group,) if isinstance(group, VALUES) else tuple(group) for group in groups]
    properties = {} if properties is None else properties
    if _is_segmented(kind):
        properties[SEGMENTS] = segments(*map(len, several))
    return create(kind, [value for group in several for value in group], types, properties)


@cache
def _is_segmented(kind: type[IRDLOperation]) -> bool:
    return any(isinstance(option, AttrSizedOperandSegments) for option in kind.get_irdl_definition().options)


def _use(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Add an operation to the uses of its operands. Fields with a class default of None stay unset."""
    uses: list[Use] = []
    for index, value in enumerate(operands):
        use = _new(Use)
        use._operation, use._index = op, index
        if (following := value.first_use) is not None:
            following._prev_use = use
            use._next_use = following
        value.first_use = use
        uses.append(use)
    op._operand_uses = (*uses,)


def _results(op: Operation, types: Sequence[Attribute]) -> SSAValues[OpResult]:
    if len(types) == 1:  # the usual case: a list would cost as much as the result
        result = _new(OpResult)
        result._type, result.op, result.index = types[0], op, 0
        return _values(SSAValues, (result,))
    return _values(SSAValues, [OpResult(type, op, index) for index, type in enumerate(types)])


def erase(op: Operation) -> None:
    """``op.detach()`` and ``op.erase()`` of an operation without uses."""
    block, before, after = op.parent, op._prev_op, op._next_op
    assert block is not None
    if before is None:
        block._first_op = after
    else:
        before._next_op = after
    if after is None:
        block._last_op = before
    else:
        after._prev_op = before
    op.parent = op._prev_op = op._next_op = None
    if any([result.first_use is not None for result in op.results]):
        raise ValueError(f"{op.name} is erased, but its results have uses")
    if op.regions or op._successors:
        op.drop_all_references()
    else:
        for value, use in zip(op._operands, op._operand_uses):
            value.remove_use(use)
    # Otherwise both would wait for the garbage collector: a result refers to its operation.
    op._operand_uses, op.results = (), _NO_VALUES


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """``old.replace_all_uses_with(new)``."""
    if old is new:
        return
    use, old.first_use = old.first_use, None
    while use is not None:
        following, op, index = use._next_use, use._operation, use._index
        operands = list(op._operands)
        operands[index] = new
        op._operands = SSAValues(operands)
        new.add_use(use)
        use = following
    if new._name is None:
        new._name = old._name


def set_type(value: SSAValue, type: Attribute) -> None:
    """Change the type of a value in place, for which xDSL has no function. Its users must accept the new type."""
    value._type = type


def add_arguments(block: Block, types: Sequence[Attribute]) -> Sequence[BlockArgument]:
    """New arguments at the end of those of a block."""
    first = len(block._args)
    made = [BlockArgument(type, block, first + index) for index, type in enumerate(types)]
    block._args = (*block._args, *made)
    return made


def move_operations(source: Block, target: Block) -> None:
    """Append all operations of a block to another one."""
    first = source._first_op
    if first is None:
        return
    op: Operation | None = first
    while op is not None:
        op.parent = target
        op = op._next_op
    first._prev_op = target._last_op
    if target._last_op is None:
        target._first_op = first
    else:
        target._last_op._next_op = first
    target._last_op = source._last_op
    source._first_op = source._last_op = None


def append(block: Block, op: Operation) -> None:
    """``block.add_op`` of an operation that is in no block and does not contain this one."""
    last = block._last_op
    op.parent, op._prev_op = block, last
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    block._last_op = op


def release(root: Operation) -> None:
    """Clear a dead operation and all operations in it. They form reference cycles, and the garbage collector would take
    twice as long to find them as it takes to free them.
    """
    nothing: dict[str, object] = {}  # shared: nothing writes to it
    for op in walk(root):
        for use in op._operand_uses:
            use._prev_use = None
        if op._successors:
            for use in op._successor_uses:
                use._prev_use = None
        for region in op.regions:
            _release_region(region, nothing)
        op.__dict__ = nothing


def _release_region(region: Region, nothing: dict[str, object]) -> None:
    block = region._first_block
    while block is not None:
        block, emptied = block._next_block, block
        emptied.__dict__ = nothing
    region.__dict__ = nothing


def insert_before(op: Operation, place: Operation) -> None:
    """``insert_op_before`` in the block of ``place``, of an operation that is in no block and does not contain that one."""
    block, before = place.parent, place._prev_op
    assert block is not None
    op.parent, op._prev_op, op._next_op = block, before, place
    place._prev_op = op
    if before is None:
        block._first_op = op
    else:
        before._next_op = op


def walk(root: Operation | Region | Block) -> list[Operation]:
    """An operation and all in its regions, or all in a region or block, in order: ``list(root.walk())`` in an eighth of
    the time. Changes of the operations do not change the list."""
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


def ops_of_kind(operations: Iterable[Operation], kind: type[Made]) -> list[Made]:
    """The operations of a class without subclasses: isinstance would call ABCMeta for each operation of another class."""
    return [op for op in operations if op.__class__ is kind]


def block_operations(block: Block) -> list[Operation]:
    """``list(block.ops)``, in a third of the time."""
    found, op = [], block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


@lru_cache(maxsize=4096)
def segments(*sizes: int) -> Attribute:
    """operandSegmentSizes: the size of each operand group."""
    return DenseArrayBase.from_list(i32, sizes)


def segment_sizes(op: Operation) -> tuple[int, ...]:
    """The sizes of an operation's operand groups, by its property."""
    sizes = op.properties[SEGMENTS]
    assert isinstance(sizes, DenseArrayBase)
    return array_values(sizes.data.data)


def operand_groups(op: Operation) -> list[Sequence[SSAValue]]:
    """The operands of an operation by group: each accessor of an IRDL operation would search for its group again."""
    ends = [*accumulate(segment_sizes(op))]
    return [item(op._operands, slice(start, end)) for start, end in zip([0, *ends], ends)]


@lru_cache(maxsize=4096)
def array_values(data: bytes) -> tuple[int, ...]:
    """The values of a dense array of i32."""
    return i32.unpack(data, len(data) // 4)


@lru_cache(maxsize=4096)
def integer_attr(value: int, type: Attribute) -> IntegerAttr:
    """An integer attribute, truncated to the type's bits."""
    return IntegerAttr(value, cast(IntegerType, type), truncate_bits=True)


@lru_cache(maxsize=4096)
def string_of(attribute: Attribute | None) -> str:
    """``str(attribute)``: printing an attribute costs more than an operation."""
    return str(attribute)
