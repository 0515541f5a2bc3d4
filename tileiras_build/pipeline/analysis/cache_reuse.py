"""Which CTAs read the same tile: tiles that caches should retain, and tiles that are read once.

All CTAs read an address that does not depend on the block index (the scale of a norm). One CTA alone reads an address
that is injective in each coordinate of the block index (a row). Addresses with divisions, loaded values or loop
variables are in neither class.
"""

from __future__ import annotations

from enum import Enum, auto

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, defining_op, defining_table_op, parent_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function

BLOCK_COORDINATE = "nv_tileas.get_program_id"
# Injective in a coordinate of the block index if one operand is, and the others do not depend on it.
INJECTIVE_OPS = frozenset(("arith.addi", "arith.subi", "arith.muli", "nv_tileas.assume", "arith.extsi", "arith.extui"))

# Operations that forward a pointer to its access.
FORWARDING_OPS = frozenset(("nv_tileas.assume", "nv_tileas.make_memref", "nv_tileas.block_tile"))


class Reuse(Enum):
    """The CTAs that read the tile of a load."""

    NONE = auto()
    ALL_CTAS = auto()
    UNKNOWN = auto()


def grid_axes(entry: Operation) -> frozenset[int]:
    """The grid axes that the code of a kernel uses."""
    return frozenset(as_op(op).axis for op in walk(entry) if op.name == BLOCK_COORDINATE)


def load_reuse(load: TableOp, grid: frozenset[int]) -> Reuse:
    """Which CTAs read the tile of a load, in a kernel with these ``grid_axes``."""
    memory = _memory(load)
    places = [_axes(value) for value in (*load.coords, *memory.operands)]
    if any(place is None for place in places):
        return Reuse.UNKNOWN
    axes = frozenset().union(*(place for place in places if place is not None))
    if not axes:
        return Reuse.ALL_CTAS if grid else Reuse.UNKNOWN
    alone = is_function(parent_op(load)) and load.view.type.kind.data == "partition" and _is_only_access(load)
    return Reuse.NONE if axes == grid and alone else Reuse.UNKNOWN


def _axes(value: SSAValue) -> frozenset[int] | None:
    """The grid axes in which a scalar is injective; None if it may depend on anything in another way."""
    if isinstance(value, BlockArgument):
        around = value.block.parent_op()
        return frozenset() if around is not None and is_function(around) else None
    op = defining_op(value)
    if op.name == BLOCK_COORDINATE:
        return frozenset((defining_table_op(value).axis,))
    sources = [_axes(operand) for operand in op.operands]
    if op.regions or any(source is None for source in sources):
        return None
    followed = [source for source in sources if source]
    if not followed:
        return frozenset() if op.operands or op.name == "arith.constant" else None
    return followed[0] if len(followed) == 1 and op.name in INJECTIVE_OPS else None


def _is_only_access(load: TableOp) -> bool:
    """Whether a load is the only access to its array in a kernel."""
    base = _memory(load).operands[0]
    while not isinstance(base, BlockArgument) and defining_op(base).name in FORWARDING_OPS:
        base = defining_op(base).operands[0]
    return _users(base) == {load}


def _users(value: SSAValue) -> set[Operation]:
    """The operations that use a pointer, or a view of its memory."""
    found: set[Operation] = set()
    for use in value.uses:
        found |= _users(use.operation.results[0]) if use.operation.name in FORWARDING_OPS else {use.operation}
    return found


def _memory(load: TableOp) -> TableOp:
    return defining_table_op(defining_op(load.view).operands[0])
