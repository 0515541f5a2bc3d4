"""Prefetch fragments: read the first fragments of the next tiles before the last k step of the current ones.

In:    counted loops of one mma.sync dot with a loop-carried accumulator, whose operands all threads copy ahead.
Out:   the loop in steps of the instruction's k, after the first iteration's wait and copies. It carries the fragments
       of its first step. An iteration multiplies all steps but the last while it reads the fragments of the next step;
       then it waits for the next stage, reads its first fragments, and multiplies the last step while they arrive. The
       loop is unchanged if threads lack registers for the fragments of two steps, if the dot has one step, or if
       elements are converted on the way, which already keeps the warps busy.
After: software_pipeline_loads (all stage buffers have readers and waits). Before: select_memory_atoms (it selects the
       instruction of each read).
Sound: k steps accumulate in order, as the instructions of the whole dot do. Waits, barriers and copies keep their
       order; each read follows the wait for its stage and precedes the barrier after which the stage is overwritten.
       The last iteration's prefetch has no effect: copies past the end are disabled, their fragments (zeros) are not
       multiplied, and no scalar is divided by 0. Loops with TMA loads are unchanged: a wait for one more stage would
       never end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import as_op, terminator, unwrap
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
from ..analysis.enclosing_control_flow import enclosing_kernel, has_no_early_exit, is_accumulation_loop
from ..analysis.op_queries import DOT, is_pure, is_tile, may_divide_by_zero
from ..analysis.resource_model import registers_allow_fragment_prefetch
from ..job import Job
from ..mma.dots import k_of, row_of
from ..pass_manager import EdgePass
from .k_step_operands import KStepOperand, k_step_operand
from .op_insertion import Inserter, insertion_at_end, insertion_before
from .speculation_guards import speculated

ForOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "continue"))
Values = dict[SSAValue, SSAValue]
# Operations of an iteration, besides pure ones, before its dot or for later iterations.
MOVABLE_AHEAD = frozenset(kind.name for kind in (AsyncWaitOp, BarrierOp, AsyncTiledLoadOp, AsyncCommitOp))


class PrefetchFragments(EdgePass):
    """Fragments prefetched across the wait for the next stage."""

    name = "tileas-prefetch-fragments"
    knob = "prefetch_fragments"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        return any([_prefetch(loop, job) for loop in [op for op in walk(func) if is_counted_loop(op)]])


def _prefetch(loop: TableOp, job: Job) -> bool:
    """Prefetch the fragments of a loop; False where its operations do not allow it, or threads lack registers."""
    if (parts := _loop_parts(loop, job)) is None or not _fits(parts, job):
        return False
    _rewrite(loop, parts)
    return True


# ---- parts of an iteration -------------------------------------------------------------------------
@dataclass(eq=False)
class _LoopParts:
    """A loop's dot, and its operands in k steps."""

    block: Block
    dot: TableOp
    operands: list[KStepOperand]
    steps: int

    @cached_property
    def stage_reads_and_dot(self) -> set[Operation]:
        """The dot and the local_loads of its operands."""
        return {self.dot, *(op for operand in self.operands for op in operand.ops)}

    @cached_property
    def rest_of_body(self) -> list[Operation]:
        """All other operations of the body but the terminator."""
        return [op for op in self.block.ops if op not in self.stage_reads_and_dot and op is not self.block.last_op]

    @property
    def before(self) -> list[Operation]:
        """The operations of the body before the dot."""
        return [op for op in self.rest_of_body if op.is_before_in_block(self.dot)]

    @property
    def after(self) -> list[Operation]:
        """The operations of the body after the dot."""
        return [op for op in self.rest_of_body if not op.is_before_in_block(self.dot)]

    @property
    def accumulator_index(self) -> int:
        """The index of the accumulator among the loop-carried values."""
        return self.dot.acc.index - 1

    @cached_property
    def others(self) -> list[int]:
        """The indices of the other loop-carried values."""
        return [index for index in range(len(self.block.args) - 1) if index != self.accumulator_index]

    @cached_property
    def forwarded_values(self) -> list[SSAValue]:
        """The values that an iteration forwards to its dot: its stage."""
        values = dict.fromkeys(value for operand in self.operands for value in operand.stage_load.operands)
        return [value for value in values if self.block in (value.owner, getattr(value.owner, "parent", None))]


