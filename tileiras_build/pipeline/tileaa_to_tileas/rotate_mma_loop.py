"""Rotate a loop of chained dots: its second dot overlaps the next iteration's computation of the left operand.

In:    counted loops of the consumer partition with two asynchronous dots: the result of the first is converted to the
       left operand of the second, which accumulates into a loop-carried accumulator. No other MMAs overlap that conversion already
       (``analysis/dot_overlap.py``), as in gradients of keys and values, unless a schedule requests ``rotate``.
Out:   a loop whose second stage (the second dot and its dependents) is one iteration behind. The first stage of the
       first iteration is before the loop; the second stage of the last iteration is after it, in an ``if`` that the
       loop has trips. Each iteration issues both dots before it waits for the first (async.dot without ``pending``,
       async.dot_wait).
After: specialize_warps, use_two_cta_mma, multicast_loads (pipelines are complete). Before: software_pipeline_loads,
       allocate_shared_memory.
Sound: the second stage accesses only the accumulator, the pipeline stage of its dot, tensor memory of its own, and
       values that the loop then carries, so it may follow the first stage of the next iteration. The tiles of the next
       iteration can be loaded before the last stage is released, as there are at least two stages. Waits and releases
       of each pipeline keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import ancestor_in, as_op, defining_table_op, parent_block, terminator
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, AsyncTiledTmaLoadOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma, is_counted_loop
from ..analysis.chained_dots import loaded_tiles
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.dot_overlap import overlaps_anyway
from ..analysis.enclosing_control_flow import has_no_early_exit
from ..analysis.op_queries import is_pure, is_tile, operations_behind
from ..analysis.resource_model import MIN_STAGES, accumulators_fit
from ..common.optimization_hints import occupancy
from ..job import Job
from ..mma.dots import accumulates_in_tmem
from ..mma.family import register_mma_ops
from ..pass_manager import EdgePass
from ..schedule.schedule_file import requested
from .op_insertion import loop_continues_at

ForOp, IfOp, YieldOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "if", "yield", "continue"))
BARRIER, TMEM = "nv_tileas.barrier", "nv_tileas.tmem"
# Operations that may run an iteration later, besides pure ones: those on stages and tensor memory of the dot.
DELAYED_OPS = frozenset(
    f"nv_tileas.{name}"
    for name in (
        "async.pipeline.consumer_wait", "async.pipeline.consumer_release", "tmem_load",
        "tmem_store", "barrier",
    )
)  # fmt: skip
# Recomputed rather than carried, if only the second stage uses them.
CLONED_OPS = ("nv_tileas.broadcast", "nv_tileas.splat", "nv_tileas.view", "arith.constant")


def stores_operands(loop: Operation) -> bool:
    """Whether threads write operands to stages in a loop: their MMAs follow those writes."""
    return any(op.name == "nv_tileas.local_store" for op in walk(loop))


class RotateMmaLoop(EdgePass):
    """MMAs of two iterations in flight at once."""

    name = "tileas-rotate-mma-loop"
    knob = "rotate"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        switches = [op for op in walk(func) if is_agent_switch(op)]
        loops = [op for switch in switches for op in walk(switch.regions[-1]) if is_counted_loop(op)]
        return any([_rotate(loop, func, job) for loop in loops])


def _rotate(loop: TableOp, func: TableOp, job: Job) -> bool:
    """Rotate a loop; False where its operations do not allow it, threads lack registers, or it would overlap nothing more."""
    if (parts := _loop_stages(loop)) is None or not _fits(parts, func, job):
        return False
    dots = [as_op(op) for op in (*parts.first_stage, parts.last_dot) if is_async_mma(op)]
    if overlaps_anyway(loop, dots, _lhs_source(parts.last_dot)) and not requested(job).rotate:
        return False
    _rewrite(loop, parts)
    return True


# ---- the two stages of an iteration ----------------------------------------------------------------
@dataclass(eq=False)
class _LoopStages:
    """The operations of the first and the second stage of an iteration, in order; ``first`` and ``last``: their dots."""

    block: Block
    first_dot: TableOp
    last_dot: TableOp
    second_stage: list[Operation]

    @cached_property
    def first_stage(self) -> list[Operation]:
        second = set(self.second_stage)
        return [op for op in self.block.ops if op not in second and op is not self.block.last_op]

    @cached_property
    def second_stage_arguments(self) -> list[int]:
        """The loop-carried values that only the second stage reads and computes."""
        return [
            index
            for index, value in enumerate(terminator(self.block).operands)
            if value.owner in set(self.second_stage)
        ]

    @cached_property
    def first_stage_arguments(self) -> list[int]:
        return [index for index in range(len(self.block.args) - 1) if index not in self.second_stage_arguments]

    @cached_property
    def forwarded_values(self) -> list[SSAValue]:
        """Values of the first stage that the second stage reads."""
        second, own = set(self.second_stage), {self.block.args[1 + index] for index in self.second_stage_arguments}
        found: dict[SSAValue, None] = {}
        for value in (value for top in self.second_stage for op in walk(top) for value in op.operands):
            inside = self.block in (value.owner, getattr(value.owner, "parent", None))
            if inside and value.owner not in second and value not in own:
                found[value] = None
        return list(found)


def _loop_stages(loop: Operation) -> _LoopStages | None:
    """The two stages of a loop; None where it cannot be rotated."""
    if stores_operands(loop):
        return None
    block = loop.regions[0].blocks[0]
    found = [as_op(op) for op in block.ops if is_async_mma(op)]
    # partial accumulators are added before the dot is left in flight.
    if len(found) < 2 or not has_no_early_exit(loop) or any(op.promotion for op in found):
        return None
    first, last = _last_on_same_tile(found), found[-1]
    if _share_tmem_columns(first, last):
        return None
    needed = _sources([_lhs_source(last)], block)
    if first not in needed or last in needed or not has_two_stages(last):
        return None
    parts = _LoopStages(block, first, last, _second_stage_ops(block, last))
    return parts if _is_separate(parts, needed) else None


def _last_on_same_tile(dots: list[TableOp]) -> TableOp:
    """The last dot that adds to the tensor memory of the first one."""
    first = dots[0]
    return first if not accumulates_in_tmem(first) else [dot for dot in dots if dot.acc is first.acc][-1]


def _share_tmem_columns(first: TableOp, last: TableOp) -> bool:
    """Whether the left operand of one dot overwrites the accumulator of another (``schedule/tmem_chains.py``)."""
    if not accumulates_in_tmem(first) or last.lhs.type.name != TMEM:
        return False
    return defining_table_op(first.acc).column == defining_table_op(last.lhs).column


def _lhs_source(dot: TableOp) -> SSAValue:
    """The left operand, or the tile that was last stored to it in tensor memory."""
    ops = parent_block(dot).ops
    stores = [as_op(op) for op in ops if op.name == "nv_tileas.tmem_store" and as_op(op).dest is dot.lhs]
    return stores[-1].value if stores else dot.lhs


def _sources(values: Iterable[SSAValue], block: Block) -> set[Operation]:
    """The operations of a block that values are computed from, including those that fill tensor memory."""
    found: set[Operation] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        op = None if isinstance(value.owner, Block) else ancestor_in(value.owner, block)
        for source in [] if op is None else [op, *_dots_filling(op)]:
            if source not in found:
                found.add(source)
                waiting += [operand for inner in walk(source) for operand in inner.operands]
    return found


def _dots_filling(op: Operation) -> Iterator[Operation]:
    """The dots of the block whose accumulator an operation reads from tensor memory."""
    if op.name == "nv_tileas.tmem_load":
        yield from (user for user in users(as_op(op).source) if is_async_mma(user) and user.parent is op.parent)


def users(value: SSAValue) -> list[Operation]:
    return [use.operation for use in value.uses]


def _second_stage_ops(block: Block, last: TableOp) -> list[Operation]:
    """The operations that depend on the second dot, the waits for its stage and the releases, and the barriers before
    them.
    """
    found: set[Operation] = set()
    waiting = [last, *_second_stage_waits(last), *_stage_releases(last), *_tmem_users(last)]
    while waiting:
        op = ancestor_in(waiting.pop(), block)
        if op is None or op in found or op is block.last_op:
            continue
        found.add(op)
        for use in (use for result in op.results for use in result.uses):
            returned = use.operation is block.last_op
            waiting += users(block.args[1 + use.index]) if returned else [use.operation]
    found |= set(_clonable_into_second_stage(found, block))
    return _with_barriers(found, block)


def loads_of(dot: TableOp) -> list[TableOp]:
    """The loads to the buffers whose stages a dot reads."""
    operands = ((dot.lhs, dot.lhs_stage), (dot.rhs, dot.rhs_stage))
    buffers = [buffer for buffer, stage in operands if stage is not None]
    return [as_op(op) for buffer in buffers for op in users(buffer) if op.name == AsyncTiledTmaLoadOp.name]


def ops_on_same_stage(dot: TableOp, name: str) -> list[TableOp]:
    """The operations ``name``, in the block of a dot, on a stage that it reads."""
    pipelines = {load.pipeline for load in loads_of(dot)}
    found = (as_op(op) for op in parent_block(dot).ops if op.name == f"nv_tileas.async.pipeline.{name}")
    return [op for op in found if op.pipeline in pipelines]


def _stage_releases(dot: TableOp) -> list[TableOp]:
    return ops_on_same_stage(dot, "consumer_release")


def _second_stage_waits(dot: TableOp) -> list[TableOp]:
    """The waits for the second dot's stage, if there are two stages: the next stage is full only after a release. No other operation
    reads it.

    With more stages the next one is full long before, and a wait between dots that are issued together costs time.
    """
    waits = ops_on_same_stage(dot, "consumer_wait")
    return [wait for wait in waits if wait.pipeline.type.stages.data == MIN_STAGES and _readers(wait) == {dot}]


def _readers(wait: TableOp) -> set[Operation]:
    """The operations beside a wait that read the stage which TMA loads."""
    buffers = {as_op(op).buffer for op in users(wait.pipeline) if op.name == AsyncTiledTmaLoadOp.name}
    return {op for buffer in buffers for op in users(buffer) if op.parent is wait.parent}


def has_two_stages(dot: TableOp) -> bool:
    """Whether the next stage can be filled while a dot still reads this one. The producer loads all stages in order."""
    return all(wait.pipeline.type.stages.data > 1 for wait in ops_on_same_stage(dot, "consumer_wait"))


def _tmem_users(dot: TableOp) -> list[Operation]:
    """The operations that write or read the dot's tensor memory, and the waits for what it fills. Other dots may read its
    left operand.
    """
    if not accumulates_in_tmem(dot):
        return []
    tiles = [value for value in (dot.lhs, dot.acc) if value.type.name == TMEM]
    others = {user for user in users(dot.lhs) if is_async_mma(user) and as_op(user).acc is not dot.acc}
    found = [user for value in (*tiles, dot.ready) if value is not None for user in users(value)]
    return [user for user in found if user not in others]


def _clonable_into_second_stage(second_stage: set[Operation], block: Block) -> Iterator[Operation]:
    """Cheap operations whose results only the second stage reads, so that it can recompute them."""
    done = set(second_stage)
    for op in reversed(list(block.ops)):
        readers = {ancestor_in(user, block) for result in op.results for user in users(result)}
        if op not in done and op.name in CLONED_OPS and readers and readers <= done:
            done.add(op)
            yield op


def _with_barriers(second_stage: set[Operation], block: Block) -> list[Operation]:
    """The operations in order, with the barriers before them that only scalar operations follow."""
    following = None
    for op in reversed(list(block.ops)):
        if op.name == BARRIER and following in second_stage:
            second_stage.add(op)
        if op in second_stage or not is_scalar(op):
            following = op
    return [op for op in block.ops if op in second_stage]


def is_scalar(op: Operation) -> bool:
    return is_pure(op) and not op.regions and not any(is_tile(value) for value in (*op.operands, *op.results))


def scalars_behind(values: Iterable[SSAValue], block: Block) -> set[Operation] | None:
    """The scalar operations of a block that compute values; None where they depend on other operations."""
    found = operations_behind(values, block)
    return found if all(map(is_scalar, found)) else None


def _is_separate(parts: _LoopStages, needed: set[Operation]) -> bool:
    """Whether the second stage may run later: the first does not read its results, and it acts on resources of its own."""
    second, block = set(parts.second_stage), parts.block
    if second & needed or parts.first_dot in second or not _has_tmem_users(second, block):
        return False
    own = [block.args[1 + index] for index in parts.second_stage_arguments]
    new_op = [*own, *(result for op in parts.second_stage for result in op.results)]
    readers = {ancestor_in(user, block) for value in new_op for user in users(value)} - {block.last_op}
    if any(value in own for value in terminator(block).operands):
        return False
    return readers <= second and all(_may_be_delayed(op) for op in parts.second_stage)


def _has_tmem_users(second_stage: set[Operation], block: Block) -> bool:
    """Whether what the dots of the second stage depend on in tensor memory, and waits for them, is there as a whole: a wait in the first stage
    would come before its dot.
    """
    found = (ancestor_in(user, block) for dot in second_stage if is_async_mma(dot) for user in _tmem_users(as_op(dot)))
    return second_stage.issuperset(user for user in found if user is not None)


def _may_be_delayed(op: Operation) -> bool:
    return op.name in DELAYED_OPS or is_async_mma(op) or is_pure(op)


def _fits(parts: _LoopStages, func: Operation, job: Job) -> bool:
    """Whether registers hold the accumulator, the first dot's result, the next left operand, stationary operands, and what threads load
    beside the scores. The result of a dot in tensor memory is read beside the accumulator that it is added to; spills are worth it only
    where no other CTA overlaps.
    """
    tiles = [_lhs_source(parts.last_dot), *_results(parts.first_dot), *_results(parts.last_dot)]
    tiles += [op.lhs for op in parts.first_stage if is_async_mma(op) and is_tile(op.lhs)]
    if accumulates_in_tmem(parts.last_dot) and (occupancy(func, job) or 1) > 1:
        tiles += filter(is_tile, (parts.block.args[1 + index] for index in parts.second_stage_arguments))
    if not accumulates_in_tmem(parts.last_dot):
        tiles += loaded_tiles(parts.block)  # those of operands are in stages
    regs = sum(tile_registers(tile) for tile in dict.fromkeys(tiles))
    return accumulators_fit(regs, func, job, as_op(func).num_warps)


def _results(dot: TableOp) -> list[SSAValue]:
    """The results of a dot that an iteration has in registers."""
    if not accumulates_in_tmem(dot):
        return [dot.result]
    reads = (op for op in users(dot.acc) if op.name == "nv_tileas.tmem_load" and op.parent is dot.parent)
    return [op.results[0] for op in reads]


# ---- rewriting -------------------------------------------------------------------------------------
def _rewrite(loop: TableOp, parts: _LoopStages) -> None:
    """The first stage of the first iteration, the rotated loop, and the second stage of the last iteration."""
    guard = loop_continues_at(loop, loop.lower)
    body, never = Block(), Block()
    never.add_op(YieldOp.make([list(loop.initial)], []))
    _Writer(loop, parts).write(body)
    new_op = IfOp.make([guard.results[0]], [result.type for result in loop.results], {}, [Region(body), Region(never)])
    for op in (guard, new_op):
        parent_block(loop).insert_op_before(op, loop)
    for old, new in zip(loop.results, new_op.results):
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()


class _Writer:
    """Clones of the stages of a loop's body."""

    def __init__(self, loop: TableOp, parts: _LoopStages):
        self.loop, self.parts = loop, parts

    def write(self, target: Block) -> None:
        loop, parts, arguments = self.loop, self.parts, self.parts.block.args
        values: dict[SSAValue, SSAValue] = dict(zip(arguments, [loop.lower, *loop.initial]))
        self._copy(parts.first_stage, values, target)
        second = arith.AddiOp.make([loop.lower, loop.step], [loop.lower.type])
        target.add_op(second)
        carried = [*self._next_first_stage(values), *(loop.initial[index] for index in parts.second_stage_arguments)]
        carried += [values[value] for value in parts.forwarded_values]
        inner = Block(arg_types=[arguments[0].type, *(value.type for value in carried)])
        new_op = ForOp.make(
            [second.results[0], loop.upper, loop.step, carried],
            [value.type for value in carried],
            dict(loop.attributes),
            [Region(inner)],
        )
        self._iteration(inner)
        target.add_op(new_op)
        self._finish(list(new_op.results), target)

    def _next_first_stage(self, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        last = terminator(self.parts.block)
        return [values.get(last.operands[index], last.operands[index]) for index in self.parts.first_stage_arguments]

    def _split(self, carried: list[SSAValue]) -> tuple[dict[SSAValue, SSAValue], dict[SSAValue, SSAValue]]:
        """The values of the old body in the first stage, and in the second stage of the previous iteration."""
        parts, arguments = self.parts, self.parts.block.args
        olds = [
            arguments[1 + index] for index in (*parts.first_stage_arguments, *parts.second_stage_arguments)
        ] + parts.forwarded_values
        count = len(parts.first_stage_arguments)
        return dict(zip(olds[:count], carried[:count])), dict(zip(olds[count:], carried[count:]))

    def _iteration(self, inner: Block) -> None:
        """Issue both dots, then emit the first stage, then the second one."""
        parts = self.parts
        first, second = self._split(list(inner.args[1:]))
        first[parts.block.args[0]] = inner.args[0]
        issue, rest = _until(parts.first_stage, parts.first_dot)
        last_issue, last_rest = _until(parts.second_stage, parts.last_dot)
        self._copy(issue, first, inner)
        self._copy(last_issue, second, inner)
        self._await(parts.first_dot, first, inner, pending=1)
        self._copy(rest, first, inner)
        self._await(parts.last_dot, second, inner, pending=0)
        self._copy(last_rest, second, inner)
        last = terminator(parts.block)
        following = [second[last.operands[index]] for index in parts.second_stage_arguments]
        handed = [first.get(value, value) for value in parts.forwarded_values]
        inner.add_op(ContinueOp.make([[*self._next_first_stage(first), *following, *handed]], []))

    def _finish(self, results: list[SSAValue], target: Block) -> None:
        """The second stage of the last iteration, and the results of the old loop."""
        parts, last = self.parts, terminator(self.parts.block)
        _, second = self._split(results)
        self._copy(parts.second_stage, second, target)
        ends = dict(zip(parts.first_stage_arguments, results))
        ends |= {index: second[last.operands[index]] for index in parts.second_stage_arguments}
        target.add_op(YieldOp.make([[ends[index] for index in range(len(self.loop.results))]], []))

    def _copy(self, ops: list[Operation], values: dict[SSAValue, SSAValue], target: Block) -> None:
        for op in ops:
            target.add_op(op.clone(values))

    def _await(self, dot: TableOp, values: dict[SSAValue, SSAValue], target: Block, pending: int) -> None:
        """Wait for the registers of an MMA that was just issued; ``pending`` others may stay in flight."""
        if accumulates_in_tmem(dot):
            return
        issued = values[dot.result]
        defining_table_op(issued).pending = None
        wait = register_mma_ops(dot).wait.make([issued], [issued.type], pending=pending)
        target.add_op(wait)
        values[dot.result] = wait.result


def _until(ops: list[Operation], last: Operation) -> tuple[list[Operation], list[Operation]]:
    count = ops.index(last) + 1
    return ops[:count], ops[count:]
