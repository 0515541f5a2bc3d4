"""Whether the iterations of a loop store disjoint tiles, so that none must wait for an earlier one.

The induction variable is different in each iteration, so it suffices that it is a function of the tile's coordinates:
one of them equals it, or two of them are its quotient and its remainder by the same divisor, as in a persistent kernel.
With either rounding direction, the values of equal quotient are consecutive, as many as the divisor, and their
remainders all differ; the two possible remainders of a value differ by the divisor, so either may be used.
"""

from __future__ import annotations

from itertools import product

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import cast, defining_op
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop, is_function, is_loop, preserves_value
from .enclosing_control_flow import is_defined_in_loop

ADD_SUB, MULTIPLY, SELECT, CONSTANT = ("arith.addi", "arith.subi"), "arith.muli", "arith.select", "arith.constant"
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
    if len(loops) != 1 or not is_counted_loop(loops[0]) or is_defined_in_loop(store.desc, loops[0]):
        return False
    view, loop = store.view.type, loops[0]
    are_disjoint = all(step >= extent for step, extent in zip(view.steps, view.tile, strict=True))
    return are_disjoint and _determined_by([_without_offset(coord, loop) for coord in store.coords], loop)


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
    if owner.name not in ADD_SUB and not (owner.name == MULTIPLY and any(map(_is_factor, owner.operands))):
        return None
    varying = [operand for operand in owner.operands if is_defined_in_loop(operand, loop) and not _is_constant(operand)]
    return varying[0] if len(varying) == 1 else None


def _is_factor(value: SSAValue) -> bool:
    return _is_constant(value) and cast(IntegerAttr, defining_op(value).properties["value"]).value.data != 0


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == CONSTANT