def _loop_parts(loop: TableOp, job: Job) -> _LoopParts | None:
    """The loop's parts; None where it cannot be split."""
    block = loop.regions[0].blocks[0]
    dots = [as_op(op) for op in block.ops if op.name == DOT]
    if len(dots) != 1 or not has_no_early_exit(loop) or not _is_plain(dots[0]):
        return None
    [dot] = dots
    steps = k_of(dot) // unwrap(row_of(dot)).k
    if steps < 2:
        return None
    operands = [k_step_operand(dot, index, steps) for index in (0, 1)]
    parts = _LoopParts(block, dot, [operand for operand in operands if operand is not None], steps)
    if len(parts.operands) < len(operands) or any(operand.is_computed for operand in parts.operands):
        return None
    return parts if _may_be_prefetched(parts) else None


def _is_plain(dot: TableOp) -> bool:
    """Whether an unscaled instruction multiplies, and the loop only accumulates into the accumulator."""
    return dot.mma is not None and dot.lhs_scale is None and is_accumulation_loop(dot)


def _may_be_prefetched(parts: _LoopParts) -> bool:
    """Whether nothing else accesses memory, the early operations of the next iteration do not depend on this
    iteration's dot, and the results of the loop's counters are unused.
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


# ---- rewriting -------------------------------------------------------------------------------------
def _rewrite(loop: TableOp, parts: _LoopParts) -> None:
    """The early operations of the first iteration, and a loop whose iterations run those of the next one."""
    new_op = _Writer(loop, parts).write(insertion_before(loop))
    loop.results[parts.accumulator_index].replace_all_uses_with(new_op.results[0])
    loop.detach()
    loop.erase()


class _Writer:
    """Clones of the parts of a loop's body."""

    def __init__(self, loop: TableOp, parts: _LoopParts):
        self.loop, self.parts = loop, parts
        self.arguments = [parts.block.args[1 + index] for index in parts.others]

    def write(self, insert: Inserter) -> TableOp:
        """Emit the loop, and before it the operations that its first iteration needs."""
        loop, parts = self.loop, self.parts
        values: Values = dict(zip(parts.block.args, [loop.lower, *loop.initial]))
        fragments = self._begin(values, insert)
        self._copy(parts.after, values, insert)
        carried = [loop.initial[parts.accumulator_index], *fragments, *self._next(values)]
        types = [value.type for value in carried]
        inner = Block(arg_types=[loop.lower.type, *types])
        self._iteration(inner)
        operands = [loop.lower, loop.upper, loop.step, carried]
        new_op: TableOp = ForOp.make(operands, types, dict(loop.attributes), [Region(inner)])
        insert(new_op)
        return new_op

    def _next(self, values: Values) -> list[SSAValue]:
        """The values that the next iteration starts with, and those forwarded to this iteration's dot."""
        following = (terminator(self.parts.block).operands[index] for index in self.parts.others)
        return [values.get(value, value) for value in (*following, *self.parts.forwarded_values)]

    def _iteration(self, inner: Block) -> None:
        index, acc, *carried = inner.args
        fragments, rest = carried[: len(self.parts.operands)], carried[len(self.parts.operands) :]
        forwarded: Values = dict(zip(self.parts.forwarded_values, rest[len(self.arguments) :]))
        insert = insertion_at_end(inner)
        total, last = self._all_k_steps_but_last(acc, fragments, forwarded, insert)
        following = insert.binary("add", index, self.loop.step)
        values: Values = {self.parts.block.args[0]: following, **dict(zip(self.arguments, rest))}
        first = self._begin(values, insert)
        total = self._multiply(last, total, insert)
        self._copy(self.parts.after, values, insert)
        insert(ContinueOp.make([[total, *first, *self._next(values)]], []))

    def _begin(self, values: Values, insert: Inserter) -> list[SSAValue]:
        """The operations of an iteration before its dot; return its first fragments."""
        self._copy(self.parts.before, values, insert)
        return [operand.read(0, values, insert) for operand in self.parts.operands]

    def _all_k_steps_but_last(
        self, accumulator: SSAValue, fragments: Sequence[SSAValue], forwarded: Values, insert: Inserter
    ) -> tuple[SSAValue, Sequence[SSAValue]]:
        """The accumulator before the last k step, and the fragments of that step. Fragments are read one step ahead."""
        for step in range(1, self.parts.steps):
            following = [operand.read(step, forwarded, insert) for operand in self.parts.operands]
            accumulator, fragments = self._multiply(fragments, accumulator, insert), following
        return accumulator, fragments

    def _multiply(self, fragments: Sequence[SSAValue], accumulator: SSAValue, insert: Inserter) -> SSAValue:
        dot = self.parts.dot
        return insert(dot.clone(dict(zip(dot.operands, [*fragments, accumulator]))))

    def _copy(self, ops: list[Operation], values: Values, insert: Inserter) -> None:
        for op in ops:
            if may_divide_by_zero(op):
                values[op.results[0]] = speculated(op, [values.get(value, value) for value in op.operands], insert)
            else:
                insert(op.clone(values))
