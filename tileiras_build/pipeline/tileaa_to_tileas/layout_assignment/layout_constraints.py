"""The tiles of an operation that must share a layout: elementwise operands and results, and loop-carried tiles."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, parent_op
from ....ir.dialects.op_traits import is_combiner_region, is_continue, is_counted_loop, is_loop, is_region_end, is_yield
from ...analysis.op_queries import DOT, ELEMENTWISE, FREE, POINTER, element_kind, is_tile, tiles
from ...mma.family import MmaFamily, family_of
from .equivalence_classes import LayoutClasses


def add_constraints(classes: LayoutClasses, op: Operation) -> None:
    """Merge the classes of an operation's elementwise operands and results."""
    kind = element_kind(op)
    if kind in (ELEMENTWISE, POINTER):
        bound = [value for value in tiles(op.operands) if not has_free_layout(value)]
        classes.union(bound + tiles(op.results))
    elif is_loop(op):
        _add_loop_constraints(classes, op)
    elif is_region_end(op):
        for value, target in yielded(op):
            if is_tile(value):
                classes.union([target] + ([] if has_free_layout(value) else [value]))


def _add_loop_constraints(classes: LayoutClasses, op: Operation) -> None:
    counted = is_counted_loop(op)
    arguments = op.regions[0].blocks[0].args[1 if counted else 0 :]
    for start, argument in zip(op.operands[3 if counted else 0 :], arguments):
        if is_tile(argument):
            free = has_free_layout(start) or _has_other_accumulators(start, argument)
            classes.union([argument] + ([] if free else [start]))
    if counted:
        for argument, result in zip(arguments, op.results):
            if is_tile(argument):
                classes.union([argument, result])


def _has_other_accumulators(start: SSAValue, argument: SSAValue) -> bool:
    """Whether dots of two families accumulate in a loop and in the one before it: a conversion between the loops takes less than two in each
    iteration.
    """
    loop = start.owner
    if not isinstance(loop, Operation) or not is_counted_loop(loop):
        return False
    before = _accumulating_family(loop.regions[0].blocks[0].args[1 + loop.results.index(start)])
    return before is not None and _accumulating_family(argument) not in (before, None)


def _accumulating_family(argument: SSAValue) -> MmaFamily | None:
    """The family of the dot that adds to a tile that a loop carries."""
    dots = (as_op(use.operation) for use in argument.uses if use.operation.name == DOT)
    return next((family_of(dot) for dot in dots if dot.acc is argument), None)


def has_free_layout(value: SSAValue) -> bool:
    """Whether an operation can produce a tile in any layout."""
    return isinstance(value.owner, Operation) and element_kind(value.owner) == FREE


def yielded(op: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """The values that a terminator's operands become: the next iteration's arguments, or results of the parent
    operation.
    """
    target = parent_op(op)
    while not is_yield(op) and not is_loop(target):
        target = parent_op(target)
    if is_combiner_region(target):
        return []
    if not is_continue(op):
        return list(zip(op.operands, target.results))
    arguments = target.regions[0].blocks[0].args
    return list(zip(op.operands, arguments[1:] if is_counted_loop(target) else arguments))
