"""Make a loop of what a front end or an author has unrolled: dots in a row whose operands differ in constants alone.

In:    nv_tileaa operations. At least so many dots of one block with the same types. Each is computed as the one before it is
       (``analysis/unrolled_iterations.py``), some of them from tiles that are loaded for it.
Out:   a counted loop with one of them, behind the last.
After: cse (what does not change from one to the next is one value). Before: drop_unused_values, and all passes that match loops.
Sound: only pure operations and weak loads move, which tokens alone order. Dots are added in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import as_op, next_op, parent_block
from ...ir.dialects.fast_xdsl import append, erase, replace_uses, walk
from ...ir.dialects.nv_tileaa.ops import ContinueOp, DotOp, ExtractSliceOp, ForOp, InsertSliceOp
from ...ir.dialects.op_definition import TableOp, location_of
from ..analysis.memory_semantics import is_weak_load
from ..analysis.unrolled_iterations import Iterations, Ops, Values
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.arith_builder import ArithBuilder

MIN_TRIPS = 6  # the loads of fewer are all in flight without a loop
MAX_PERIOD = 2  # dots of the same types in an iteration


class RerollLoops(EdgePass):
    """Loops in place of dots in a row."""

    name = "tileaa-reroll-loops"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.opt_level == 0:
            return
        for block in {parent_block(op): None for op in walk(module) if isinstance(op, DotOp)}:
            while (found := next(_loops_of(block), None)) is not None:
                _replace_by_loop(found)


def _loops_of(block: Block) -> Iterator[Iterations]:
    return (found for found in map(Iterations, _rows_of_dots(block)) if found.are_loop() and _is_worth_it(found))


def _rows_of_dots(block: Block) -> Iterator[Sequence[Operation]]:
    """Dots that may be those of a loop: each adds to the one before, or they are all of the same types, or every second one."""
    groups: dict[tuple, list[TableOp]] = defaultdict(list)
    for op in block.ops:
        if isinstance(op, DotOp):
            groups[tuple(value.type for value in op.operands)].append(as_op(op))
    rows = [row for group in groups.values() for row in _chains(group)]
    rows += [group[::period] for group in groups.values() for period in range(1, MAX_PERIOD + 1)]
    return (row for row in dict.fromkeys(map(tuple, rows)) if len(row) >= MIN_TRIPS)


def _chains(dots: Sequence[TableOp]) -> list[list[TableOp]]:
    chains: dict[Operation | Block, list[TableOp]] = {}
    for dot in dots:
        chains[dot] = [*chains.pop(dot.acc.owner, ()), dot]
    return list(chains.values())


def _is_worth_it(found: Iterations) -> bool:
    """Whether each iteration loads tiles of its own, and takes no slice of a tile that depends on the iteration: it would not be in registers."""
    counting = [node[0] for node in found.nodes if found.counts(node)]
    return any(map(is_weak_load, counting)) and not any(
        isinstance(op, ExtractSliceOp | InsertSliceOp) for op in counting
    )


class _Body:
    """The body of the loop, and what the operands of the first iteration are there."""

    def __init__(self, found: Iterations):
        self.found = found
        self.block = Block(arg_types=[i32, *(values[0].type for values in found.carried)])
        self.b = ArithBuilder.at_end(self.block)
        self.known: dict[Values, SSAValue] = dict(zip(found.carried, self.block.args[1:], strict=True))
        self.results: dict[SSAValue, SSAValue] = {}  # of the first iteration -> in the loop
        for node in sorted(found.nodes, key=lambda node: found.order[node[0]]):
            self._copy(node)
        left = [self.results[found.result(values, 0)] for values in found.carried]
        append(self.block, ContinueOp.make([left], []))

    def _copy(self, node: Ops) -> None:
        made = node[0].clone()
        made.operands = [self._value(values) for values in self.found.columns(node)]
        self.results.update(zip(node[0].results, made.results, strict=True))
        append(self.block, made)

    def _value(self, values: Values) -> SSAValue:
        if values in self.found.counters and values not in self.known:
            start, step = self.found.counters[values]
            self.known[values] = self.b.of(self.b.add(self.b.mul(self.block.args[0], step), start), i32)
        if (known := self.known.get(values)) is not None:
            return known
        return self.results.get(values[0], values[0])


def _replace_by_loop(found: Iterations) -> None:
    b = ArithBuilder.before(next_op(found.last))
    bounds = [b.constant(number) for number in (0, found.trips, 1)]
    initial = [values[0] for values in found.carried]
    body = _Body(found)
    location = location_of(found.nodes[0][0])
    types = [value.type for value in initial]
    loop = ForOp.make([*bounds, initial], types, location, [Region(body.block)])
    b.insert(loop)
    for values, result in zip(found.carried, loop.results, strict=True):
        replace_uses(found.result(values, -1), result)
    for op in sorted((op for node in found.nodes for op in node), key=found.order.__getitem__, reverse=True):
        erase(op)
