"""Issue an asynchronous MMA one iteration ahead, right after its previous accumulator was read from tensor memory.

In:    counted loops of the consumer partition with a dot (async.umma) that overwrites its accumulator, and others that then add to it
       (latent attention). The loop does not compute their operands, which have two stages; the accumulator is read once; a barrier precedes
       the first dot.
Out:   the next iteration's dot is issued right after that read, in an ``if`` that there is a next iteration; the dot of
       the first iteration is issued before the loop. The MMA overlaps the computation with the accumulator just read. Where threads use the
       result of a third dot before they need this one, it is issued behind another dot, without a barrier of its own: of the next iteration
       behind a later dot, or of this one behind an earlier dot (``issue_behind.py``) that stays behind its barrier.
After: rotate_mma_loop (which can issue more ahead in the loops that it rotates). Before: allocate_shared_memory.
Sound: a barrier separates the read of the accumulator from the dot that overwrites it, its own or that of the dot that it is issued behind. An
       MMA that reads a left operand in the accumulator's columns comes before this dot. The stage that the dot waits for is filled
       independently of everything that now follows the dot (``_load_completes_before``). Where another dot of its own iteration reads the
       stage, too, that one releases it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import ancestor_in, as_op, ops_behind, parent_block, terminator, type_as
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, AsyncTiledTmaLoadOp, ConsumerReleaseOp, ConsumerWaitOp
from ...ir.dialects.nv_tileas.types import PipelineType, TmemType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch, is_async_mma, is_counted_loop
from ..analysis.enclosing_control_flow import has_no_early_exit, is_zero
from ..analysis.op_queries import may_divide_by_zero
from ..job import Job
from ..mma.dots import accumulates_in_tmem
from ..pass_manager import EdgePass
from .issue_behind import issue_behind_other, shares_columns, uses_third
from .op_insertion import loop_continues_at
from .rotate_mma_loop import (
    BARRIER,
    has_two_stages,
    loads_of,
    ops_on_same_stage,
    scalars_behind,
    stores_operands,
    users,
)
from .stage_releases import barrier_before, give_release, may_release, users_of_released_stage

IfOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("if", "yield"))
LOAD, STORE = "nv_tileas.tmem_load", "nv_tileas.tmem_store"
UNBOUNDED = 1 << 16  # count in an inner loop: more than there are stages


class HoistAsyncMmaIssue(EdgePass):
    """MMAs issued one iteration ahead."""

    name = "tileas-hoist-async-mma-issue"
    knob = "issue_ahead"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        switches = [op for op in walk(func) if is_agent_switch(op)]
        loops = [op for switch in switches for op in walk(switch.regions[-1]) if is_counted_loop(op)]
        return any([_hoist_in(loop) for loop in loops if has_no_early_exit(loop) and not stores_operands(loop)])


def _hoist_in(loop: TableOp) -> bool:
    """Issue the dots of a loop behind others of their iteration, or an iteration ahead; whether any is."""
    block = loop.regions[0].blocks[0]
    for dot in _dots(block):
        issue_behind_other(dot, [one for one in _dots(block) if _keeps_barrier(one)])
    return any([_hoist(dot, loop) for dot in _dots(block)])


def _dots(block: Block) -> Iterator[TableOp]:
    """The dots of a block in tensor memory, but those that another one replaces meanwhile (``give_release``)."""
    yield from (op for op in list(block.ops) if accumulates_in_tmem(op) and op.parent is block)


def _hoist(dot: TableOp, loop: TableOp) -> bool:
    if (issue := _find_mma_issue(dot)) is None:
        return False
    _move(loop, issue)
    return True


@dataclass(frozen=True, eq=False)
class _MmaIssue:
    """MMAs on one accumulator, the waits and operations that their operands need (``ops``, in order), and the operation that the next ones
    are issued behind: the read of their accumulator, or a later MMA, whose barrier then stands for their own.

    ``next_ops``: the scalars from which those of the next iteration are computed.
    """

    place: Operation
    ops: list[Operation]
    next_ops: list[Operation]


def _find_mma_issue(dot: TableOp) -> _MmaIssue | None:
    """The issue of an MMA that overwrites its accumulator, and of those that add to it; None where it cannot be hoisted."""
    block = parent_block(dot)
    dots = [as_op(op) for op in block.ops if is_async_mma(op) and as_op(op).acc is dot.acc]
    reads = [op for op in users(dot.acc) if op.name == LOAD and op.parent is block]
    if dots[0] is not dot or len(reads) != 1 or not _may_be_ahead(dots, reads[0]):
        return None
    others = [op for one in dots for op in users_of_released_stage(one, block.ops) if op not in dots]
    if others and not (len(dots) == 1 and may_release(others) and others[-1].is_before_in_block(reads[0])):
        return None
    if (found := _operands_ahead(dots)) is None:
        return None
    ops, following = found
    issued = give_release(dot, as_op(others[-1])) if others else dot
    ops = [issued if op is dot else op for op in ops]
    return _MmaIssue(_place([issued, *dots[1:]], reads[0]), ops, following)


def _may_be_ahead(dots: Sequence[TableOp], read: Operation) -> bool:
    """Whether MMAs on one accumulator, of which the first overwrites it, need nothing of their iteration but the read of the last result."""
    if not is_zero(dots[0].accumulate) or not _are_waited_for_at_once(dots) or not barrier_before(dots[0]):
        return False
    if not all(_has_no_other_dependence(dot) and has_two_stages(dot) for dot in dots):
        return False
    loads = [load for dot in dots for load in loads_of(dot)]
    return _load_completes_before(loads, read) and _may_follow_overlaid(dots[0], read)


def _operands_ahead(dots: Sequence[TableOp]) -> tuple[list[Operation], list[Operation]] | None:
    """The operations that issue MMAs, and those that compute the scalars for them of the next iteration; None where others do."""
    block = parent_block(dots[0])
    acts: list[Operation] = [*dots]
    for dot in dots:
        acts += [*ops_on_same_stage(dot, "consumer_wait"), *barrier_before(dot)]
    scalars = scalars_behind([value for op in acts for value in op.operands], block)
    if scalars is None:
        return None
    ops = [op for op in block.ops if op in scalars or op in acts]
    arguments = [value for op in ops for value in op.operands if value.owner is block and value.index]
    following = scalars_behind([terminator(block).operands[value.index - 1] for value in arguments], block)
    if following is None or any(map(may_divide_by_zero, scalars | following)):
        return None
    return ops, [op for op in block.ops if op in following]


def _are_waited_for_at_once(dots: Sequence[TableOp]) -> bool:
    """Whether threads wait for the last of the MMAs on an accumulator, to which all others but the first add, and for none before."""
    *before, last = dots
    return last.ready is not None and all(one.ready is None for one in before)


def _may_follow_overlaid(dot: TableOp, read: Operation) -> bool:
    """Whether an MMA may be issued behind those that use its accumulator's columns otherwise: the last one of all operations behind the read
    that do is an MMA with a barrier.
    """
    others = _users_of_columns(dot)
    if not others:
        return True
    last = as_op(others[-1])
    return read.is_before_in_block(others[0]) and is_async_mma(last) and _keeps_barrier(last)


def _users_of_columns(dot: TableOp) -> list[Operation]:
    """The operations of a block that use columns of a dot's accumulator as another tile: a left operand that overwrites it."""
    return [
        op
        for op in parent_block(dot).ops
        if any(_overlays(value, dot.acc) for one in walk(op) for value in one.operands)
    ]


