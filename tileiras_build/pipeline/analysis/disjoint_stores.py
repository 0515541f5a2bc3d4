"""Whether the iterations of a loop store disjoint tiles, so that none must wait for an earlier one.

The induction variable is different in each iteration, so it suffices that it is a function of the tile's coordinates:
one of them equals it, or two of them are its quotient and its remainder by the same divisor, as in a persistent kernel.
With either rounding direction, the values of equal quotient are consecutive, as many as the divisor, and their
remainders all differ; the two possible remainders of a value differ by the divisor, so either may be used.

The CTAs of a cluster store parts of such a tile: a coordinate that is at most the number of tiles, times the parts, plus the CTA's part. Where
the bound is reached, all parts are past the end.
"""

from __future__ import annotations

from itertools import product

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import defining_op, view_type
from ...ir.dialects.nv_tileas.ops import CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop, is_function, is_loop, preserves_value
from .enclosing_control_flow import is_defined_in_loop
from .integer_ranges import constant_of

ADD_SUB, MULTIPLY, SELECT = ("arith.addi", "arith.subi"), "arith.muli", "arith.select"
# Each division with the remainders that, together with its quotient, determine the dividend.
DIV_REM_OPS = {
    "arith.floordivsi": ("arith.remsi",),
    "arith.ceildivsi": ("arith.remsi",),
    "arith.divui": ("arith.remui",),
}


def iterations_store_disjoint_tiles(store: TableOp) -> bool:
    """Whether no two executions of an async.tiled_tma_store write the same element.

    Different elements of the stored memory have different addresses, and a coordinate that overflows is that of a tile
    out of bounds.
    """
    loops = _loops_around(store)
    if len(loops) != 1 or not is_counted_loop(loops[0]) or is_defined_in_loop(store.view, loops[0]):
        return False
    view, loop = store.view.type, loops[0]
    are_disjoint = all(step >= extent for step, extent in zip(view.steps, view.tile, strict=True))
    coords = [_whole_tile(store, dim) for dim in range(len(store.coords))]
    return are_disjoint and _determined_by([_without_offset(coord, loop) for coord in coords], loop)


def _whole_tile(store: TableOp, dim: int) -> SSAValue:
    """The coordinate of the tile of which a CTA stores a part (``subtile_indices.py``), or that of the store."""
    place, factor = store.coords[dim], 1
    if _is(place, "arith.addi") and _is(place.owner.operands[1], CtaRankOp.name):
        place = place.owner.operands[0]
    if _is(place, MULTIPLY) and (number := constant_of(place.owner.operands[1])) is not None:
        factor, place = number, place.owner.operands[0]
    if _is(place, "arith.minui") and _is_past_end(place.owner.operands[1], factor, store, dim):
        return place.owner.operands[0]
    return store.coords[dim]


def _is_past_end(bound: SSAValue, factor: int, store: TableOp, dim: int) -> bool:
    """Whether a bound is the number of tiles of ``factor`` stored parts along a dimension."""
    if not _is(bound, "nv_tileas.get_tile_count") or defining_op(bound).results[dim] is not bound:
        return False
    counted = defining_op(bound).operands[0]
    whole, part = view_type(counted), view_type(store.view)
    same = defining_op(counted).operands[0] is defining_op(store.view).operands[0]
    return same and whole.dim_map[dim] == part.dim_map[dim] and factor * part.steps[dim] == whole.steps[dim]


def _loops_around(op: Operation) -> list[Operation]:
    around, found = op.parent_op(), []
    while around is not None and not is_function(around):
        found += [around] * is_loop(around)
        around = around.parent_op()
    return found


def _determined_by(coords: list[SSAValue], loop: Operation) -> bool:
    """Whether the coordinates differ between any two iterations."""
    induction = loop.regions[0].blocks[0].args[0]
    if induction in coords:
        return True
    return any(_is_division(*pair, induction, loop) for pair in product(coords, coords))


def _is_division(quotient: SSAValue, other: SSAValue, induction: SSAValue, loop: Operation) -> bool:
    """Whether one coordinate is a quotient of the induction variable, and the other one the matching remainder."""
    owner = quotient.owner
    if isinstance(owner, Block) or owner.name not in DIV_REM_OPS:
        return False
    dividend, divisor = owner.operands
    if is_defined_in_loop(divisor, loop) or _without_offset(dividend, loop) is not induction:
        return False
    return _is_remainder(other, DIV_REM_OPS[owner.name], (dividend, divisor))


def _is_remainder(value: SSAValue, names: tuple[str, ...], division: tuple[SSAValue, SSAValue]) -> bool:
    """Whether a value is the remainder of a division, or differs from it by the divisor."""
    owner = value.owner
    if isinstance(owner, Block):
        return False
    if owner.name == SELECT:
        return all(_is_remainder(value_of_arm, names, division) for value_of_arm in owner.operands[1:])
    if owner.name in ADD_SUB and owner.operands[1] is division[1]:
        return _is_remainder(owner.operands[0], names, division)
    return owner.name in names and tuple(owner.operands) == division


def _without_offset(value: SSAValue, loop: Operation) -> SSAValue:
    """The varying term of a value: without an offset that is invariant in the loop."""
    while (inner := _varying_operand(value, loop)) is not None:
        value = inner
    return value


def _varying_operand(value: SSAValue, loop: Operation) -> SSAValue | None:
    """The operand that varies between iterations, if the operation is injective in it."""
    owner = value.owner
    if isinstance(owner, Block):
        return None
    if preserves_value(owner):
        return owner.operands[0]
    if owner.name not in ADD_SUB and not (
        owner.name == MULTIPLY and any(constant_of(operand) for operand in owner.operands)
    ):
        return None
    varying = [
        operand for operand in owner.operands if is_defined_in_loop(operand, loop) and constant_of(operand) is None
    ]
    return varying[0] if len(varying) == 1 else None


def _is(value: SSAValue, name: str) -> bool:
    """Whether an operation of this name defines a value."""
    return isinstance(value.owner, Operation) and value.owner.name == name
