"""Read the first fragments of a product's next tiles before the last step of these is multiplied.

In:    counted loops of one mma.sync product that adds to a sum the loop carries, and local_load of both its operands.
Out:   such a loop in steps of the instruction's k, behind the first iteration's wait, in an ``if`` that the loop runs at
       all. It carries the fragments of its first step: an iteration multiplies all steps but the last one while it reads
       the fragments of the next, gives the stage back, waits for the next stage, reads its first fragments, and
       multiplies the last step while they come. The last iteration's product stands behind the loop. Where threads have
       no registers for two steps' fragments, or the product is one step, the loop stays as it is.
After: pipeline_loads (all rings have their readers and waits). Before: choose_atoms (it chooses for each reading).
Sound: the steps of a product are added in order of k, as the instructions of the whole one are. Waits, copies and
       releases keep their order; a stage is waited for before any of it is read, and given back, or copied to behind the
       barrier after it, when all of it has been read. Each reads for iterations that run, no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import arith
from ...dialects.definition import TableOperation
from ...dialects.facts import is_counted_loop
from ...dialects.ir import walk
from ...dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AsyncCommitOp,
    AsyncTiledLoadOp,
    AsyncWaitOp,
    BarrierOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
)
from ..analysis.budget import has_registers_for_fragments
from ..analysis.dot_atoms import atom_named, k_of
from ..analysis.kinds import is_pure
from ..analysis.operand_chains import kernel_of, only_accumulates, runs_to_its_end
from ..contracts import EdgePass
from ..job import Job
from ..shared.accessors import block_of, last_op, row
from .inserted import Insert, appender, runs_at
from .stepped_operands import SteppedOperand, stepped_operand

ForOp, IfOp, YieldOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "if", "yield", "continue"))
DOT = "nv_tileas.dot"
Values = dict[SSAValue, SSAValue]
# What an iteration does, beside pure operations, before its product or for later iterations.
EARLY = frozenset(
    kind.name for kind in (AsyncWaitOp, BarrierOp, ConsumerWaitOp, AsyncTiledLoadOp, AsyncCommitOp)
)  # fmt: skip


class CarryFragments(EdgePass):
    """Fragments under way across the wait for their stage."""

    name = "tileas-carry-fragments"

    def run(self, module: ModuleOp, job: Job) -> None:
        for loop in [op for op in walk(module) if is_counted_loop(op)]:
            if (parts := _parts(loop, job)) is not None and _fits(parts, job):
                _rewrite(loop, parts)


# ---- what an iteration does ------------------------------------------------------------------------
@dataclass(eq=False)
class _Parts:
    """A loop's product, its operands in steps, and what gives its stage back."""

    block: Block
    product: TableOperation
    operands: list[SteppedOperand]
    steps: int

    @cached_property
    def releases(self) -> list[Operation]:
        return [op for op in self.block.ops if op.name == ConsumerReleaseOp.name]

    @cached_property
    def early(self) -> list[Operation]:
        """All but the product with its readings, the releases, and the end."""
        late = {self.product, *self.releases, *(op for operand in self.operands for op in operand.ops)}
        return [op for op in self.block.ops if op not in late and op is not self.block.last_op]

    @property
    def before(self) -> list[Operation]:
        """What of it is done before the product."""
        return [op for op in self.early if op.is_before_in_block(self.product)]

    @property
    def after(self) -> list[Operation]:
        """And what behind it."""
        return [op for op in self.early if not op.is_before_in_block(self.product)]

    @property
    def sum(self) -> int:
        """Which carried value is the sum."""
        return self.product.acc.index - 1

    @cached_property
    def others(self) -> list[int]:
        """The other carried values."""
        return [index for index in range(len(self.block.args) - 1) if index != self.sum]

    @cached_property
    def handed(self) -> list[SSAValue]:
        """What the product's iteration tells it: its stage, and what is given back."""
        readers = [*(operand.reading for operand in self.operands), *self.releases]
        values = dict.fromkeys(value for op in readers for value in op.operands)
        return [value for value in values if self.block in (value.owner, getattr(value.owner, "parent", None))]


def _parts(loop: TableOperation, job: Job) -> _Parts | None:
    """The parts of a loop that can be taken apart."""
    block = loop.regions[0].blocks[0]
    products = [row(op) for op in block.ops if op.name == DOT]
    if len(products) != 1 or not runs_to_its_end(loop) or not _is_plain(products[0]):
        return None
    [product] = products
    steps = k_of(product) // atom_named(job.target, product.atom).k
    if steps < 2:
        return None
    operands = [stepped_operand(product, index, steps) for index in (0, 1)]
    parts = _Parts(block, product, [operand for operand in operands if operand is not None], steps)
    return parts if len(parts.operands) == len(operands) and _may_be_ahead(parts) else None


def _is_plain(product: TableOperation) -> bool:
    """Whether mma.sync multiplies, without scales, and the loop does nothing else with the sum."""
    return product.atom is not None and product.lhs_scale is None and only_accumulates(product)