def _overlays(value: SSAValue, tile: SSAValue) -> bool:
    return isinstance(value.type, TmemType) and value is not tile and shares_columns(value, tile)


def _place(dots: Sequence[TableOp], read: Operation) -> Operation:
    """The operation that the next iteration's dots are issued behind: the last that uses the columns of their accumulator otherwise, or the
    read. For a single dot also another MMA behind the read, which has a barrier, if threads still read and use the result of a third one
    before they need that of the dot. This saves a barrier.
    """
    dot = dots[0]
    if overlaid := _users_of_columns(dot):
        return overlaid[-1]
    ops = list(parent_block(dot).ops)
    place = ops.index(read)
    later = next((op for op in ops[place:] if accumulates_in_tmem(op) and _keeps_barrier(op)), None)
    if len(dots) > 1 or later is None or not uses_third([*ops[ops.index(later) :], *ops[:place]], dot, later):
        return read
    return later


def _keeps_barrier(dot: TableOp) -> bool:
    """Whether a dot has a barrier, and stays behind it."""
    return bool(barrier_before(dot)) and not _has_no_other_dependence(dot)


def _has_no_other_dependence(dot: TableOp) -> bool:
    """Whether the operands depend only on loaded tiles and values from before the loop, in this CTA alone."""
    written = {op for tile in (dot.lhs, dot.acc) for op in users(tile) if op.name == STORE}
    inside = {op for op in walk(parent_block(dot)) if op.name == STORE}
    paired = dot.pipeline is not None and dot.pipeline.owner.pair
    return dot.lhs_scale is None and not written & inside and not paired


