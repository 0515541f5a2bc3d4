"""Which blocks of a kernel read the same tile again: what a cache should keep, and what only passes through it.

An address that no coordinate of the block is in is read by all blocks (the scale of a norm); one that follows each coordinate of the
block, one to one, by this block alone (a row). Coordinates that are divided, or depend on what memory says or on a loop, say neither.
"""

from __future__ import annotations

from enum import Enum, auto

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import maker, owner, parent, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_entry

BLOCK_COORDINATE = "nv_tileas.get_program_id"
# One to one in a coordinate of the block that one operand follows, if the others follow none.
ONE_TO_ONE = frozenset(("arith.addi", "arith.subi", "arith.muli", "nv_tileas.assume", "arith.extsi", "arith.extui"))

# What a pointer goes through on its way to an access.
PASSED_ON = frozenset(("nv_tileas.assume", "nv_tileas.make_memref", "nv_tileas.block_tile"))


class Reading(Enum):
    """Who reads what a load reads."""

    ONCE = auto()
    BY_ALL = auto()
    UNKNOWN = auto()


def grid_axes(entry: Operation) -> frozenset[int]:
    """The axes of the grid that tell the blocks of a kernel from each other."""
    return frozenset(row(op).axis for op in walk(entry) if op.name == BLOCK_COORDINATE)


def reading_of(load: TableOperation, grid: frozenset[int]) -> Reading:
    """Who reads the tile of a load of a view, in a kernel of these ``grid_axes``."""
    memory = _memory(load)
    places = [_axes(value) for value in (*load.coords, *memory.operands)]
    if any(place is None for place in places):
        return Reading.UNKNOWN
    axes = frozenset().union(*(place for place in places if place is not None))
    if not axes:
        return Reading.BY_ALL if grid else Reading.UNKNOWN
    alone = is_entry(parent(load)) and load.view.type.kind.data == "partition" and _is_only_access(load)
    return Reading.ONCE if axes == grid and alone else Reading.UNKNOWN


def _axes(value: SSAValue) -> frozenset[int] | None:
    """The axes of the grid that a scalar follows one to one; None where it may follow anything in another way."""
    if isinstance(value, BlockArgument):
        around = value.block.parent_op()
        return frozenset() if around is not None and is_entry(around) else None
    op = owner(value)
    if op.name == BLOCK_COORDINATE:
        return frozenset((maker(value).axis,))
    sources = [_axes(operand) for operand in op.operands]
    if op.regions or any(source is None for source in sources):
        return None
    followed = [source for source in sources if source]
    if not followed:
        return frozenset() if op.operands or op.name == "arith.constant" else None
    return followed[0] if len(followed) == 1 and op.name in ONE_TO_ONE else None


def _is_only_access(load: TableOperation) -> bool:
    """Whether nothing else in a kernel uses the array of a load."""
    base = _memory(load).operands[0]
    while not isinstance(base, BlockArgument) and owner(base).name in PASSED_ON:
        base = owner(base).operands[0]
    return _users(base) == {load}


def _users(value: SSAValue) -> set[Operation]:
    """What uses a pointer, or a view of what it points to."""
    found: set[Operation] = set()
    for use in value.uses:
        found |= _users(use.operation.results[0]) if use.operation.name in PASSED_ON else {use.operation}
    return found


def _memory(load: TableOperation) -> TableOperation:
    return maker(owner(load.view).operands[0])
