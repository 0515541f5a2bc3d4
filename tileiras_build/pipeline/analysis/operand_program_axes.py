"""Along which axes of the grid the operands of a kernel's dots differ: those of a matmul along one axis each.

A heuristic for the order of tile programs, which any order serves: a value that a loop carries is taken to differ as it does before the
loop, and what a branch computes as all program ids do.
"""

from __future__ import annotations

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, int_attr, tile_shape
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop
from .scalar_slice import TOKEN

EVERY = frozenset(range(3))
ACROSS, DOWN = 0, 1
LOOP_BOUNDS = 3
LOADS = (".load", ".tiled_load")


def matmul_tile(func: Operation) -> tuple[int, int] | None:
    """The extents along axis 0 and axis 1 of the grid of the largest result of a kernel all of whose dots have one operand whose
    tiles differ along axis 0 only, and another along axis 1 only; None of other kernels. A further axis counts matmuls.

    An axis along which an operand differs only as a table says counts if the other axis does not: in a grouped matmul, most
    tiles of rows that are neighbours have the same expert.
    """
    found = [_tile_of(as_op(op)) for op in walk(func) if op.name.endswith(".dot")]
    tiles = [tile for tile in found if tile is not None]
    return max(tiles) if tiles and len(tiles) == len(found) else None


def _tile_of(dot: TableOp) -> tuple[int, int] | None:
    rows, columns = tile_shape(dot.result)[-2:]
    if _differs_along(dot.lhs, ACROSS) and _differs_along(dot.rhs, DOWN):
        return rows, columns
    return (columns, rows) if _differs_along(dot.lhs, DOWN) and _differs_along(dot.rhs, ACROSS) else None


def _differs_along(value: SSAValue, axis: int) -> bool:
    """Whether a tile differs along one axis of the plane only, at least but for what tables say."""
    return any(program_axes(value, tables) & {ACROSS, DOWN} == {axis} for tables in (True, False))


def program_axes(value: SSAValue, tables: bool = True) -> frozenset[int]:
    """The axes of the program ids that a value is computed from, addresses of what is loaded included; without ``tables``, not
    of what is loaded for an address.
    """
    found, waiting, seen = set[int](), [(value, False)], set[tuple[SSAValue, bool]]()
    while waiting:
        value, is_address = waiting.pop()
        is_load = isinstance(value.owner, Operation) and value.owner.name.endswith(LOADS)
        if (value, is_address) in seen or value.type.name == TOKEN or (is_load and is_address and not tables):
            continue
        seen.add((value, is_address))
        sources = _sources(value)
        if sources is None:
            return EVERY
        if isinstance(value.owner, Operation) and value.owner.name.endswith(".get_program_id"):
            found.add(int_attr(value.owner, "axis"))
        waiting += [(source, is_address or is_load) for source in sources]
    return frozenset(found)


def _sources(value: SSAValue) -> list[SSAValue] | None:
    """What a value is computed from; None where a branch or a loop computes it."""
    owner = value.owner
    if isinstance(owner, Operation):
        return None if owner.regions else list(owner.operands)
    loop = owner.parent_op()
    if not isinstance(value, BlockArgument) or loop is None or not loop.operands:
        return []
    if not is_counted_loop(loop):
        return None
    bounds = loop.operands[:LOOP_BOUNDS]
    return list(bounds if value.index == 0 else [*bounds, loop.operands[LOOP_BOUNDS + value.index - 1]])
