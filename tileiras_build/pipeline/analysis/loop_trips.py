"""How often the loops of a kernel run: known, at most as often as its program shows, or assumed.

A part of a sequence ends at ``min(start + length, end)``, a window begins at ``max(0, end - width)``: how far one value is above another is
followed through additions, minima, maxima and quotients, as if nothing overflowed. It chooses schedules, and proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, defining_op, tile_type
from ...ir.dialects.op_traits import is_counted_loop
from ..mma.dots import dot_shape
from .integer_ranges import constant_of, trips_of
from .op_queries import DOT, LOADS, has_dots, is_tile

ASSUMED_EXTENT = 4096
DEPTH = 12  # operations from a bound on
FEW_TRIPS = 2
ROUNDED_DOWN, ROUNDED_UP = {"divsi", "floordivsi", "divui"}, {"ceildivsi", "ceildivui"}
QUOTIENTS = ROUNDED_DOWN | ROUNDED_UP


def loop_trips(loop: Operation) -> float:
    """How often a loop runs."""
    if (known := trips_of(loop)) is not None:
        return known
    most = most_trips(loop)
    return _assumed(loop) if most is None else min(max(1.0, most), _assumed(loop))


def _assumed(loop: Operation) -> float:
    inside = list(loop.regions[0].blocks[0].ops)
    if dots := [as_op(op) for op in inside if op.name == DOT]:
        return max(1.0, ASSUMED_EXTENT / (dot_shape(dots[-1])[3] * (2 if dots[-1].packed else 1)))
    if has_dots(loop):
        return 1.0
    extents = [tile_type(op.results[0]).get_shape()[-1] for op in inside if op.name in LOADS and is_tile(op.results[0])]
    return max(1.0, ASSUMED_EXTENT / max(extents)) if extents else 1.0


def most_trips(loop: Operation) -> int | None:
    """How often a counted loop runs at most; None if its program does not show it."""
    if not is_counted_loop(loop) or not (step := constant_of(loop.operands[2])):
        return None
    lower, upper = loop.operands[:2]
    most = _Distances().most_above(upper, lower)
    return None if most is None else ceil(most / step)


def are_short(loops: Sequence[Operation]) -> bool:
    """Whether loops are so short that most of a CTA's time is their first load and what follows them."""
    return all(0 < (most_trips(loop) or 0) <= FEW_TRIPS for loop in loops)


class _Distances:
    """How far values are above others, each pair computed once: without that, each of a chain of additions doubles the work."""

    def __init__(self):
        self.known: dict[tuple[SSAValue, SSAValue | int, int], int | None] = {}

    def most_above(self, value: SSAValue, other: SSAValue | int, depth: int = DEPTH) -> int | None:
        """How far ``value`` is above ``other`` at most, by so many operations; None if that is not known."""
        key = value, other, depth
        if key not in self.known:
            self.known[key] = self._most_above(value, other, depth)
        return self.known[key]

    def _most_above(self, value: SSAValue, other: SSAValue | int, depth: int) -> int | None:
        if value is other:
            return 0
        if not isinstance(other, int) and (known := constant_of(other)) is not None:
            other = known
        if isinstance(other, int) and (number := constant_of(value)) is not None:
            return number - other
        if not depth:
            return None
        below = None if isinstance(other, int) else self._by_other(value, other, depth - 1)
        return _least([self._by_value(value, other, depth - 1), below])

    def _by_value(self, value: SSAValue, other: SSAValue | int, depth: int) -> int | None:
        """From the operation that computes the higher value."""
        if isinstance(value, BlockArgument):
            return None
        op = defining_op(value)
        rule = RULES.get(_name(op))
        return rule(self, op, other, depth) if rule else None

    def _by_other(self, value: SSAValue, other: SSAValue, depth: int) -> int | None:
        """From the operation that computes the lower value: a maximum, or an addition of a constant."""
        if isinstance(other, BlockArgument):
            return None
        op = defining_op(other)
        name, operands = _name(op), op.operands
        if name == "maxsi":
            return _least([self.most_above(value, operand, depth) for operand in operands])
        if name not in ("addi", "subi") or (number := constant_of(operands[1])) is None:
            return None
        rest = self.most_above(value, operands[0], depth)
        return None if rest is None else rest - (number if name == "addi" else -number)


def _least(found: list[int | None]) -> int | None:
    return min((one for one in found if one is not None), default=None)


def _both(distances: _Distances, op: Operation, other: SSAValue | int, depth: int) -> int | None:
    """A value that may be either of two."""
    found = [distances.most_above(operand, other, depth) for operand in op.operands[-2:]]
    return None if None in found else max(one for one in found if one is not None)


def _either(distances: _Distances, op: Operation, other: SSAValue | int, depth: int) -> int | None:
    return _least([distances.most_above(operand, other, depth) for operand in op.operands])


def _same(distances: _Distances, op: Operation, other: SSAValue | int, depth: int) -> int | None:
    return distances.most_above(op.operands[0], other, depth)


def _added(distances: _Distances, op: Operation, other: SSAValue | int, depth: int) -> int | None:
    """One operand is above the other value, the second above zero."""
    above = [(distances.most_above(one, other, depth), distances.most_above(one, 0, depth)) for one in op.operands]
    (left, left_itself), (right, right_itself) = above
    return _least([_total(left, right_itself), _total(right, left_itself)])


def _total(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _subtracted(distances: _Distances, op: Operation, other: SSAValue | int, depth: int) -> int | None:
    left, right = op.operands
    if isinstance(other, int):
        found = distances.most_above(left, right, depth)
        return None if found is None else found - other
    number, rest = constant_of(right), distances.most_above(left, other, depth)
    return None if number is None or rest is None else rest - number


def _quotient(distances: _Distances, op: Operation, other: SSAValue | int, depth: int) -> int | None:
    """A quotient above a number, or above a quotient by the same divisor."""
    divisor, rounds_up = constant_of(op.operands[1]), _name(op) in ROUNDED_UP
    if not divisor or divisor < 0:
        return None
    if isinstance(other, int):
        found = distances.most_above(op.operands[0], 0, depth)
        return None if found is None else (ceil(found / divisor) if rounds_up else found // divisor) - other
    lower = None if isinstance(other, BlockArgument) else defining_op(other)
    if lower is None or _name(lower) not in QUOTIENTS or constant_of(lower.operands[1]) != divisor:
        return None
    found = distances.most_above(op.operands[0], lower.operands[0], depth)
    return None if found is None else ceil(found / divisor) + (rounds_up and _name(lower) in ROUNDED_DOWN)


def _name(op: Operation) -> str:
    """An operation's name without its dialect."""
    return op.name.partition(".")[2]


Rule = Callable[[_Distances, Operation, SSAValue | int, int], int | None]
RULES: dict[str, Rule] = {
    **dict.fromkeys(("minsi", "minui"), _either),
    **dict.fromkeys(("maxsi", "select"), _both),
    **dict.fromkeys(("extsi", "assume"), _same),
    **dict.fromkeys(QUOTIENTS, _quotient),
    "addi": _added,
    "subi": _subtracted,
}