# ---- rewriting -------------------------------------------------------------------------------------
def _move(loop: TableOp, issue: _MmaIssue) -> None:
    block = loop.regions[0].blocks[0]
    last = terminator(block)
    first: dict[SSAValue, SSAValue] = dict(zip(block.args, [loop.lower, *loop.initial]))
    for op in _guarded(loop, issue.ops, loop.lower, first):
        parent_block(loop).insert_op_before(op, loop)
    values: dict[SSAValue, SSAValue] = {}
    clones = [op.clone(values) for op in issue.next_ops]
    index = arith.AddiOp.make([block.args[0], loop.step], [block.args[0].type])
    following: dict[SSAValue, SSAValue] = {block.args[0]: index.results[0]}
    following.update(
        (arg, values.get(last.operands[arg.index - 1], last.operands[arg.index - 1])) for arg in block.args[1:]
    )
    place = issue.place
    ops = [op for op in issue.ops if op.name != BARRIER or not is_async_mma(place)]
    for op in [*clones, index, *_guarded(loop, ops, index.results[0], following)]:
        block.insert_op_after(op, place)
        place = op
    for op in reversed(issue.ops):
        if not any(users(result) for result in op.results):
            op.detach()
            op.erase()


def _guarded(
    loop: TableOp, ops: Iterable[Operation], index: SSAValue, values: dict[SSAValue, SSAValue]
) -> list[Operation]:
    """The operations of the iteration that begins with ``values``, if the loop has an iteration of this index."""
    runs = loop_continues_at(loop, index)
    body, never = Block(), Block()
    for op in ops:
        body.add_op(op.clone(values))
    for arm in (body, never):
        arm.add_op(YieldOp.make([[]], []))
    return [runs, IfOp.make([runs.results[0]], [], {}, [Region(body), Region(never)])]


def _load_completes_before(loads: Collection[Operation], position: Operation) -> bool:
    """Whether the tiles that ``loads`` load for the next iteration arrive before anything after ``position``, in a
    loop, runs, so that the producer and the consumer cannot wait for each other forever.

    The producer fills the stages of its pipelines in program order, and blocks at the first stage that is not released. Let
    a pipeline have s stages. Let an iteration load b tiles to it, up to the tile that the consumer waits for one iteration
    ahead, at a position where a tiles of this iteration are not released. The last of the b tiles overwrites the tile s
    before it, which must have been released by then: a + b <= s.
    """
    blocks = {parent_block(load) for load in loads if not _precedes_loop(load, loads)}
    if len(blocks) != 1:
        return False
    ops = list(blocks.pop().ops)
    last = max(ops.index(load) for load in loads if load in ops)
    loaded = _count(ops[: 1 + last], _is_a(AsyncTiledTmaLoadOp))
    held = _stages_held_past(position)
    return all(loaded[ring] + held[ring] <= _stages(ring) for ring in _count(ops, _is_a(AsyncTiledTmaLoadOp)))


def _precedes_loop(load: Operation, loads: Collection[Operation]) -> bool:
    """Whether a load of a stationary operand is complete before the loop of the others."""
    block = parent_block(load)
    return any(other.parent is not block and ancestor_in(other, block) is not None for other in loads)


def _stages_held_past(position: Operation) -> Counter[SSAValue]:
    """The number of stages of each ring that are released only after ``position``, in the same or the next iteration."""
    loop = position.parent_op()
    later = [] if loop is None else [op for op in ops_behind(loop) if not is_counted_loop(op)]
    ops = [*ops_behind(position), *later]
    return _count(ops, _is_a(ConsumerWaitOp)) | _count(ops, _is_a(ConsumerReleaseOp)) | _count(ops, is_async_mma)


def _is_a(kind: type[Operation]) -> Callable[[Operation], bool]:
    return lambda op: isinstance(op, kind)


def _count(ops: Sequence[Operation], is_of_kind: Callable[[Operation], bool]) -> Counter[SSAValue]:
    """How many operations of a kind, among ``ops`` or inside them, use each ring."""
    found: Counter[SSAValue] = Counter()
    for op in ops:
        for inner in walk(op):
            if is_of_kind(inner) and as_op(inner).pipeline is not None:
                found[as_op(inner).pipeline] += UNBOUNDED if _is_repeated(inner, op.parent) else 1
    return found


def _is_repeated(op: Operation, block: Block | None) -> bool:
    """Whether an operation is inside a loop that is inside ``block``."""
    around = op.parent_op() if op.parent is not block else None
    while around is not None and not is_counted_loop(around):
        around = around.parent_op() if around.parent is not block else None
    return around is not None


def _stages(ring: SSAValue) -> int:
    return type_as(ring, PipelineType).stages.data
