"""Narrow the bounds of loops whose iterations a comparison of the counter guards.

In:    nv_tileaa operations. Counted loops in steps of one, each iteration of which is an ``if`` without anything else
       that has effects, and whose other region leaves what the loop carries: windows of attention at the ends of a
       sequence. The ``if`` has a dot whose right operand is there before it, or two dots that read one tile; its condition
       compares the counter plus scalars from before the loop, or is the conjunction of several such.
Out:   on targets with asynchronous MMAs, loops over the iterations for which the condition holds, without the ``if``. Dots stand in the loop itself, where
       asynchronous MMAs read operands from before the loop, and others are loaded ahead.
After: cse (equal scalars are merged). Before: all passes that match loops.
Sound: the compared value grows by one in each iteration, and neither it nor the new bounds overflow for any values that the
       scalars may have (``integer_ranges.py``, and the limit of tile programs along an axis): each comparison holds for
       the iterations from one on, or before one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, parent_block, terminator
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_traits import is_counted_loop, is_if
from ...manifest.manifest_constants import MAX_GRID_PROGRAMS
from ...target.mma_atoms import ASYNC_FAMILIES
from ..analysis.enclosing_control_flow import enclosing_kernel, has_no_early_exit, is_defined_in_loop
from ..analysis.integer_ranges import IntegerRanges, Range, constant_of, full_range
from ..common.cse import is_pure
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.arith_builder import ArithBuilder

ADD, SUBTRACT, COMPARE, BOTH = "arith.addi", "arith.subi", "arith.cmpi", "arith.andi"
DOT, PROGRAM_ID = "nv_tileaa.dot", "nv_tileaa.get_program_id"
MIRRORED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
# A comparison of the counter -> whether it bounds the iterations from below, and what the bound is beyond the other side.
BOUNDS = {"slt": (False, 0), "sle": (False, 1), "sgt": (True, 1), "sge": (True, 0)}


class NarrowGuardedLoops(EdgePass):
    """Loops over the iterations that do something."""

    name = "tileaa-narrow-guarded-loops"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.opt_level == 0 or ASYNC_FAMILIES.isdisjoint(row.family for row in job.target.mma_rows):
            return
        for loop in [op for op in walk(module) if is_counted_loop(op)]:
            guard = _guard_of(loop)
            limits = None if guard is None else _limits(loop, guard.operands[0], _ranges_of(loop))
            if guard is not None and limits is not None:
                _narrow(loop, limits)
                _inline(loop, guard)


@dataclass(frozen=True)
class Limit:
    """A bound of the counter: ``value``, plus ``added`` and minus ``subtracted`` scalars, plus ``offset``."""

    is_lower: bool
    value: SSAValue
    added: tuple[SSAValue, ...]
    subtracted: tuple[SSAValue, ...]
    offset: int


# ---- the guard ---------------------------------------------------------------------------------------
def _guard_of(loop: Operation) -> Operation | None:
    """The ``if`` that is all that an iteration does, and that has a dot; None where there is none."""
    if "unsigned" in loop.attributes or constant_of(loop.operands[2]) != 1 or not has_no_early_exit(loop):
        return None
    *body, last = loop.regions[0].blocks[0].ops
    if not body or not is_if(guard := body[-1]) or not _needs_own_loop(guard):
        return None
    return guard if all(is_pure(op) or _conjunction(op) for op in body[:-1]) and _keeps(loop, guard, last) else None


def _needs_own_loop(guard: Operation) -> bool:
    """Whether asynchronous MMAs read the right operands of the dots of an ``if`` only in a loop of these dots: one is there before, or
    two dots read one tile.
    """
    tiles = [_source(as_op(op).rhs, guard) for op in walk(guard) if op.name == DOT]
    return len(set(tiles)) < len(tiles) or not all(is_defined_in_loop(tile, guard) for tile in tiles)


def _source(value: SSAValue, guard: Operation) -> SSAValue:
    """The tile of which a value is a view, as far as an ``if`` makes the views."""
    op = value.owner
    while is_defined_in_loop(value, guard) and isinstance(op, Operation) and len(op.operands) == 1 and is_pure(op):
        value = op.operands[0]
        op = value.owner
    return value


def _keeps(loop: Operation, guard: Operation, last: Operation) -> bool:
    """Whether an iteration leaves what the loop carries as it is where the guard's condition does not hold."""
    if len(guard.regions) < 2 or not all(region.blocks for region in guard.regions):
        return not guard.results and not last.operands
    otherwise = guard.regions[1].blocks[0]
    kept: dict[SSAValue, SSAValue] = dict(zip(guard.results, terminator(otherwise).operands, strict=True))
    carried = loop.regions[0].blocks[0].args[1:]
    same = all(kept.get(value, value) is argument for value, argument in zip(last.operands, carried, strict=True))
    return same and otherwise.first_op is otherwise.last_op


