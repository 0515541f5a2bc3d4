"""Ranges of the integers of a program, and the tile indices that they prove in bounds.

A range is that of a scalar, or of all elements of a tile, as a signed integer of its type; operations that may wrap around have the full range.
Besides constants, tensor extents bound indices: the index of a loop up to ``ceil(size / step)`` is below the number of
tiles that are ``step`` apart. Parameters may have any value of their type, and grids any size that the hardware
supports, as launch arguments are unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from ...ir.casting import (
    as_op,
    cast,
    defining_op,
    defining_table_op,
    int_attr,
    memref_type,
    tile_size,
    tile_type,
    view_type,
)
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop
from ...manifest.manifest_constants import MAX_GRID_CTAS
from .op_queries import is_tile

Range = tuple[int, int]
# (size, step): a bound ceil(size / step), inclusive or exclusive, with the value that is the size.
TileCounts = frozenset[tuple[SSAValue, int]]
NOTHING: TileCounts = frozenset()


class BoundsCheck(IntEnum):
    """The bounds check of a tile index along one dimension."""

    NONE = 0  # proven to be in bounds
    PAST_END = 1  # may be past the end; its element offset does not overflow
    ANY = 2  # may be negative, or so large that its element offset overflows the index type


def width(value: SSAValue) -> int:
    """The bit width of an integer, or of a tile's elements."""
    type = tile_type(value).element_type if is_tile(value) else value.type
    return cast(IntegerType, type).width.data


def full_range(value: SSAValue) -> Range:
    """The full range of a value's type."""
    half = 1 << (width(value) - 1)
    return -half, half - 1


def constant_of(value: SSAValue) -> int | None:
    """The constant of a value; None if it is not constant."""
    if isinstance(value, BlockArgument) or defining_op(value).name != "arith.constant":
        return None
    number = defining_op(value).properties["value"]
    return number.value.data if isinstance(number, IntegerAttr) else None


def trips_of(loop: Operation, number: Callable[[SSAValue], int | None] = constant_of) -> int | None:
    """How often a counted loop runs; None for others, and where a bound is not a known ``number``."""
    lower, upper, step = map(number, loop.operands[:3]) if is_counted_loop(loop) else (None, None, None)
    if lower is None or upper is None or step is None or step < 1:
        return None
    return len(range(lower, upper, step))


def size_of(view: TableOp | None, memref: TableOp, dim: int) -> SSAValue | int:
    """The extent of a memory reference's dimension; with ``view``, of the tensor dimension of this tile dimension."""
    source = dim if view is None else cast(TiledViewType, view.results[0].type).dim_map[dim]
    shape = memref_type(memref.results[0]).shape
    if (known := shape[source]) is not None:
        return known
    return memref.sizes[sum(extent is None for extent in shape[:source])]