def _may_be_ahead(parts: _Parts) -> bool:
    """Whether nothing else touches memory, and what the next iteration does early needs nothing of this one's product."""
    late = {parts.product, *parts.releases, *(op for operand in parts.operands for op in operand.ops)}
    return all(
        (op.name in EARLY or is_pure(op) and not op.regions) and not any(value.owner in late for value in op.operands)
        for op in parts.early
    )


def _fits(parts: _Parts, job: Job) -> bool:
    fragments = sum(operand.step_registers for operand in parts.operands)
    return has_registers_for_fragments(row(kernel_of(parts.product)), parts.product, fragments, job)


# ---- the change ------------------------------------------------------------------------------------
def _rewrite(loop: TableOperation, parts: _Parts) -> None:
    """The first iteration's wait, a loop that is one product behind, the last product."""
    guard = runs_at(loop, loop.lower)
    body, never = Block(), Block()
    never.add_op(YieldOp.make([list(loop.initial)], []))
    _Writer(loop, parts).write(body)
    made = IfOp.make([guard.results[0]], [result.type for result in loop.results], {}, [Region(body), Region(never)])
    for op in (guard, made):
        block_of(loop).insert_op_before(op, loop)
    for old, new in zip(loop.results, made.results):
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()


class _Writer:
    """Copies of the parts of a loop's body."""

    def __init__(self, loop: TableOperation, parts: _Parts):
        self.loop, self.parts = loop, parts
        self.arguments = [parts.block.args[1 + index] for index in parts.others]

    def write(self, target: Block) -> None:
        loop, parts, insert = self.loop, self.parts, appender(target)
        values: Values = dict(zip(parts.block.args, [loop.lower, *loop.initial]))
        fragments = self._begin(values, insert)
        self._copy(parts.after, values, insert)
        second = insert(arith.AddiOp.make([loop.lower, loop.step], [loop.lower.type]))
        carried = [loop.initial[parts.sum], *fragments, *self._next(values)]
        inner = Block(arg_types=[loop.lower.type, *(value.type for value in carried)])
        self._iteration(inner)
        types = [value.type for value in carried]
        made = ForOp.make([second, loop.upper, loop.step, carried], types, dict(loop.attributes), [Region(inner)])
        target.add_op(made)
        self._finish(list(made.results), insert)

    def _next(self, values: Values) -> list[SSAValue]:
        """What the next iteration starts with, and what this one's product is told."""
        following = (last_op(self.parts.block).operands[index] for index in self.parts.others)
        return [values.get(value, value) for value in (*following, *self.parts.handed)]

    def _iteration(self, inner: Block) -> None:
        sum, fragments, others, told = self._split(list(inner.args[1:]))
        insert = appender(inner)
        values: Values = {self.parts.block.args[0]: inner.args[0], **dict(zip(self.arguments, others))}
        sum, last = self._all_but_last(sum, fragments, told, insert)
        self._copy(self.parts.releases, told, insert)
        following = self._begin(values, insert)
        sum = self._multiply(last, sum, insert)
        self._copy(self.parts.after, values, insert)
        insert(ContinueOp.make([[sum, *following, *self._next(values)]], []))

    def _finish(self, results: list[SSAValue], insert: Insert) -> None:
        """The last product, and what the old loop's results are."""
        sum, fragments, others, told = self._split(results)
        sum, last = self._all_but_last(sum, fragments, told, insert)
        self._copy(self.parts.releases, told, insert)
        ends = dict(zip(self.parts.others, others)) | {self.parts.sum: self._multiply(last, sum, insert)}
        insert(YieldOp.make([[ends[index] for index in range(len(self.loop.results))]], []))

    def _split(self, carried: list[SSAValue]) -> tuple[SSAValue, list[SSAValue], list[SSAValue], Values]:
        """The sum, fragments, what else the old loop carries, and what the product is told."""
        others = carried[1 + len(self.parts.operands) :]
        count = len(self.arguments)
        return (
            carried[0],
            carried[1 : 1 + len(self.parts.operands)],
            others[:count],
            dict(zip(self.parts.handed, others[count:])),
        )

    def _begin(self, values: Values, insert: Insert) -> list[SSAValue]:
        """All that an iteration does before its product; its first fragments."""
        self._copy(self.parts.before, values, insert)
        return [operand.read(0, values, insert) for operand in self.parts.operands]

    def _all_but_last(
        self, sum: SSAValue, fragments: list[SSAValue], told: Values, insert: Insert
    ) -> tuple[SSAValue, list[SSAValue]]:
        """The sum before the last step, and that one's fragments: each step's are read before the step before is multiplied."""
        for step in range(1, self.parts.steps):
            following = [operand.read(step, told, insert) for operand in self.parts.operands]
            sum, fragments = self._multiply(fragments, sum, insert), following
        return sum, fragments

    def _multiply(self, fragments: list[SSAValue], sum: SSAValue, insert: Insert) -> SSAValue:
        product = self.parts.product
        return insert(product.clone(dict(zip(product.operands, [*fragments, sum]))))

    def _copy(self, ops: list[Operation], values: Values, insert: Insert) -> None:
        for op in ops:
            insert(op.clone(values))
