"""Divisibility, contiguity and constancy of integers and pointers.

For each dimension of a tile, ``AxisInfo`` has the number of consecutive elements that increase by one (contiguity) or
are equal (constancy), in aligned groups, and a power of two that divides the first element of each contiguous group.
Pointers count in bytes. Facts come from constants, assumptions, ranges and arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.casting import cast, defining_op, tile_type
from ...ir.dialects.nv_tileaa.types import PointerType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop
from ..common.llvm_element_types import element_of
from .op_queries import is_tile

# The divisor of zero, which every power of two divides.
MAX_DIVISIBILITY = 1 << 30


def power_of_two(value: int) -> int:
    """The largest power of two that divides ``value``."""
    return MAX_DIVISIBILITY if value == 0 else min(value & -value, MAX_DIVISIBILITY)


@dataclass(frozen=True)
class AxisInfo:
    """Facts about a value; a scalar has no dimensions. ``constant`` is the value itself if known."""

    contiguity: tuple[int, ...]
    constancy: tuple[int, ...]
    divisibility: int
    constant: int | None = None


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tile_type(value).get_shape() if is_tile(value) else ()


def _unknown(value: SSAValue) -> AxisInfo:
    ones = (1,) * len(_shape(value))
    return AxisInfo(ones, ones, 1)


class AxisAnalysis:
    """Facts on demand, cached per value."""

    def __init__(self):
        self.known: dict[SSAValue, AxisInfo] = {}

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
        if op is None or not is_counted_loop(op) or value.index:
            return _unknown(value)
        lower, step = self(op.operands[0]), self(op.operands[2])
        return AxisInfo((), (), gcd(lower.divisibility, step.divisibility))


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


def group_starts(info: AxisInfo, runs: Sequence[int], unit: int = 1) -> int:
    """The divisor of the first element of each group of sizes ``runs``.

    Groups smaller than those of the value start inside them: at multiples of their size (times ``unit``).
    """
    divisibility = info.divisibility
    for run, own in zip(runs, info.contiguity):
        if run < own:
            divisibility = gcd(divisibility, run * unit)
    return divisibility


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


def _multiply(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    a, c = (analysis(operand) for operand in op.operands)
    for info, factor in ((a, c), (c, a)):
        if factor.constant == 1:
            return info
    constancy = tuple(gcd(x, y) for x, y in zip(a.constancy, c.constancy))
    dot = None if a.constant is None or c.constant is None else a.constant * c.constant
    ones = (1,) * len(constancy)
    return AxisInfo(ones, constancy, min(group_starts(a, ones) * group_starts(c, ones), MAX_DIVISIBILITY), dot)


def _add_pointer(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    pointer, offset = (analysis(operand) for operand in op.operands)
    runs, constancy = _groups(pointer, offset)
    element = value.type.element_type if isinstance(value.type, TensorType) else value.type
    type = cast(PointerType, element)
    bytes, per_byte = pointee_bytes(type), element_of(type.pointee).per_byte
    moved = min(max(group_starts(offset, runs) * bytes // per_byte, 1), MAX_DIVISIBILITY)
    return AxisInfo(runs, constancy, gcd(group_starts(pointer, runs, bytes), moved))


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
    predicate = op.predicate
    groups = []
    for dim in range(len(a.contiguity)):
        moving = gcd(a.contiguity[dim], c.constancy[dim]) if predicate in CONTIGUOUS_LHS else 1
        if predicate in CONTIGUOUS_RHS:
            moving = gcd(c.contiguity[dim], a.constancy[dim])
        runs = tuple(moving if other == dim else 1 for other in range(len(a.contiguity)))
        start = gcd(group_starts(a, runs), group_starts(c, runs))
        groups.append(max(gcd(a.constancy[dim], c.constancy[dim]), gcd(moving, start)))
    return AxisInfo((1,) * len(groups), tuple(groups), 1)


def _join(analysis: AxisAnalysis, op: TableOp, value: SSAValue) -> AxisInfo:
    """An elementwise function is constant where all operands are."""
    infos = [analysis(operand) for operand in op.operands if _shape(operand)]
    if not infos or not _shape(value):
        return _unknown(value)
    constancy = tuple(gcd(*column) for column in zip(*(info.constancy for info in infos)))
    return AxisInfo((1,) * len(constancy), constancy, 1)


Rule = Callable[[AxisAnalysis, Any, SSAValue], AxisInfo]

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
    "arith.muli": _multiply,
    "arith.extsi": _forward_operand,
    "arith.extui": _forward_operand,
    "arith.cmpi": _compare,
    "arith.andi": _join,
    "arith.ori": _join,
    "arith.xori": _join,
    "arith.select": _join,
    **{f"nv_tileas.{name}": rule for name, rule in _TILE_RULES.items()},
    **{f"nv_tileaa.{name}": rule for name, rule in _TILE_RULES.items()},
}
