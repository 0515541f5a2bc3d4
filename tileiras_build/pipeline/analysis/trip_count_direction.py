"""Along which axis of the grid the loops of a kernel get longer or shorter, as those of causal attention do.

A heuristic for the order of tile programs, which any order serves: additions are taken not to wrap around, and sizes not to be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import defining_op, int_attr, parent_op, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_traits import is_counted_loop, is_function, is_loop
from .integer_ranges import constant_of

# By axis: 1 where a value grows with the program id, -1 where it falls, 0 where neither is known. It is independent of other axes.
Directions = Mapping[int, int]
NONE: Directions = {}


def trip_count_directions(func: Operation) -> Directions:
    """The directions of the trips of all outermost loops together: one may begin where another ends. None are known with
    loops that are not counted (they may wait for other programs) or count in steps of the grid (persistent kernels)."""
    every = [op for op in walk(func) if is_loop(op)]
    loops = list(filter(_is_outermost, every))
    if not all(map(is_counted_loop, every)) or any(constant_of(op.operands[2]) is None for op in loops):
        return NONE
    starts, ends = [op.operands[0] for op in loops], [op.operands[1] for op in loops]
    for start in list(starts):
        if (end := next((end for end in ends if _extremes(start) & _extremes(end)), None)) is not None:
            starts.remove(start)
            ends.remove(end)
    return _together([*map(_directions, ends), *(_negated(_directions(value)) for value in starts)])


def _is_outermost(loop: Operation) -> bool:
    around = parent_op(loop)
    while not is_function(around):
        if is_loop(around):
            return False
        around = parent_op(around)
    return True


# ---- minima and maxima ---------------------------------------------------------------------------------
def _extremes(value: SSAValue) -> set[SSAValue]:
    """What a value is the minimum or maximum of, or the value alone; no constants."""
    if (of := _compared(value)) is not None:
        return set().union(*map(_extremes, of))
    return {value} if constant_of(value) is None else set()


def _compared(value: SSAValue) -> tuple[SSAValue, ...] | None:
    """The two values of a minimum or a maximum, which may be written as a comparison and a select."""
    if isinstance(value, BlockArgument):
        return None
    op = defining_op(value)
    if op.name in ("arith.minsi", "arith.maxsi"):
        return tuple(op.operands)
    of = op.operands[1:]
    return tuple(of) if op.name == "arith.select" and set(of) == set(_comparison(op.operands[0])) else None


def _comparison(value: SSAValue) -> Sequence[SSAValue]:
    """What a condition compares; one may be widened to an integer and compared with zero."""
    found: Sequence[SSAValue] = (value,)
    while not isinstance(value, BlockArgument) and defining_op(value).name in ("arith.cmpi", "arith.extui"):
        found = defining_op(value).operands
        value = found[0]
    return found


# ---- values --------------------------------------------------------------------------------------------
def _directions(value: SSAValue) -> Directions:
    if isinstance(value, BlockArgument):
        return NONE if is_function(unwrap(value.block.parent_op())) else _unknown(range(3))
    op = defining_op(value)
    if op.name == "nv_tileaa.get_program_id":
        return {int_attr(op, "axis"): 1}
    if (of := _compared(value)) is not None:
        return _together(map(_directions, of))
    rule = RULES.get(op.name.partition(".")[2], _any)
    return rule(op)


def _unknown(axes: Iterable[int]) -> Directions:
    return dict.fromkeys(axes, 0)


def _negated(of: Directions) -> Directions:
    return {axis: -sign for axis, sign in of.items()}


def _both(first: Directions, second: Directions) -> Directions:
    """Of an addition, a minimum or a maximum."""
    shared = {axis: sign if sign == second.get(axis) else 0 for axis, sign in first.items() if axis in second}
    return {**first, **second, **shared}


def _together(found: Iterable[Directions]) -> Directions:
    return reduce(_both, found, NONE)


def _added(op: Operation) -> Directions:
    return _together(map(_directions, op.operands))


def _difference(op: Operation) -> Directions:
    left, right = map(_directions, op.operands)
    return _both(left, _negated(right))


def _multiplied(op: Operation) -> Directions:
    factors = [constant_of(value) for value in op.operands]
    falls = sum(factor is not None and factor < 0 for factor in factors) % 2
    return _negated(_added(op)) if falls else _added(op)


def _by_constant(op: Operation) -> Directions:
    """A quotient or a shift."""
    amount = constant_of(op.operands[1])
    return _directions(op.operands[0]) if amount is not None and amount >= 0 else _any(op)


def _any(op: Operation) -> Directions:
    """Of an operation that need not be monotonic."""
    axes = range(3) if op.regions else _added(op)
    return _unknown(axes)


RULES: dict[str, Callable[[Operation], Directions]] = {
    "addi": _added,
    "subi": _difference,
    "muli": _multiplied,
    "assume": _added,
    "extsi": _added,
    **dict.fromkeys(("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "shli", "shrsi"), _by_constant),
}
