"""Hoist bounds checks out of loops: check once whether all tiles are in bounds, and version the loop.

In:    innermost loops with accesses whose tiles end at the end of their tensor (``in_bounds``) and whose indices are
       not proven to be in bounds (``index_checks``): loop-invariant indices, or the induction variable.
Out:   an ``if`` with two versions of the loop. If all these indices are in bounds, the first version runs without
       checks; the second version is the original loop.
After: assign_layouts (``in_bounds`` is known), use_tma_stores (no later pass replaces accesses). Before:
       limit_conversion_scratch, allocate_shared_memory (each loop has scratch memory of its own).
Sound: a loop-invariant index is compared as in each iteration. The induction variable is not negative and below its
       upper bound, so it is in bounds if the upper bound is at most the number of tiles. The condition is uniform.
Source: LLVM, "Loop Versioning"; a masked load must initialize its result, one instruction for each two registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerType, StringAttr, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import as_op, type_as
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp, location_of
from ...ir.dialects.op_traits import is_counted_loop, is_loop
from ..analysis.enclosing_control_flow import is_defined_in_loop
from ..analysis.integer_ranges import BoundsCheck
from ..analysis.unrolled_loops import is_unrolled, values_of_thread
from ..job import Job
from ..pass_manager import EdgePass
from .elide_bounds_checks import ACCESSES
from .op_insertion import Inserter, insert_before, insertion_before
from .subtile_indices import GetTileCountOp, bounds_checks_of

IfOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("if", "yield"))
# Copies and dots whose stages are counted: the producer and the consumer have one loop each.
ASYNCHRONOUS = "nv_tileas.async"
# Results of a thread in a loop that is versioned: larger loops cost more compile time than they gain.
MAX_CLONED_VALUES = 2048


class HoistBoundsChecks(EdgePass):
    """Two versions of a loop, with and without bounds checks."""

    name = "tileas-hoist-bounds-checks"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        for loop in [op for op in walk(func) if is_loop(op)]:
            if (accesses := _unproven(as_op(loop))) and _is_worth_two_versions(loop):
                _version_loop(as_op(loop), accesses)


def _unproven(loop: TableOp) -> list[TableOp]:
    """The accesses of a loop whose indices can be checked before it; none where it contains loops or asynchronous
    copies.
    """
    inside = [op for op in walk(loop) if op is not loop]
    if any(is_loop(op) or op.name.startswith(ASYNCHRONOUS) for op in inside):
        return []
    return [as_op(op) for op in inside if op.name in ACCESSES and _may_check_before_loop(as_op(op), loop)]


def _may_check_before_loop(access: TableOp, loop: TableOp) -> bool:
    if not all(access.in_bounds or (False,)) or is_defined_in_loop(access.view, loop):
        return False
    dims = _checked_dims(access)
    return bool(dims) and all(_is_known_before(access, dim, loop) for dim in dims)


def _checked_dims(access: TableOp) -> list[int]:
    return [dim for dim, check in enumerate(bounds_checks_of(access)) if check != BoundsCheck.NONE]


def _is_known_before(access: TableOp, dim: int, loop: TableOp) -> bool:
    index = access.coords[dim]
    return not is_defined_in_loop(index, loop) or (
        _is_counter(index, loop) and bounds_checks_of(access)[dim] == BoundsCheck.PAST_END
    )


def _is_counter(index: SSAValue, loop: TableOp) -> bool:
    return is_counted_loop(loop) and index is loop.regions[0].blocks[0].args[0]


def _is_worth_two_versions(loop: Operation) -> bool:
    """Whether a loop is neither too large nor so short that LLVM unrolls it: without branches, its loads run ahead of other loops."""
    return values_of_thread(walk(loop)) <= MAX_CLONED_VALUES and not is_unrolled(loop)


# ---- the two loops -------------------------------------------------------------------------------
def _version_loop(loop: TableOp, accesses: list[TableOp]) -> None:
    insert = insertion_before(loop)
    conditions = [condition for access in accesses for condition in _conditions(access, loop, insert)]
    first, *others = conditions
    for other in others:
        first = insert.binary("and", first, other)
    unchecked = loop.clone()
    for op, copy in zip(walk(loop), walk(unchecked), strict=True):
        if op in accesses:
            as_op(copy).index_checks = [BoundsCheck.NONE] * len(as_op(copy).coords)
    _select_version(first, unchecked, loop)


def _conditions(access: TableOp, loop: TableOp, insert: Inserter) -> Iterator[SSAValue]:
    for dim in _checked_dims(access):
        index = access.coords[dim]
        predicate, value = ("sle", loop.upper) if _is_counter(index, loop) else ("ult", index)
        type = type_as(value, IntegerType)
        counts = GetTileCountOp.make([access.view], [type] * len(access.coords))
        insert(counts)
        yield insert(arith.CmpiOp.make([value, counts.results[dim]], [i1], {"predicate": StringAttr(predicate)}))


def _select_version(condition: SSAValue, unchecked: Operation, loop: TableOp) -> None:
    then, otherwise = Block(), Block()
    types = [result.type for result in loop.results]
    if_op = IfOp.make([condition], types, location_of(loop), [Region(then), Region(otherwise)])
    insert_before(if_op, loop)
    for old, new in zip(loop.results, if_op.results):
        old.replace_all_uses_with(new)
    loop.detach()
    for block, op in ((then, unchecked), (otherwise, loop)):
        block.add_ops([op, YieldOp.make([list(op.results)], [])])
