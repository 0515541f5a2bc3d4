"""Along which axis of the grid the loops of a kernel get longer or shorter, as those of causal attention do.

A heuristic for the order of tile programs, which any order serves: additions are taken not to wrap around, and sizes not to be negative.
"""

from __future__ import annotations

from collections import deque
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
MAX_DEPTH = 64  # operations; index arithmetic of kernels has about ten


def trip_count_directions(func: Operation) -> Directions:
    """The directions of the trips of all outermost loops together: one may begin where another ends. None are known with
    loops that are not counted (they may wait for other programs) or count in steps of the grid (persistent kernels)."""
    every = [op for op in walk(func) if is_loop(op)]
    loops = list(filter(_is_outermost, every))
    if not all(map(is_counted_loop, every)) or any(constant_of(op.operands[2]) is None for op in loops):
        return NONE
    values = _Values()
    starts, ends = values.unmatched([op.operands[0] for op in loops], [op.operands[1] for op in loops])
    return _together([*map(values.directions, ends), *(_negated(values.directions(value)) for value in starts)])


def _is_outermost(loop: Operation) -> bool:
    around = parent_op(loop)
    while not is_function(around):
        if is_loop(around):
            return False
        around = parent_op(around)
    return True


class _Values:
    """Values of one kernel. Each is looked at once, and not farther than MAX_DEPTH operations from the bound of a loop."""

    def __init__(self) -> None:
        self._directions: dict[SSAValue, Directions] = {}
        self._extremes: dict[SSAValue, frozenset[SSAValue]] = {}

    def unmatched(self, starts: Sequence[SSAValue], ends: Sequence[SSAValue]) -> tuple[list[SSAValue], list[SSAValue]]:
        """The starts and ends of loops, less each start with the first end that it shares an extreme with."""
        free: dict[SSAValue, deque[int]] = {}
        for i, end in enumerate(ends):
            for value in self.extremes(end):
                free.setdefault(value, deque()).append(i)
        left, matched = [], set[int]()
        for start in starts:
            waiting = [free[value] for value in self.extremes(start) if value in free]
            for queue in waiting:
                while queue and queue[0] in matched:
                    queue.popleft()
            first = min((queue[0] for queue in waiting if queue), default=None)
            left += [start] if first is None else []
            matched |= set() if first is None else {first}
        return left, [end for i, end in enumerate(ends) if i not in matched]

    def extremes(self, value: SSAValue, depth: int = 0) -> frozenset[SSAValue]:
        """What a value is the minimum or maximum of, or the value alone; no constants."""
        if value not in self._extremes:
            of = _compared(value) if depth < MAX_DEPTH else None
            alone = frozenset() if constant_of(value) is not None else frozenset([value])
            found = alone if of is None else frozenset().union(*(self.extremes(one, depth + 1) for one in of))
            self._extremes[value] = found
        return self._extremes[value]

    def directions(self, value: SSAValue, depth: int = 0) -> Directions:
        """How a value changes along the axes of the grid."""
        if value not in self._directions:
            self._directions[value] = self._directions_of(value, depth) if depth < MAX_DEPTH else _unknown(range(3))
        return self._directions[value]

    def _directions_of(self, value: SSAValue, depth: int) -> Directions:
        if isinstance(value, BlockArgument):
            return NONE if is_function(unwrap(value.block.parent_op())) else _unknown(range(3))
        op = defining_op(value)
        if op.name == "nv_tileaa.get_program_id":
            return {int_attr(op, "axis"): 1}
        if (of := _compared(value)) is not None:
            return _together([self.directions(one, depth + 1) for one in of])
        rule = RULES.get(op.name.partition(".")[2], _any)
        return rule(op, [self.directions(operand, depth + 1) for operand in op.operands])


# ---- minima and maxima ---------------------------------------------------------------------------------
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


# ---- rules -------------------------------------------------------------------------------------------
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


def _added(op: Operation, of: Sequence[Directions]) -> Directions:
    return _together(of)


def _difference(op: Operation, of: Sequence[Directions]) -> Directions:
    left, right = of
    return _both(left, _negated(right))


def _multiplied(op: Operation, of: Sequence[Directions]) -> Directions:
    factors = [constant_of(value) for value in op.operands]
    falls = sum(factor is not None and factor < 0 for factor in factors) % 2
    return _negated(_together(of)) if falls else _together(of)


def _by_constant(op: Operation, of: Sequence[Directions]) -> Directions:
    """A quotient or a shift."""
    amount = constant_of(op.operands[1])
    return of[0] if amount is not None and amount >= 0 else _any(op, of)


def _any(op: Operation, of: Sequence[Directions]) -> Directions:
    """Of an operation that need not be monotonic."""
    return _unknown(range(3) if op.regions else _together(of))


RULES: dict[str, Callable[[Operation, Sequence[Directions]], Directions]] = {
    "addi": _added,
    "subi": _difference,
    "muli": _multiplied,
    "assume": _added,
    "extsi": _added,
    **dict.fromkeys(("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "shli", "shrsi"), _by_constant),
}
