"""Whether the iterations of a loop store tiles of their own: then none must wait until an earlier one has written.

The induction variable has another value in each iteration, so it is enough that the tile's coordinates determine it:
one of them is it, or two of them are its quotient and its remainder by the same divisor, as a persistent kernel makes
them of the number of a tile. A quotient that is rounded to one side is that of as many values in a row as the divisor
says, whose remainders all differ; the two remainders that a value may have differ by the divisor, so that it does not
matter which of them is taken.
"""

from __future__ import annotations

from itertools import product

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import expect, owner
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_counted_loop, is_entry, is_loop, keeps_value
from .view_chains import is_inside

SUMS, PRODUCT, SELECT, CONSTANT = ("arith.addi", "arith.subi"), "arith.muli", "arith.select", "arith.constant"
# Each with the remainders by which it determines what was divided.
DIVISIONS = {
    "arith.floordivsi": ("arith.remsi",),
    "arith.ceildivsi": ("arith.remsi",),
    "arith.divui": ("arith.remui",),
}


def stores_distinct_tiles(store: TableOperation) -> bool:
    """Whether no two executions of an async.tiled_tma_store write the same element, as far as is known.

    Elements of the memory that tiles are stored to have addresses of their own, and a coordinate that overflows is
    that of a tile outside of it.
    """
    loops = _loops_around(store)
    if len(loops) != 1 or not is_counted_loop(loops[0]) or is_inside(store.desc, loops[0]):
        return False
    view, loop = store.view.type, loops[0]
    apart = all(step >= extent for step, extent in zip(view.steps, view.tile, strict=True))
    return apart and _determine([_without_offset(coord, loop) for coord in store.coords], loop)


def _loops_around(op: Operation) -> list[Operation]:
    around, found = op.parent_op(), []
    while around is not None and not is_entry(around):
        found += [around] * is_loop(around)
        around = around.parent_op()
    return found


def _determine(coords: list[SSAValue], loop: Operation) -> bool:
    """Whether coordinates are different ones in each iteration."""
    induction = loop.regions[0].blocks[0].args[0]
    if induction in coords:
        return True
    return any(_is_division(*pair, induction, loop) for pair in product(coords, coords))


def _is_division(quotient: SSAValue, other: SSAValue, induction: SSAValue, loop: Operation) -> bool:
    """Whether one coordinate is a quotient of the induction variable, and the other one the remainder that belongs to it."""
    owner = quotient.owner
    if isinstance(owner, Block) or owner.name not in DIVISIONS:
        return False
    dividend, divisor = owner.operands
    if is_inside(divisor, loop) or _without_offset(dividend, loop) is not induction:
        return False
    return _is_remainder(other, DIVISIONS[owner.name], (dividend, divisor))


def _is_remainder(value: SSAValue, names: tuple[str, ...], division: tuple[SSAValue, SSAValue]) -> bool:
    """Whether a value is a remainder of a division, or it with the divisor added or taken away."""
    owner = value.owner
    if isinstance(owner, Block):
        return False
    if owner.name == SELECT:
        return all(_is_remainder(choice, names, division) for choice in owner.operands[1:])
    if owner.name in SUMS and owner.operands[1] is division[1]:
        return _is_remainder(owner.operands[0], names, division)
    return owner.name in names and tuple(owner.operands) == division


def _without_offset(value: SSAValue, loop: Operation) -> SSAValue:
    """A value of which this one is a multiple, but for what is the same in all iterations."""
    while (inner := _varying_operand(value, loop)) is not None:
        value = inner
    return value


def _varying_operand(value: SSAValue, loop: Operation) -> SSAValue | None:
    """The one operand that differs between iterations, of an operation by which no two values become one."""
    owner = value.owner
    if isinstance(owner, Block):
        return None
    if keeps_value(owner):
        return owner.operands[0]
    if owner.name not in SUMS and not (owner.name == PRODUCT and any(map(_is_factor, owner.operands))):
        return None
    varying = [operand for operand in owner.operands if is_inside(operand, loop) and not _is_constant(operand)]
    return varying[0] if len(varying) == 1 else None


def _is_factor(value: SSAValue) -> bool:
    return _is_constant(value) and expect(IntegerAttr, owner(value).properties["value"]).value.data != 0


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == CONSTANT
