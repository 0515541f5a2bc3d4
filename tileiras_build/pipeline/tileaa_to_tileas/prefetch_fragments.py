"""Read the first fragments of a product's next tiles before the last step of these is multiplied.

In:    counted loops of one mma.sync product that adds to a sum the loop carries, whose operands all threads copy ahead.
Out:   such a loop in steps of the instruction's k, behind the first iteration's wait and copies. It carries the fragments of
       its first step: an iteration multiplies all steps but the last one while it reads the fragments of the next, waits
       for the next stage, reads its first fragments, and multiplies the last step while they come. Where threads have no
       registers for two steps' fragments, the product is one step, or elements are converted on the way, which keeps
       threads busy while others wait, the loop stays as it is.
After: pipeline_loads (all rings have their readers and waits). Before: choose_atoms (it chooses for each reading).
Sound: the steps of a product are added in order of k, as the instructions of the whole one are. Waits, barriers and copies
       keep their order; a stage is waited for before any of it is read, and all of it has been read at the next barrier,
       behind which it is copied to. What the last iteration does for one more is not seen: copies past the end are
       disabled, the fragments of what they leave, zeros, are not multiplied, and scalars are not divided by 0. Loops whose
       tiles TMA fetches stay: nothing would end a wait for one more, and their warps wait each for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import as_op, terminator
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AsyncCommitOp,
    AsyncTiledLoadOp,
    AsyncWaitOp,
    BarrierOp,
)
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop
from ..analysis.mma_atom_selection import atom_named, k_of
from ..analysis.op_queries import is_pure, is_tile, may_divide_by_zero
from ..analysis.resource_model import registers_allow_fragment_prefetch
from ..analysis.view_chains import enclosing_kernel, has_no_early_exit, is_accumulation_loop
from ..job import Job
from ..pass_manager import EdgePass
from .k_step_operands import KStepOperand, k_step_operand
from .rewriter import Inserter, binary, insertion_at_end, insertion_before
from .speculation_guards import speculated

ForOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "continue"))
DOT = "nv_tileas.dot"
Values = dict[SSAValue, SSAValue]
# What an iteration does, beside pure operations, before its product or for later iterations.
MOVABLE_AHEAD = frozenset(kind.name for kind in (AsyncWaitOp, BarrierOp, AsyncTiledLoadOp, AsyncCommitOp))


class PrefetchFragments(EdgePass):
    """Fragments under way across the wait for their stage."""

    name = "tileas-prefetch-fragments"

    def run(self, module: ModuleOp, job: Job) -> None:
        for loop in [op for op in walk(module) if is_counted_loop(op)]:
            if (parts := _loop_parts(loop, job)) is not None and _fits(parts, job):
                _rewrite(loop, parts)


# ---- what an iteration does ------------------------------------------------------------------------
@dataclass(eq=False)
class _LoopParts:
    """A loop's product, and its operands in steps."""

    block: Block
    dot: TableOp
    operands: list[KStepOperand]
    steps: int

    @cached_property
    def stage_reads_and_dot(self) -> set[Operation]:
        """The product with its readings."""
        return {self.dot, *(op for operand in self.operands for op in operand.ops)}

    @cached_property
    def rest_of_body(self) -> list[Operation]:
        """All but that, and the end."""
        return [op for op in self.block.ops if op not in self.stage_reads_and_dot and op is not self.block.last_op]

    @property
    def before(self) -> list[Operation]:
        """What of it is done before the product."""
        return [op for op in self.rest_of_body if op.is_before_in_block(self.dot)]

    @property
    def after(self) -> list[Operation]:
        """And what behind it."""
        return [op for op in self.rest_of_body if not op.is_before_in_block(self.dot)]

    @property
    def accumulator_index(self) -> int:
        """Which carried value is the sum."""
        return self.dot.acc.index - 1

    @cached_property
    def others(self) -> list[int]:
        """The other carried values."""
        return [index for index in range(len(self.block.args) - 1) if index != self.accumulator_index]

    @cached_property
    def forwarded_values(self) -> list[SSAValue]:
        """What the product's iteration tells it: its stage."""
        values = dict.fromkeys(value for operand in self.operands for value in operand.stage_load.operands)
        return [value for value in values if self.block in (value.owner, getattr(value.owner, "parent", None))]


def _loop_parts(loop: TableOp, job: Job) -> _LoopParts | None:
    """The parts of a loop that can be taken apart."""
    block = loop.regions[0].blocks[0]
    products = [as_op(op) for op in block.ops if op.name == DOT]
    if len(products) != 1 or not has_no_early_exit(loop) or not _is_plain(products[0]):
        return None
    [product] = products
    steps = k_of(product) // atom_named(job.target, product.atom).k
    if steps < 2:
        return None
    operands = [k_step_operand(product, index, steps) for index in (0, 1)]
    parts = _LoopParts(block, product, [operand for operand in operands if operand is not None], steps)
    if len(parts.operands) < len(operands) or any(operand.is_computed for operand in parts.operands):
        return None
    return parts if _may_be_prefetched(parts) else None


