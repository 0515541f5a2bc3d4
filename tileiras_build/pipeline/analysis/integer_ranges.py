"""Between which numbers the integers of a program lie, and which tile indices are proven to be inside of their tensor.

A range is that of a scalar as a signed integer of its type; what may wrap around has all of them. Beside numbers, sizes
of tensors bound indices: the index of a loop that runs to ``ceil(size / step)`` is below the number of tiles that are
``step`` apart. Parameters may have any value of their type, and grids any size that the hardware allows: what a launch
passes is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from ...ir.casting import expect, maker, memref_type, number_of, owner, row, view_type
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_counted_loop

Range = tuple[int, int]
# A number that is at most, or below, ceil(size / step): the value that is the size, and the step.
Counts = frozenset[tuple[SSAValue, int]]
NOTHING: Counts = frozenset()
# CTAs of a grid along its axes (CUDA C++ Programming Guide, "Compute Capabilities").
MOST_CTAS = ((1 << 31) - 1, 65535, 65535)


class Check(IntEnum):
    """What is asked of a tile index when a tile is accessed, along one dimension."""

    NONE = 0  # it is proven to be one of the tensor's
    END = 1  # it may be past the end; its first element has a number that fits
    ANY = 2  # it may be below zero, or so large that its first element has no number of the index's type


def width(value: SSAValue) -> int:
    """The bits of an integer."""
    return expect(IntegerType, value.type).width.data


def everything(value: SSAValue) -> Range:
    """All numbers of a value's type."""
    half = 1 << (width(value) - 1)
    return -half, half - 1


def constant_of(value: SSAValue) -> int | None:
    """The number that a value is known to be."""
    if isinstance(value, BlockArgument) or owner(value).name != "arith.constant":
        return None
    number = owner(value).properties["value"]
    return number.value.data if isinstance(number, IntegerAttr) else None


def size_of(view: TableOperation | None, memref: TableOperation, dim: int) -> SSAValue | int:
    """The extent of a memory reference's dimension; ``view``: of the tensor's dimension that this one of the tile is on."""
    source = dim if view is None else expect(TiledViewType, view.results[0].type).dim_map[dim]
    shape = memref_type(memref.results[0]).shape
    if (known := shape[source]) is not None:
        return known
    return memref.sizes[sum(extent is None for extent in shape[:source])]


