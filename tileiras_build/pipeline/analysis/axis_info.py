"""Divisibility, contiguity and constancy of integers and pointers.

For each dimension of a tile, ``AxisInfo`` has the number of consecutive elements that increase by one (contiguity) or
are equal (constancy), in aligned groups, and a power of two that divides the first element of each contiguous group.
Pointers count in bytes. Facts come from constants, assumptions, ranges and arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import gcd
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, cast, defining_op, terminator, tile_type
from ...ir.dialects.nv_tileaa.types import PointerType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop
from ..common.llvm_element_types import element_of
from .axis_facts import (
    MAX_DIVISIBILITY,
    AxisInfo,
    aligned_groups,
    combined_bits,
    either,
    equal_groups,
    group_starts,
    kept_bits,
    moved,
    multiplied,
    power,
    power_of_two,
    quotient,
    remainder,
)
from .enclosing_control_flow import has_no_early_exit
from .integer_ranges import IntegerRanges
from .op_queries import REPEATS, is_tile

ADD = "arith.addi"
ADDITIONS = {ADD, "nv_tileaa.addptr", "nv_tileas.addptr"}


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tile_type(value).get_shape() if is_tile(value) else ()


def _unknown(value: SSAValue) -> AxisInfo:
    ones = (1,) * len(_shape(value))
    return AxisInfo(ones, ones, 1)


class AxisAnalysis:
    """Facts on demand, cached per value."""

    def __init__(self):
        self.known: dict[SSAValue, AxisInfo] = {}
        self.ranges = IntegerRanges()

    def __call__(self, value: SSAValue) -> AxisInfo:
        if (info := self.known.get(value)) is None:
            self.known[value] = _unknown(value)  # the fact for a cycle through a loop
            info = self.known[value] = self._compute(value)
        return info

    def _compute(self, value: SSAValue) -> AxisInfo:
        if isinstance(value, BlockArgument):
            return self._block_argument(value)
        op = defining_op(value)
        rule = RULES.get(op.name)
        return rule(self, op, value) if rule else _unknown(value)

    def _block_argument(self, value: BlockArgument) -> AxisInfo:
        """The induction variable of a counted loop is divisible by common divisors of its lower bound and its step."""
        op = value.block.parent_op()
        if op is None or not is_counted_loop(op):
            return _unknown(value)
        if value.index:
            return self._carried(as_op(op), value)
        lower, step = self(op.operands[0]), self(op.operands[2])
        return AxisInfo((), (), gcd(lower.divisibility, step.divisibility))

    def _carried(self, loop: TableOp, value: BlockArgument) -> AxisInfo:
        """What a loop carries, if each iteration adds to it."""
        passed = terminator(value.block).operands[value.index - 1]
        if _name(passed) not in ADDITIONS or not has_no_early_exit(loop):
            return _unknown(value)
        op = defining_op(passed)
        if op.operands[0] is not value:
            return _unknown(value)
        start, step = self(loop.initial[value.index - 1]), self(op.operands[1])
        if op.name == ADD:
            return moved(start, step)
        bytes, per_byte = _step_of(value)
        return moved(start, step, bytes, bytes, per_byte)

    def is_positive(self, value: SSAValue) -> bool:
        """Whether a divisor, or the scalar that a tile repeats, is positive: zero divides nothing."""
        while is_tile(value) and _name(value) in REPEATS:
            value = defining_op(value).operands[0]
        return not is_tile(value) and self.ranges(value)[0] >= 0


def _name(value: SSAValue) -> str | None:
    return None if isinstance(value, BlockArgument) else defining_op(value).name


Rule = Callable[[AxisAnalysis, Any, SSAValue], AxisInfo]


# ---- rules ---------------------------------------------------------------------------------------
def _constant(analysis: AxisAnalysis, op: Operation, value: SSAValue) -> AxisInfo:
    attribute = op.properties["value"]
    if not isinstance(attribute, IntegerAttr):
        return _unknown(value)
    number = attribute.value.data
    return AxisInfo((), (), power_of_two(number), number)


def _assume(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    info = analysis(op.operands[0])
    predicate = op.predicate
    if predicate.name != "cuda_tile.div_by" or _shape(value):
        return info
    return AxisInfo(
        info.contiguity, info.constancy, max(info.divisibility, power_of_two(predicate.divisor)), info.constant
    )


def _splat(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    info, shape = analysis(op.operands[0]), _shape(value)
    return AxisInfo((1,) * len(shape), shape, info.divisibility, info.constant)


def _range(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    shape = _shape(value)
    return AxisInfo(shape, (1,), MAX_DIVISIBILITY)


def _forward_operand(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    return analysis(op.operands[0])


def _groups(a: AxisInfo, c: AxisInfo) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Contiguity and constancy of a + c: one operand is contiguous where the other is constant."""
    pairs = list(zip(a.contiguity, c.contiguity, a.constancy, c.constancy))
    runs = tuple(max(gcd(ra, kc), gcd(rc, ka)) for ra, rc, ka, kc in pairs)
    return runs, tuple(gcd(ka, kc) for _, _, ka, kc in pairs)