def _is_plain(dot: TableOp) -> bool:
    """Whether mma.sync multiplies, without scales, and the loop does nothing else with the sum."""
    return dot.atom is not None and dot.lhs_scale is None and is_accumulation_loop(dot)


def _may_be_prefetched(parts: _LoopParts) -> bool:
    """Whether nothing else touches memory, what the next iteration does early needs nothing of this one's product, and
    nobody asks behind the loop how far it came.
    """
    results = as_op(parts.block.parent_op()).results
    return all(_is_movable_ahead(op, parts) for op in parts.rest_of_body) and not any(
        list(results[at].uses) for at in parts.others
    )


def _is_movable_ahead(op: Operation, parts: _LoopParts) -> bool:
    acts = op.name not in MOVABLE_AHEAD and (not is_pure(op) or op.regions)
    divides = may_divide_by_zero(op) and is_tile(op.results[0])
    return not acts and not divides and not any(value.owner in parts.stage_reads_and_dot for value in op.operands)


def _fits(parts: _LoopParts, job: Job) -> bool:
    fragments = sum(operand.step_registers for operand in parts.operands)
    return registers_allow_fragment_prefetch(as_op(enclosing_kernel(parts.dot)), parts.dot, fragments, job)


# ---- the change ------------------------------------------------------------------------------------
def _rewrite(loop: TableOp, parts: _LoopParts) -> None:
    """What the first iteration does early, and a loop whose iterations do that for the next one."""
    made = _Writer(loop, parts).write(insertion_before(loop))
    loop.results[parts.accumulator_index].replace_all_uses_with(made.results[0])
    loop.detach()
    loop.erase()


class _Writer:
    """Copies of the parts of a loop's body."""

    def __init__(self, loop: TableOp, parts: _LoopParts):
        self.loop, self.parts = loop, parts
        self.arguments = [parts.block.args[1 + index] for index in parts.others]

    def write(self, insert: Inserter) -> TableOp:
        """The loop, and before it what its first iteration needs."""
        loop, parts = self.loop, self.parts
        values: Values = dict(zip(parts.block.args, [loop.lower, *loop.initial]))
        fragments = self._begin(values, insert)
        self._copy(parts.after, values, insert)
        carried = [loop.initial[parts.accumulator_index], *fragments, *self._next(values)]
        types = [value.type for value in carried]
        inner = Block(arg_types=[loop.lower.type, *types])
        self._iteration(inner)
        operands = [loop.lower, loop.upper, loop.step, carried]
        made: TableOp = ForOp.make(operands, types, dict(loop.attributes), [Region(inner)])
        insert(made)
        return made

    def _next(self, values: Values) -> list[SSAValue]:
        """What the next iteration starts with, and what this one's product is told."""
        following = (terminator(self.parts.block).operands[index] for index in self.parts.others)
        return [values.get(value, value) for value in (*following, *self.parts.forwarded_values)]

    def _iteration(self, inner: Block) -> None:
        index, sum, *carried = inner.args
        fragments, rest = carried[: len(self.parts.operands)], carried[len(self.parts.operands) :]
        told: Values = dict(zip(self.parts.forwarded_values, rest[len(self.arguments) :]))
        insert = insertion_at_end(inner)
        total, last = self._all_k_steps_but_last(sum, fragments, told, insert)
        following = insert(binary(arith.AddiOp, index, self.loop.step))
        values: Values = {self.parts.block.args[0]: following, **dict(zip(self.arguments, rest))}
        first = self._begin(values, insert)
        total = self._multiply(last, total, insert)
        self._copy(self.parts.after, values, insert)
        insert(ContinueOp.make([[total, *first, *self._next(values)]], []))

    def _begin(self, values: Values, insert: Inserter) -> list[SSAValue]:
        """All that an iteration does before its product; its first fragments."""
        self._copy(self.parts.before, values, insert)
        return [operand.read(0, values, insert) for operand in self.parts.operands]

    def _all_k_steps_but_last(
        self, accumulator: SSAValue, fragments: Sequence[SSAValue], forwarded: Values, insert: Inserter
    ) -> tuple[SSAValue, Sequence[SSAValue]]:
        """The sum before the last step, and that one's fragments: each step's are read before the step before is multiplied."""
        for step in range(1, self.parts.steps):
            following = [operand.read(step, forwarded, insert) for operand in self.parts.operands]
            accumulator, fragments = self._multiply(fragments, accumulator, insert), following
        return accumulator, fragments

    def _multiply(self, fragments: Sequence[SSAValue], accumulator: SSAValue, insert: Inserter) -> SSAValue:
        product = self.parts.dot
        return insert(product.clone(dict(zip(product.operands, [*fragments, accumulator]))))

    def _copy(self, ops: list[Operation], values: Values, insert: Inserter) -> None:
        for op in ops:
            if may_divide_by_zero(op):
                values[op.results[0]] = speculated(op, [values.get(value, value) for value in op.operands], insert)
            else:
                insert(op.clone(values))