class IndexRanges:
    """Ranges on demand, remembered per value."""

    def __init__(self):
        self.known: dict[SSAValue, Range] = {}

    def __call__(self, value: SSAValue) -> Range:
        if value not in self.known:
            self.known[value] = everything(value)  # what a cycle through a loop sees
            least, most = self._range(value)
            low, high = everything(value)
            self.known[value] = (least, most) if low <= least <= most <= high else (low, high)
        return self.known[value]

    def _range(self, value: SSAValue) -> Range:
        if isinstance(value, BlockArgument):
            return self.counter(value) or everything(value)
        rule = RANGES.get(_word(value))
        return rule(self, owner(value), value) if rule else everything(value)

    def counter(self, value: BlockArgument) -> Range | None:
        """The range of a loop's index that does not wrap around; None for what is no such index."""
        loop = value.block.parent_op()
        if loop is None or value.index or not is_counted_loop(loop):
            return None
        (first, _), (_, end), (least_step, step) = map(self, loop.operands[:3])
        if "unsigned" in loop.attributes and min(first, self(loop.operands[1])[0]) < 0:
            return None
        return (first, max(first, end - 1)) if least_step > 0 and end - 1 + step <= everything(value)[1] else None

    # ---- sizes of tensors --------------------------------------------------------------------------
    def at_most(self, value: SSAValue) -> Counts:
        """Numbers of tiles that a value, which is not negative, does not exceed."""
        root = size_root(value)
        found = {(root, 1)}
        if not isinstance(root, BlockArgument):
            rule = AT_MOST.get(_word(root))
            found |= rule(self, owner(root), root) if rule else NOTHING
        return frozenset(found)

    def below(self, value: SSAValue) -> Counts:
        """Numbers of tiles that a value, which is not negative, is less than."""
        value = size_root(value)
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            is_index = loop is not None and self.counter(value) is not None
            return self.at_most(loop.operands[1]) if loop is not None and is_index else NOTHING
        rule = BELOW.get(_word(value))
        return rule(self, owner(value), value) if rule else NOTHING

    # ---- tiles -------------------------------------------------------------------------------------
    def checks(self, access: TableOperation) -> list[Check]:
        """What must be asked of each index of a load, a store or an update of a view's tile."""
        return [self._check(access, dim) for dim in range(len(access.coords))]

    def _check(self, access: TableOperation, dim: int) -> Check:
        view, index = view_type(access.view), access.coords[dim]
        if view.sparse.data == dim:
            return Check.ANY
        least, most = self(index)
        if least < 0 or most * view.steps[dim] + view.tile[dim] > 1 << (width(index) - 1):
            return Check.ANY
        return Check.NONE if view.sparse.data < 0 and self._is_inside(access.view, dim, index) else Check.END

    def _is_inside(self, view: SSAValue, dim: int, index: SSAValue) -> bool:
        """Whether an index that is not negative is below the number of the view's tiles."""
        step = view_type(view).steps[dim]
        size = size_of(maker(view), maker(maker(view).operands[0]), dim)
        least = size if isinstance(size, int) else self(size)[0]
        if self(index)[1] < -(-least // step):
            return True
        if isinstance(size, int):
            return False
        root = size_root(size)
        return any(of is root and apart >= step for of, apart in self.below(index))


def _word(value: SSAValue) -> str:
    """The name of the operation that gives a value, without its dialect."""
    return owner(value).name.partition(".")[2]


SAME = ("assume", "extsi", "extui")


def size_root(value: SSAValue) -> SSAValue:
    """The value that another one is, as long as it is not negative."""
    while not isinstance(value, BlockArgument):
        op = owner(value)
        if _word(value) in SAME:
            value = op.operands[0]
        elif _word(value) == "get_dim_size":
            size = size_of(None, maker(op.operands[0]), expect(OpResult, value).index)
            if isinstance(size, int):
                break
            value = size
        else:
            break
    return value


# ---- ranges ----------------------------------------------------------------------------------------
Rule = Callable[[IndexRanges, Operation, SSAValue], Range]


def _corners(compute: Callable[[int, int], int]) -> Rule:
    """Of what grows or falls with each operand: its least and its greatest number are those of corners."""

    def rule(ranges: IndexRanges, op: Operation, _: SSAValue) -> Range:
        left, right = map(ranges, op.operands)
        found = [compute(a, c) for a in left for c in right]
        return min(found), max(found)

    return rule


def _division(rounded: Callable[[int, int], int], *, unsigned: bool = False) -> Rule:
    """A quotient by a number that is not negative; one by zero is undefined."""

    def rule(ranges: IndexRanges, op: Operation, value: SSAValue) -> Range:
        (least, most), (smallest, largest) = map(ranges, op.operands)
        if smallest < 0 or (unsigned and least < 0):
            return everything(value)
        found = [rounded(number, max(divisor, 1)) for number in (least, most) for divisor in (smallest, largest)]
        return min(found), max(found)

    return rule


def _remainder(ranges: IndexRanges, op: Operation, value: SSAValue) -> Range:
    (least, most), (smallest, largest) = map(ranges, op.operands)
    return (0, min(most, max(largest - 1, 0))) if least >= 0 and smallest >= 0 else everything(value)


def _assumed(ranges: IndexRanges, op: Operation, _: SSAValue) -> Range:
    least, most = ranges(op.operands[0])
    if isinstance(predicate := row(op).predicate, BoundedAttr):
        low, high = predicate.data
        least, most = max(least, least if low is None else low), min(most, most if high is None else high)
    return least, most


def _tile_count(ranges: IndexRanges, op: Operation, value: SSAValue) -> Range:
    view, dim = maker(op.operands[0]), expect(OpResult, value).index
    size, step = size_of(view, maker(view.operands[0]), dim), view_type(op.operands[0]).steps[dim]
    least, most = (size, size) if isinstance(size, int) else ranges(size)
    return (-(-least // step), -(-most // step)) if least >= 0 else everything(value)


def _dim_size(ranges: IndexRanges, op: Operation, value: SSAValue) -> Range:
    size = size_of(None, maker(op.operands[0]), expect(OpResult, value).index)
    return (size, size) if isinstance(size, int) else ranges(size)


def _constant(_ranges: IndexRanges, _op: Operation, value: SSAValue) -> Range:
    number = constant_of(value)
    return everything(value) if number is None else (number, number)


def _either(ranges: IndexRanges, op: Operation, _: SSAValue) -> Range:
    (a, b), (c, d) = map(ranges, op.operands[1:])
    return min(a, c), max(b, d)


def _widened(ranges: IndexRanges, op: Operation, value: SSAValue) -> Range:
    least, most = ranges(op.operands[0])
    return (least, most) if least >= 0 or _word(value) != "extui" else (0, (1 << width(op.operands[0])) - 1)


def _bits_of_both(ranges: IndexRanges, op: Operation, value: SSAValue) -> Range:
    bounds = [most for least, most in map(ranges, op.operands) if least >= 0]
    return (0, min(bounds)) if bounds else everything(value)


def _shifted(rule: Rule) -> Rule:
    """A shift, as multiplication or division by a power of two."""

    def shifted(ranges: IndexRanges, op: Operation, value: SSAValue) -> Range:
        amount = constant_of(op.operands[1])
        return rule(ranges, op, value) if amount is not None and 0 <= amount < width(value) else everything(value)

    return shifted


def _ceiling(a: int, c: int) -> int:
    return -(-a // c)


def _towards_zero(a: int, c: int) -> int:
    return a // c if a >= 0 else -(-a // c)


RANGES: dict[str, Rule] = {
    "constant": _constant,
    "assume": _assumed,
    "extsi": _widened,
    "extui": _widened,
    "trunci": lambda ranges, op, _: ranges(op.operands[0]),
    "addi": _corners(lambda a, c: a + c),
    "subi": _corners(lambda a, c: a - c),
    "muli": _corners(lambda a, c: a * c),
    "minsi": _corners(min),
    "maxsi": _corners(max),
    "divsi": _division(_towards_zero),
    "floordivsi": _division(lambda a, c: a // c),
    "ceildivsi": _division(_ceiling),
    "divui": _division(lambda a, c: a // c, unsigned=True),
    "ceildivui": _division(_ceiling, unsigned=True),
    "remsi": _remainder,
    "remui": _remainder,
    "andi": _bits_of_both,
    "shli": _shifted(_corners(lambda a, c: a << c)),
    "shrsi": _shifted(_corners(lambda a, c: a >> c)),
    "select": _either,
    "get_tile_count": _tile_count,
    "get_dim_size": _dim_size,
    "get_program_id": lambda _ranges, op, _: (0, MOST_CTAS[number_of(op, "axis")] - 1),
    "get_num_programs": lambda _ranges, op, _: (1, MOST_CTAS[number_of(op, "axis")]),
}


# ---- numbers of tiles --------------------------------------------------------------------------------
CountRule = Callable[[IndexRanges, Operation, SSAValue], Counts]


def _count_of_tiles(_ranges: IndexRanges, op: Operation, value: SSAValue) -> Counts:
    view, dim = maker(op.operands[0]), expect(OpResult, value).index
    size = size_of(view, maker(view.operands[0]), dim)
    return NOTHING if isinstance(size, int) else frozenset({(size_root(size), view_type(op.operands[0]).steps[dim])})


def _divided(asked: str, *, rounds_up: bool = False, unsigned: bool = False) -> CountRule:
    """ceil(ceil(n / a) / b) is ceil(n / ab), and what is rounded down is less than that where n / a is.

    A quotient of a negative number is at most zero.
    """

    def rule(ranges: IndexRanges, op: Operation, _: SSAValue) -> Counts:
        divisor, dividend = constant_of(op.operands[1]), op.operands[0]
        positive = unsigned or asked == "below"
        if divisor is None or divisor <= 0 or positive and ranges(dividend)[0] < 0:
            return NOTHING
        counts = getattr(ranges, asked)(dividend)
        if not rounds_up and asked == "at_most":
            counts |= _before_rounding(ranges, dividend, divisor)
        return frozenset((size, step * divisor) for size, step in counts)

    return rule


def _before_rounding(ranges: IndexRanges, value: SSAValue, divisor: int) -> Counts:
    """What n is at most where the dividend is n + divisor - 1, or less."""
    if isinstance(value, BlockArgument) or _word(value) != "addi":
        return NOTHING
    number, added = owner(value).operands
    more = constant_of(added)
    return ranges.at_most(number) if more is not None and 0 <= more < divisor and ranges(number)[0] >= 0 else NOTHING


def _of_any(asked: str) -> CountRule:
    def rule(ranges: IndexRanges, op: Operation, _: SSAValue) -> Counts:
        return frozenset().union(*(getattr(ranges, asked)(operand) for operand in op.operands))

    return rule


def _of_divisor(ranges: IndexRanges, op: Operation, _: SSAValue) -> Counts:
    """A remainder, which is not negative, is less than what was divided by."""
    return ranges.at_most(op.operands[1]) if ranges(op.operands[1])[0] >= 0 else NOTHING


AT_MOST: dict[str, CountRule] = {
    "get_tile_count": _count_of_tiles,
    "minsi": _of_any("at_most"),
    "ceildivsi": _divided("at_most", rounds_up=True),
    "floordivsi": _divided("at_most"),
    "divsi": _divided("at_most"),
    "divui": _divided("at_most", unsigned=True),
}
BELOW: dict[str, CountRule] = {
    "minsi": _of_any("below"),
    "remsi": _of_divisor,
    "remui": _of_divisor,
    "floordivsi": _divided("below"),
    "divsi": _divided("below"),
    "divui": _divided("below"),
}