def _add(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    a, c = (analysis(operand) for operand in op.operands)
    runs, constancy = _groups(a, c)
    total = None if a.constant is None or c.constant is None else a.constant + c.constant
    return AxisInfo(runs, constancy, gcd(group_starts(a, runs), group_starts(c, runs)), total)


def _subtract(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    a, c = (analysis(operand) for operand in op.operands)
    runs = tuple(gcd(run, still) for run, still in zip(a.contiguity, c.constancy))
    constancy = tuple(gcd(x, y) for x, y in zip(a.constancy, c.constancy))
    total = None if a.constant is None or c.constant is None else a.constant - c.constant
    return AxisInfo(runs, constancy, gcd(group_starts(a, runs), group_starts(c, runs)), total)


def _of_operands(combined: Callable[[AxisInfo, AxisInfo], AxisInfo]) -> Rule:
    """What follows from the facts of two operands alone."""
    return lambda analysis, op, value: combined(*(analysis(operand) for operand in op.operands))


def _division(*, is_unsigned: bool = False, rounds_down: bool = False) -> Rule:
    def rule(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
        dividend, divisor = op.operands
        rounded = is_unsigned or rounds_down and analysis.is_positive(divisor)
        return quotient(analysis(dividend), analysis(divisor), rounds_down=rounded)

    return rule


def _shift(by_power: Callable[[AxisInfo, AxisInfo], AxisInfo]) -> Rule:
    """A multiplication or a division by a power of two."""

    def rule(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
        number, distance = (analysis(operand) for operand in op.operands)
        factor = power(distance)
        return _unknown(value) if factor is None else by_power(number, factor)

    return rule


def _floor_division(analysis: AxisAnalysis, op: TableOp) -> tuple[SSAValue, SSAValue] | None:
    """(dividend, divisor) of a remainder with the sign of its divisor: r + divisor where r, which is not zero, has another sign,
    else r.
    """
    condition, added, rest = op.operands
    if (_name(condition), _name(added), _name(rest)) != ("arith.andi", ADD, "arith.remsi"):
        return None
    dividend, divisor = defining_op(rest).operands
    differs, is_some = defining_op(condition).operands
    if _name(differs) != "arith.xori" or set(defining_op(added).operands) != {rest, divisor}:
        return None
    expected = (rest, "slt"), (divisor, "slt"), (rest, "ne")
    found = [_test_of_zero(analysis, test) for test in (*defining_op(differs).operands, is_some)]
    return (dividend, divisor) if tuple(found) == expected else None


def _test_of_zero(analysis: AxisAnalysis, value: SSAValue) -> tuple[SSAValue, str] | None:
    """What is compared with zero, and the predicate."""
    if _name(value) != "arith.cmpi":
        return None
    op = as_op(defining_op(value))
    return (op.operands[0], op.predicate) if analysis(op.operands[1]).constant == 0 else None


def _select(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    if (division := _floor_division(analysis, op)) is not None and analysis.is_positive(division[1]):
        return remainder(*map(analysis, division), counts_up=True)
    condition, a, c = map(analysis, op.operands)
    return either(a, c, condition.constancy)


def _add_pointer(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    pointer, offset = (analysis(operand) for operand in op.operands)
    runs, constancy = _groups(pointer, offset)
    bytes, per_byte = _step_of(value)
    added = min(max(group_starts(offset, runs) * bytes // per_byte, 1), MAX_DIVISIBILITY)
    return AxisInfo(runs, constancy, gcd(group_starts(pointer, runs, bytes), added))


def _step_of(value: SSAValue) -> tuple[int, int]:
    """Bytes of so many elements, by which an offset moves pointers."""
    element = value.type.element_type if isinstance(value.type, TensorType) else value.type
    pointer = cast(PointerType, element)
    return pointee_bytes(pointer), element_of(pointer.pointee).per_byte


def pointee_bytes(pointer: PointerType) -> int:
    return element_of(pointer.pointee).bytes


def _view(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    """Inserting and removing dimensions of extent one keeps facts; any other change of shape drops them."""
    info, source, target = analysis(op.operands[0]), _shape(op.operands[0]), _shape(value)
    squeezed = [dim for dim, size in enumerate(source) if size != 1]
    target_dims = [dim for dim, size in enumerate(target) if size != 1]
    if [source[dim] for dim in squeezed] != [target[dim] for dim in target_dims]:
        return AxisInfo((1,) * len(target), (1,) * len(target), 1, info.constant)
    runs, constancy = [1] * len(target), [1] * len(target)
    for dim, place in zip(squeezed, target_dims):
        runs[place], constancy[place] = info.contiguity[dim], info.constancy[dim]
    return AxisInfo(tuple(runs), tuple(constancy), info.divisibility, info.constant)


def _broadcast(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    info, source, target = analysis(op.operands[0]), _shape(op.operands[0]), _shape(value)
    wide = [size != old for size, old in zip(target, source)]
    runs = tuple(1 if w else run for w, run in zip(wide, info.contiguity))
    constancy = tuple(size if w else squeezed for w, size, squeezed in zip(wide, target, info.constancy))
    return AxisInfo(runs, constancy, info.divisibility, info.constant)


# Predicates that are constant within a group: contiguous x against constant y, and the reverse.
CONTIGUOUS_LHS = frozenset(("slt", "ult", "sge", "uge"))
CONTIGUOUS_RHS = frozenset(("sgt", "ugt", "sle", "ule"))


def _compare(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    """x < y is constant within an aligned group of x if y is constant and both start at multiples of the group."""
    a, c = (analysis(operand) for operand in op.operands)
    moving = a.ones
    if op.predicate in CONTIGUOUS_LHS:
        moving = aligned_groups(a, c)
    if op.predicate in CONTIGUOUS_RHS:
        moving = aligned_groups(c, a)
    return AxisInfo(a.ones, tuple(map(max, equal_groups(a, c), moving)), 1)


_TILE_RULES: dict[str, Rule] = {
    "assume": _assume,
    "splat": _splat,
    "make_range": _range,
    "addptr": _add_pointer,
    "view": _view,
    "broadcast": _broadcast,
    "bitcast": _forward_operand,
}
RULES: dict[str, Rule] = {
    "arith.constant": _constant,
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _of_operands(multiplied),
    "arith.floordivsi": _division(rounds_down=True),
    "arith.divsi": _division(),
    "arith.ceildivsi": _division(),
    "arith.divui": _division(is_unsigned=True),
    "arith.remsi": _of_operands(partial(remainder, counts_up=False)),
    "arith.remui": _of_operands(partial(remainder, counts_up=True)),
    "arith.shli": _shift(multiplied),
    "arith.shrsi": _shift(partial(quotient, rounds_down=True)),
    "arith.shrui": _shift(partial(quotient, rounds_down=True)),
    **{f"arith.{name}": _of_operands(either) for name in ("minsi", "minui", "maxsi", "maxui")},
    "arith.extsi": _forward_operand,
    "arith.extui": _forward_operand,
    "arith.cmpi": _compare,
    "arith.andi": _of_operands(kept_bits),
    "arith.ori": _of_operands(combined_bits),
    "arith.xori": _of_operands(combined_bits),
    "arith.select": _select,
    **{f"nv_tileas.{name}": rule for name, rule in _TILE_RULES.items()},
    **{f"nv_tileaa.{name}": rule for name, rule in _TILE_RULES.items()},
}