class IntegerRanges:
    """Ranges on demand, cached per value."""

    def __init__(self):
        self.known: dict[SSAValue, Range] = {}

    def __call__(self, value: SSAValue) -> Range:
        if value not in self.known:
            self.known[value] = full_range(value)  # the range for a cycle through a loop
            least, most = self._range(value)
            low, high = full_range(value)
            self.known[value] = (least, most) if low <= least <= most <= high else (low, high)
        return self.known[value]

    def _range(self, value: SSAValue) -> Range:
        if isinstance(value, BlockArgument):
            return self.counter(value) or full_range(value)
        rule = RANGES.get(_wrapped(value))
        return rule(self, defining_op(value), value) if rule else full_range(value)

    def counter(self, value: BlockArgument) -> Range | None:
        """The range of an induction variable that does not wrap around; None for other values."""
        loop = value.block.parent_op()
        if loop is None or value.index or not is_counted_loop(loop):
            return None
        (first, _), (_, end), (least_step, step) = map(self, loop.operands[:3])
        if "unsigned" in loop.attributes and min(first, self(loop.operands[1])[0]) < 0:
            return None
        return (first, max(first, end - 1)) if least_step > 0 and end - 1 + step <= full_range(value)[1] else None

    # ---- tensor extents ----------------------------------------------------------------------------
    def is_at_most(self, value: SSAValue) -> TileCounts:
        """Tile counts that a non-negative value does not exceed."""
        root = size_root(value)
        found = {(root, 1)}
        if not isinstance(root, BlockArgument):
            rule = UPPER_BOUND_RULES.get(_wrapped(root))
            found |= rule(self, defining_op(root), root) if rule else NOTHING
        return frozenset(found)

    def is_below(self, value: SSAValue) -> TileCounts:
        """Tile counts that a non-negative value is below."""
        value = size_root(value)
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            is_index = loop is not None and self.counter(value) is not None
            return self.is_at_most(loop.operands[1]) if loop is not None and is_index else NOTHING
        rule = STRICT_UPPER_BOUND_RULES.get(_wrapped(value))
        return rule(self, defining_op(value), value) if rule else NOTHING

    # ---- tiles -------------------------------------------------------------------------------------
    def checks(self, access: TableOp) -> list[BoundsCheck]:
        """The bounds check that each index of a load, a store or an atomic update of a view's tile needs."""
        return [self._check(access, dim) for dim in range(len(access.coords))]

    def _check(self, access: TableOp, dim: int) -> BoundsCheck:
        view, index = view_type(access.view), access.coords[dim]
        if view.sparse.data == dim:
            return BoundsCheck.ANY
        least, most = self(index)
        if least < 0 or most * view.steps[dim] + view.tile[dim] > 1 << (width(index) - 1):
            return BoundsCheck.ANY
        return (
            BoundsCheck.NONE
            if view.sparse.data < 0 and self._is_inside(access.view, dim, index)
            else BoundsCheck.PAST_END
        )

    def _is_inside(self, view: SSAValue, dim: int, index: SSAValue) -> bool:
        """Whether a non-negative index is below the number of the view's tiles."""
        step = view_type(view).steps[dim]
        size = size_of(defining_table_op(view), defining_table_op(defining_table_op(view).operands[0]), dim)
        least = size if isinstance(size, int) else self(size)[0]
        if self(index)[1] < -(-least // step):
            return True
        if isinstance(size, int):
            return False
        root = size_root(size)
        return any(of is root and distance >= step for of, distance in self.is_below(index))


def _wrapped(value: SSAValue) -> str:
    """The name of the defining operation, without its dialect."""
    return defining_op(value).name.partition(".")[2]


SAME = ("assume", "extsi", "extui")


def size_root(value: SSAValue) -> SSAValue:
    """The source of a value through operations that preserve non-negative values."""
    while not isinstance(value, BlockArgument):
        op = defining_op(value)
        if _wrapped(value) in SAME:
            value = op.operands[0]
        elif _wrapped(value) == "get_dim_size":
            size = size_of(None, defining_table_op(op.operands[0]), cast(OpResult, value).index)
            if isinstance(size, int):
                break
            value = size
        else:
            break
    return value


# ---- ranges ----------------------------------------------------------------------------------------
Rule = Callable[[IntegerRanges, Operation, SSAValue], Range]


def _corners(compute: Callable[[int, int], int]) -> Rule:
    """The range of an operation that is monotonic in each operand: its bounds are at corners of the operands' ranges."""

    def rule(ranges: IntegerRanges, op: Operation, _: SSAValue) -> Range:
        left, right = map(ranges, op.operands)
        found = [compute(a, c) for a in left for c in right]
        return min(found), max(found)

    return rule


def _division(rounded: Callable[[int, int], int], *, unsigned: bool = False) -> Rule:
    """A quotient with a non-negative divisor; division by zero is undefined."""

    def rule(ranges: IntegerRanges, op: Operation, value: SSAValue) -> Range:
        (least, most), (smallest, largest) = map(ranges, op.operands)
        if smallest < 0 or (unsigned and least < 0):
            return full_range(value)
        found = [rounded(number, max(divisor, 1)) for number in (least, most) for divisor in (smallest, largest)]
        return min(found), max(found)

    return rule


def _remainder(ranges: IntegerRanges, op: Operation, value: SSAValue) -> Range:
    (least, most), (smallest, largest) = map(ranges, op.operands)
    return (0, min(most, max(largest - 1, 0))) if least >= 0 and smallest >= 0 else full_range(value)


def _assumed(ranges: IntegerRanges, op: Operation, _: SSAValue) -> Range:
    least, most = ranges(op.operands[0])
    if isinstance(predicate := as_op(op).predicate, BoundedAttr):
        low, high = predicate.data
        least, most = max(least, least if low is None else low), min(most, most if high is None else high)
    return least, most


def _tile_count(ranges: IntegerRanges, op: Operation, value: SSAValue) -> Range:
    view, dim = defining_table_op(op.operands[0]), cast(OpResult, value).index
    size, step = size_of(view, defining_table_op(view.operands[0]), dim), view_type(op.operands[0]).steps[dim]
    least, most = (size, size) if isinstance(size, int) else ranges(size)
    return (-(-least // step), -(-most // step)) if least >= 0 else full_range(value)


def _dim_size(ranges: IntegerRanges, op: Operation, value: SSAValue) -> Range:
    size = size_of(None, defining_table_op(op.operands[0]), cast(OpResult, value).index)
    return (size, size) if isinstance(size, int) else ranges(size)


def _constant(_ranges: IntegerRanges, _op: Operation, value: SSAValue) -> Range:
    number = constant_of(value)
    return full_range(value) if number is None else (number, number)


def _union(ranges: IntegerRanges, op: Operation, _: SSAValue) -> Range:
    (a, b), (c, d) = map(ranges, op.operands[1:])
    return min(a, c), max(b, d)


def _widened(ranges: IntegerRanges, op: Operation, value: SSAValue) -> Range:
    least, most = ranges(op.operands[0])
    return (least, most) if least >= 0 or _wrapped(value) != "extui" else (0, (1 << width(op.operands[0])) - 1)


def _bits_of_both(ranges: IntegerRanges, op: Operation, value: SSAValue) -> Range:
    bounds = [most for least, most in map(ranges, op.operands) if least >= 0]
    return (0, min(bounds)) if bounds else full_range(value)


def _shifted(rule: Rule) -> Rule:
    """A shift, as multiplication or division by a power of two."""

    def shifted(ranges: IntegerRanges, op: Operation, value: SSAValue) -> Range:
        least, most = ranges(op.operands[1])
        return rule(ranges, op, value) if least >= 0 and most < width(value) else full_range(value)

    return shifted


def _positions(_ranges: IntegerRanges, _op: Operation, value: SSAValue) -> Range:
    return 0, tile_size(value) - 1


def _same(ranges: IntegerRanges, op: Operation, _: SSAValue) -> Range:
    return ranges(op.operands[0])


def _ceiling(a: int, c: int) -> int:
    return -(-a // c)


def _towards_zero(a: int, c: int) -> int:
    return a // c if a >= 0 else -(-a // c)


RANGES: dict[str, Rule] = {
    "constant": _constant,
    "assume": _assumed,
    "extsi": _widened,
    "extui": _widened,
    "trunci": _same,
    **dict.fromkeys(("splat", "broadcast", "view", "permute", "convert_layout"), _same),
    "make_range": _positions,
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
    "select": _union,
    "get_tile_count": _tile_count,
    "get_dim_size": _dim_size,
    "get_program_id": lambda _ranges, op, _: (0, MAX_GRID_CTAS[int_attr(op, "axis")] - 1),
    "get_num_programs": lambda _ranges, op, _: (1, MAX_GRID_CTAS[int_attr(op, "axis")]),
}


# ---- tile counts -------------------------------------------------------------------------------------
CountRule = Callable[[IntegerRanges, Operation, SSAValue], TileCounts]


def _count_of_tiles(_ranges: IntegerRanges, op: Operation, value: SSAValue) -> TileCounts:
    view, dim = defining_table_op(op.operands[0]), cast(OpResult, value).index
    size = size_of(view, defining_table_op(view.operands[0]), dim)
    return NOTHING if isinstance(size, int) else frozenset({(size_root(size), view_type(op.operands[0]).steps[dim])})


def _divided(operand: str, *, rounds_up: bool = False, unsigned: bool = False) -> CountRule:
    """ceil(ceil(n / a) / b) is ceil(n / ab). A quotient rounded down is below that if n / a is.

    The quotient of a negative dividend is at most zero.
    """

    def rule(ranges: IntegerRanges, op: Operation, _: SSAValue) -> TileCounts:
        divisor, dividend = constant_of(op.operands[1]), op.operands[0]
        positive = unsigned or operand == "is_below"
        if divisor is None or divisor <= 0 or positive and ranges(dividend)[0] < 0:
            return NOTHING
        counts = getattr(ranges, operand)(dividend)
        if not rounds_up and operand == "is_at_most":
            counts |= _before_rounding(ranges, dividend, divisor)
        return frozenset((size, step * divisor) for size, step in counts)

    return rule


def _before_rounding(ranges: IntegerRanges, value: SSAValue, divisor: int) -> TileCounts:
    """The bound n / divisor of a quotient whose dividend is at most n + divisor - 1."""
    if isinstance(value, BlockArgument) or _wrapped(value) != "addi":
        return NOTHING
    number, added = defining_op(value).operands
    more = constant_of(added)
    return ranges.is_at_most(number) if more is not None and 0 <= more < divisor and ranges(number)[0] >= 0 else NOTHING


def _for_any_operand(bound: str) -> CountRule:
    def rule(ranges: IntegerRanges, op: Operation, _: SSAValue) -> TileCounts:
        return frozenset().union(*(getattr(ranges, bound)(operand) for operand in op.operands))

    return rule


def _of_divisor(ranges: IntegerRanges, op: Operation, _: SSAValue) -> TileCounts:
    """A non-negative remainder is below the divisor."""
    return ranges.is_at_most(op.operands[1]) if ranges(op.operands[1])[0] >= 0 else NOTHING


UPPER_BOUND_RULES: dict[str, CountRule] = {
    "get_tile_count": _count_of_tiles,
    "minsi": _for_any_operand("is_at_most"),
    "ceildivsi": _divided("is_at_most", rounds_up=True),
    "floordivsi": _divided("is_at_most"),
    "divsi": _divided("is_at_most"),
    "divui": _divided("is_at_most", unsigned=True),
}
STRICT_UPPER_BOUND_RULES: dict[str, CountRule] = {
    "minsi": _for_any_operand("is_below"),
    "remsi": _of_divisor,
    "remui": _of_divisor,
    "floordivsi": _divided("is_below"),
    "divsi": _divided("is_below"),
    "divui": _divided("is_below"),
}
