"""Which tiles of an operation have one layout: those that work element by element, and those that a loop carries."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.casting import parent
from ....ir.dialects.op_traits import is_combination, is_continue, is_counted_loop, is_leave, is_loop, is_yield
from ...analysis.op_queries import ELEMENTWISE, FREE, POINTER, is_tile, kind_of, tiles
from .equivalence_classes import LayoutClasses


def unify(classes: LayoutClasses, op: Operation) -> None:
    """Put the tiles of an operation that work element by element together in one class."""
    kind = kind_of(op)
    if kind in (ELEMENTWISE, POINTER):
        bound = [value for value in tiles(op.operands) if not is_free(value)]
        classes.union(bound + tiles(op.results))
    elif is_loop(op):
        _unify_loop(classes, op)
    elif is_leave(op):
        for value, target in yielded(op):
            if is_tile(value):
                classes.union([target] + ([] if is_free(value) else [value]))


def _unify_loop(classes: LayoutClasses, op: Operation) -> None:
    counted = is_counted_loop(op)
    arguments = op.regions[0].blocks[0].args[1 if counted else 0 :]
    for start, argument in zip(op.operands[3 if counted else 0 :], arguments):
        if is_tile(argument):
            classes.union([argument] + ([] if is_free(start) else [start]))
    if counted:
        for argument, result in zip(arguments, op.results):
            if is_tile(argument):
                classes.union([argument, result])


def is_free(value: SSAValue) -> bool:
    """Whether a tile can be made in any layout."""
    return isinstance(value.owner, Operation) and kind_of(value.owner) == FREE


def yielded(op: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """What a terminator's operands become: the next iteration's arguments, or results of the operation around it."""
    target = parent(op)
    while not is_yield(op) and not is_loop(target):
        target = parent(target)
    if is_combination(target):
        return []
    if not is_continue(op):
        return list(zip(op.operands, target.results))
    arguments = target.regions[0].blocks[0].args
    return list(zip(op.operands, arguments[1:] if is_counted_loop(target) else arguments))