def _conjunction(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """The two conditions of an ``if`` that yields the second where the first holds, and else the first: Python's ``and``."""
    if not is_if(op) or len(op.results) != 1 or len(op.regions) != 2:
        return None
    first, second = (region.blocks[0] for region in op.regions)
    [value], [otherwise] = terminator(first).operands, terminator(second).operands
    is_false = otherwise is op.operands[0] or constant_of(otherwise) == 0
    return (op.operands[0], value) if is_false and all(map(is_pure, [*first.ops][:-1])) else None


def _comparisons(condition: SSAValue) -> Iterator[Operation | None]:
    """The comparisons whose conjunction is a condition; None for what is no comparison."""
    op = condition.owner
    both = None if isinstance(op, Block) else op.operands if op.name == BOTH else _conjunction(op)
    if both is None:
        yield op if isinstance(op, Operation) and op.name == COMPARE else None
    else:
        for one in both:
            yield from _comparisons(one)


# ---- bounds ------------------------------------------------------------------------------------------
def _ranges_of(loop: Operation) -> IntegerRanges:
    """The ranges of a kernel's scalars; grids have no more tile programs along an axis than Tile IR allows."""
    ranges = IntegerRanges()
    for op in walk(enclosing_kernel(loop)):
        if op.name == PROGRAM_ID:
            ranges.known[op.results[0]] = (0, MAX_GRID_PROGRAMS - 1)
    return ranges


def _limits(loop: Operation, condition: SSAValue, ranges: IntegerRanges) -> list[Limit] | None:
    """The bounds of the counter that are equivalent to a condition; None where there are none."""
    found = [None if op is None else _limit(loop, as_op(op).predicate, op.operands) for op in _comparisons(condition)]
    limits = [limit for limit in found if limit is not None]
    return limits if len(limits) == len(found) and all(_fits(loop, limit, ranges) for limit in limits) else None


def _limit(loop: Operation, predicate: str, sides: Sequence[SSAValue]) -> Limit | None:
    left, right = sides
    if not is_defined_in_loop(left, loop):
        left, right, predicate = right, left, MIRRORED.get(predicate, predicate)
    terms = _terms(left, loop)
    if predicate not in BOUNDS or is_defined_in_loop(right, loop) or terms is None:
        return None
    counter = loop.regions[0].blocks[0].args[0]
    counted = [is_added for term, is_added in terms if term is counter]
    if counted != [True] or left.type != right.type:
        return None
    others = [(term, is_added) for term, is_added in terms if term is not counter]
    added, subtracted = ([term for term, is_added in others if is_added is of] for of in (False, True))
    is_lower, offset = BOUNDS[predicate]
    return Limit(is_lower, right, tuple(added), tuple(subtracted), offset)


def _terms(value: SSAValue, loop: Operation, is_added: bool = True) -> list[tuple[SSAValue, bool]] | None:
    """The counter and the scalars from before a loop that make up a value, and whether they are added; None for other values."""
    op = value.owner
    if value is loop.regions[0].blocks[0].args[0] or not is_defined_in_loop(value, loop):
        return [(value, is_added)]
    if isinstance(op, Block) or op.name not in (ADD, SUBTRACT):
        return None
    first = _terms(op.operands[0], loop, is_added)
    second = _terms(op.operands[1], loop, is_added is (op.name == ADD))
    return None if first is None or second is None else first + second


def _fits(loop: Operation, limit: Limit, ranges: IntegerRanges) -> bool:
    """Whether neither the compared value nor the bound overflows, for any scalars."""
    low, high = full_range(limit.value)
    added, subtracted = (_total(map(ranges, terms)) for terms in (limit.added, limit.subtracted))
    (first, _), (_, end) = map(ranges, loop.operands[:2])
    least, most = subtracted[0] - added[1] + first, subtracted[1] - added[0] + max(first, end - 1)
    smallest, largest = ranges(limit.value)
    bound = smallest + added[0] - subtracted[1] + limit.offset, largest + added[1] - subtracted[0] + limit.offset
    return all(low <= one <= high for one in (least, most, *bound))


def _total(ranges: Iterator[Range]) -> Range:
    least = most = 0
    for low, high in ranges:
        least, most = least + low, most + high
    return least, most


# ---- rewriting ---------------------------------------------------------------------------------------
def _narrow(loop: Operation, limits: list[Limit]) -> None:
    """Have a loop begin and end at its limits."""
    b = ArithBuilder.before(loop)
    for limit in limits:
        value = limit.value
        for opcode, terms in (("add", limit.added), ("sub", limit.subtracted)):
            for term in terms:
                value = b.binary(opcode, value, term)
        value = b.of(b.add(value, limit.offset), limit.value.type)
        place, op = (0, arith.MaxSIOp) if limit.is_lower else (1, arith.MinSIOp)
        loop.operands[place] = b.insert(op.make([loop.operands[place], value], [value.type]))


def _inline(loop: Operation, guard: Operation) -> None:
    """Move the first region of an ``if`` before it, and erase it and the conditions that nothing else uses."""
    body = guard.regions[0].blocks[0]
    last, results = terminator(body), [*terminator(body).operands]
    for op in [one for one in body.ops if one is not last]:
        op.detach()
        parent_block(guard).insert_op_before(op, guard)
    for old, new in zip(guard.results, results, strict=True):
        old.replace_all_uses_with(new)
    block = loop.regions[0].blocks[0]
    guard.detach()
    guard.erase()
    for op in filter(_conjunction, reversed([*block.ops])):
        if not list(op.results[0].uses):
            op.detach()
            op.erase()
