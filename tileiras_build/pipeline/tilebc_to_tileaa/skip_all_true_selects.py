"""Skip masks in iterations whose tile is unmasked as a whole.

In:    nv_tileaa operations. Loops with an arith.select of large tiles whose condition compares coordinates
       (``analysis/axis_info.py``): causal masks, boundary tiles. It names the elements that stay or, as ``or`` of comparisons, those
       that are masked.
Out:   the select, and the operations that only its condition uses, in the second region of an ``if``. The first region
       yields the unmasked tile; it executes if scalars prove that the condition holds for every element, or for none. Where
       the select is of constants, which a tile gets added, so does the addition, in both regions. Conditions that decide for
       all elements in no iteration stay as they are.
After: cse (equal conditions are merged). Before: all passes that match loops.
Sound: without overflow, the maximum of one side and the minimum of the other decide for all elements. If the scalar
       plus the largest or the smallest coordinate would overflow, the select is executed. An addition is the same in both regions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...ir.casting import as_op, parent_block, tile_type, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.ops import IfOp, YieldOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop, is_loop
from ..analysis.enclosing_control_flow import is_zero
from ..analysis.op_queries import is_tile
from ..analysis.scalar_plus_constant_tiles import LARGEST, SMALLEST, VIEW_LIKE_OPS, ScalarPlusConstants
from ..common.cse import is_pure
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.arith_builder import ArithBuilder

SELECT, COMPARE = "arith.select", "arith.cmpi"
JOINED = {True: "arith.andi", False: "arith.ori"}  # of conditions that hold for all elements, or for none
INVERSE = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt"}
ADDITIONS = frozenset({"nv_tileaa.addf", "nv_tileaa.subf"})
MIN_ELEMENTS = 4096  # minimal elements for which a branch is cheaper than the comparisons and selects of a thread
Comparison = tuple[str, ScalarPlusConstants, ScalarPlusConstants]
# A comparison that holds for all elements if it holds for the largest left and the smallest right operand -> itself; a
# comparison in the other direction -> its mirror image.
UPWARD, DOWNWARD = {"slt": "slt", "sle": "sle"}, {"sgt": "slt", "sge": "sle"}


class SkipFullTileMasks(EdgePass):
    """Mask only the iterations that need it."""

    name = "tileaa-skip-full-tile-masks"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.opt_level == 0:
            return
        for op in [op for op in walk(module) if op.name == SELECT and _is_profitable(op)]:
            condition, *values = op.operands
            for holds, kept in zip(JOINED, values, strict=True):
                comparisons = _comparisons(condition, holds) if holds or _is_unmasked(kept) else None
                if comparisons is not None and all(_may_hold(*comparison) for comparison in comparisons):
                    _guard(op, kept, comparisons)
                    break


def _is_profitable(op: Operation) -> bool:
    value = op.results[0]
    around = op.parent_op()
    inside = around is not None and is_loop(around)
    return inside and is_tile(value) and is_tile(op.operands[0]) and prod(tile_type(value).get_shape()) >= MIN_ELEMENTS


def _is_unmasked(tile: SSAValue) -> bool:
    """Whether a tile has what no mask changes: different elements, or zeros that are added."""
    scalar = _scalar_of(tile)
    return scalar is None or is_zero(scalar)


def _scalar_of(tile: SSAValue) -> SSAValue | None:
    """The scalar that all elements of a tile are; None where they differ."""
    while isinstance(op := tile.owner, Operation) and op.name.partition(".")[2] in {"splat", *VIEW_LIKE_OPS}:
        tile = op.operands[0]
    return None if is_tile(tile) else tile


# ---- conditions --------------------------------------------------------------------------------------
def _comparisons(condition: SSAValue, holds: bool) -> list[Comparison] | None:
    """The comparisons whose conjunction says that a condition holds for an element, or does not."""
    op = condition.owner
    if not isinstance(op, Operation):
        return None
    if op.name.partition(".")[2] in VIEW_LIKE_OPS:
        return _comparisons(op.operands[0], holds)
    if op.name == JOINED[holds]:
        first, second = (_comparisons(operand, holds) for operand in op.operands)
        return None if first is None or second is None else first + second
    return _comparison(as_op(op), holds) if op.name == COMPARE else None


def _may_hold(predicate: str, small: ScalarPlusConstants, large: ScalarPlusConstants) -> bool:
    """Whether a comparison may hold for all elements. One of constants alone, as of a triangle, does not in any iteration, and neither does
    that of a loop's index with its first value: a block on the diagonal is masked.
    """
    if Counter(map(_first_value, small.scalars)) != Counter(large.scalars):
        return True
    return small.max < large.min + (predicate == "sle")


def _first_value(scalar: SSAValue) -> SSAValue:
    """The first value, and the smallest, of the index of a loop; another scalar itself."""
    loop = scalar.block.parent_op() if isinstance(scalar, BlockArgument) else None
    is_index = loop is not None and is_counted_loop(loop) and scalar is loop.regions[0].blocks[0].args[0]
    return as_op(loop).lower if is_index else scalar


def _comparison(op: TableOp, holds: bool) -> list[Comparison] | None:
    left, right = map(ScalarPlusConstants.of, op.operands)
    predicate = op.predicate if holds else INVERSE.get(op.predicate)
    if left is None or right is None:
        return None
    if predicate in UPWARD:
        return [(UPWARD[predicate], left, right)]
    return [(DOWNWARD[predicate], right, left)] if predicate in DOWNWARD else None


# ---- rewriting ---------------------------------------------------------------------------------------
def _guard(select: Operation, kept: SSAValue, comparisons: list[Comparison]) -> None:
    """Execute a select behind an ``if`` whose first region yields what it has if the comparisons hold, ``kept``."""
    place = ArithBuilder.before(select)
    conditions = [one for comparison in comparisons for one in _conditions(place, *comparison)]
    whole = conditions[0]
    for other in conditions[1:]:
        whole = place.binary("and", whole, other, i1)
    addition = _addition(select, kept)
    last, as_it_is, masked = addition or select, Block(), Block()
    if addition is not None:
        as_it_is.add_op(unmasked := addition.clone({select.results[0]: kept}))
        kept = unmasked.results[0]
    as_it_is.add_op(YieldOp.make([[kept]], []))
    made = IfOp.make([whole], [last.results[0].type], {}, [Region(as_it_is), Region(masked)])
    parent_block(last).insert_op_before(made, last)
    last.results[0].replace_all_uses_with(made.results[0])
    for op in dict.fromkeys((select, last)):
        op.detach()
        masked.add_op(op)
    masked.add_op(YieldOp.make([[last.results[0]]], []))
    for op in _used_only_by(masked, made):
        op.detach()
        masked.insert_op_before(op, unwrap(masked.first_op))


def _addition(select: Operation, kept: SSAValue) -> Operation | None:
    """The operation, alone in the same block, that adds a select of constants to a tile: its result takes the registers of that tile."""
    users = [use.operation for use in select.results[0].uses]
    is_alone = len(users) == 1 and users[0].name in ADDITIONS and users[0].parent is select.parent
    return users[0] if is_alone and _scalar_of(kept) is not None else None


def _used_only_by(masked: Block, made: Operation) -> Iterator[Operation]:
    """The pure operations before an ``if`` that only its region uses, in reverse order."""
    op = made.prev_op
    while op is not None:
        before = op.prev_op
        users = [use.operation for result in op.results for use in result.uses]
        if users and is_pure(op) and all(user.parent is masked for user in users):
            yield op
        op = before


def _conditions(
    b: ArithBuilder, predicate: str, small: ScalarPlusConstants, large: ScalarPlusConstants
) -> list[SSAValue]:
    """The conditions under which a comparison of tiles holds for all elements."""
    first, second = _scalar(b, small), _scalar(b, large)
    sides = (first, small), (second, large)
    found = [b.compare("sle", scalar, LARGEST - tile.max) for scalar, tile in sides if tile.max >= 0]
    found += [b.compare("sge", scalar, SMALLEST - tile.min) for scalar, tile in sides if tile.min < 0]
    return [*found, b.compare(predicate, b.add(first, small.max), b.add(second, large.min))]


def _scalar(b: ArithBuilder, tile: ScalarPlusConstants) -> SSAValue:
    total, *others = tile.scalars or (b.constant(0),)
    for scalar in others:
        total = b.binary("add", total, scalar)
    return total
