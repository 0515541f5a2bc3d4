"""Multiply while the next left operand is computed: what a loop adds to a sum last runs beside the next iteration's start.

In:    counted loops of the agent that computes, in which one asynchronous product makes what becomes, by other
       operations, the left operand of another, and that other adds to a sum that the loop carries.
Out:   such a loop, one iteration behind with the later product and what follows from it: the first iteration's early part
       stands before it, the last one's late part behind it, in an ``if`` that the loop runs at all. In an iteration both
       products are issued before the first one is waited for (async.dot without ``pending``, async.dot_wait).
After: specialize_warps, pair_ctas, multicast_loads (pipelines are complete). Before: pipeline_loads, assign_scratch.
Sound: the late part touches nothing but the sum, the stage of its product, tensor memory of its own, and values that
       the loop then carries; so it may come after the early part of the next iteration. That one's tiles may be fetched
       after the late product's next ones, while the last stage is not given back: there are two or more. Waits of a pipeline
       stay in order, and so do releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import block_of, last_op, maker, row
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, AsyncDotOp, AsyncDotWaitOp, AsyncTiledTmaLoadOp, AsyncUmmaOp
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_agents, is_counted_loop
from ..analysis.live_tile_registers import tile_words
from ..analysis.mma_atom_selection import partial_sums
from ..analysis.op_queries import is_pure, is_tile
from ..analysis.resource_model import LEAST_STAGES, sums_fit
from ..analysis.view_chains import runs_to_its_end
from ..job import Job
from ..pass_manager import EdgePass
from .rewriter import runs_at

ForOp, IfOp, YieldOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "if", "yield", "continue"))
PRODUCTS = (AsyncDotOp.name, AsyncUmmaOp.name)
BARRIER = "nv_tileas.barrier"
# What may be done an iteration later, beside pure operations: all of it is about stages and tensor memory of the product.
DEFERRED = frozenset(
    f"nv_tileas.{name}"
    for name in (
        "async.dot", "async.umma", "async.pipeline.consumer_wait", "async.pipeline.consumer_release", "tmem_load",
        "tmem_store", "barrier",
    )
)  # fmt: skip
# Computed again rather than carried, if only the late part asks.
REPEATED = ("nv_tileas.broadcast", "nv_tileas.splat", "nv_tileas.view", "arith.constant")


class OverlapProducts(EdgePass):
    """Products of two iterations under way at once."""

    name = "tileas-overlap-products"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            for switch in [op for op in walk(func) if is_agents(op)]:
                for loop in [op for op in walk(switch.regions[-1]) if is_counted_loop(op)]:
                    if (parts := _parts(loop)) is not None and _fits(parts, func, job):
                        _rewrite(loop, parts)


# ---- the two parts of an iteration -----------------------------------------------------------------
@dataclass(eq=False)
class _Parts:
    """What each iteration does early and late, in order; ``first`` and ``last``: the products of the two."""

    block: Block
    first: TableOperation
    last: TableOperation
    late: list[Operation]

    @cached_property
    def early(self) -> list[Operation]:
        late = set(self.late)
        return [op for op in self.block.ops if op not in late and op is not self.block.last_op]

    @cached_property
    def late_arguments(self) -> list[int]:
        """Which carried values only the late part reads and makes."""
        return [index for index, value in enumerate(last_op(self.block).operands) if value.owner in set(self.late)]

    @cached_property
    def early_arguments(self) -> list[int]:
        return [index for index in range(len(self.block.args) - 1) if index not in self.late_arguments]

    @cached_property
    def handed(self) -> list[SSAValue]:
        """What the late part reads of its iteration's early part."""
        late, own = set(self.late), {self.block.args[1 + index] for index in self.late_arguments}
        found: dict[SSAValue, None] = {}
        for value in (value for top in self.late for op in walk(top) for value in op.operands):
            inside = self.block in (value.owner, getattr(value.owner, "parent", None))
            if inside and value.owner not in late and value not in own:
                found[value] = None
        return list(found)


def _parts(loop: Operation) -> _Parts | None:
    """The parts of a loop that can be overlapped."""
    block = loop.regions[0].blocks[0]
    found = [op for op in block.ops if op.name in PRODUCTS]
    # Partial sums are added before a product is left.
    if len(found) < 2 or not runs_to_its_end(loop) or any(partial_sums(op) for op in found):
        return None
    first, last = found[0], found[-1]
    if _share_columns(first, last):
        return None
    needed = _sources([_left(last)], block)
    if first not in needed or last in needed or not has_two_stages(last):
        return None
    parts = _Parts(block, first, last, _late(block, last))
    return parts if _is_separate(parts, needed) else None


def _share_columns(first: TableOperation, last: TableOperation) -> bool:
    """Whether the left operand of a product is written over the sum of another (``keep_sums``)."""
    if not isinstance(last, AsyncUmmaOp) or last.lhs_stage is not None or not isinstance(first, AsyncUmmaOp):
        return False
    return maker(first.acc).column == maker(last.lhs).column


def _left(product: TableOperation) -> SSAValue:
    """The left operand, or what was stored last where the product finds it in tensor memory."""
    if isinstance(product, AsyncDotOp):
        return product.lhs
    ops = block_of(product).ops
    stores = [row(op) for op in ops if op.name == "nv_tileas.tmem_store" and row(op).dest is product.lhs]
    return stores[-1].value if stores else product.lhs


def _sources(values: Iterable[SSAValue], block: Block) -> set[Operation]:
    """The operations of a block that values are computed from; of tensor memory, what fills it."""
    found: set[Operation] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        op = None if isinstance(value.owner, Block) else _top(value.owner, block)
        for source in [] if op is None else [op, *_fillers(op)]:
            if source not in found:
                found.add(source)
                waiting += [operand for inner in walk(source) for operand in inner.operands]
    return found


def _fillers(op: Operation) -> Iterator[Operation]:
    """The products of the block whose sum an operation reads from tensor memory."""
    if op.name == "nv_tileas.tmem_load":
        yield from (
            user for user in users(row(op).source) if user.name == AsyncUmmaOp.name and user.parent is op.parent
        )


def _top(op: Operation, block: Block) -> Operation | None:
    """The operation of ``block`` that an operation is, or is inside."""
    place: Operation | None = op
    while place is not None and place.parent is not block:
        place = place.parent_op()
    return place


def users(value: SSAValue) -> list[Operation]:
    return [use.operation for use in value.uses]


def _late(block: Block, last: TableOperation) -> list[Operation]:
    """What follows from the later product, what waits for its stage and gives it back, and barriers before such operations."""
    found: set[Operation] = set()
    waiting = [last, *_late_waits(last), *_releases(last), *_own_memory(last)]
    while waiting:
        op = _top(waiting.pop(), block)
        if op is None or op in found or op is block.last_op:
            continue
        found.add(op)
        for use in (use for result in op.results for use in result.uses):
            returned = use.operation is block.last_op
            waiting += users(block.args[1 + use.index]) if returned else [use.operation]
    found |= set(_only_for(found, block))
    return _with_barriers(found, block)


def loads_of(product: TableOperation) -> list[TableOperation]:
    """The loads to the buffers whose stages a product reads."""
    places = ((product.lhs, product.lhs_stage), (product.rhs, product.rhs_stage))
    buffers = [buffer for buffer, stage in places if stage is not None]
    return [row(op) for buffer in buffers for op in users(buffer) if op.name == AsyncTiledTmaLoadOp.name]


def at_its_stage(product: TableOperation, name: str) -> list[TableOperation]:
    """The operations of that name, in the block of a product, on a stage that it reads."""
    pipelines = {load.pipeline for load in loads_of(product)}
    found = (row(op) for op in block_of(product).ops if op.name == f"nv_tileas.async.pipeline.{name}")
    return [op for op in found if op.pipeline in pipelines]


def _releases(product: TableOperation) -> list[TableOperation]:
    return at_its_stage(product, "consumer_release")


def _late_waits(product: TableOperation) -> list[TableOperation]:
    """The waits for its stage, where there are two: the next one is not full before the last one has been given back.

    Of more stages the next one is full long before, and between products that are issued together a wait costs time.
    """
    waits = at_its_stage(product, "consumer_wait")
    return [wait for wait in waits if wait.pipeline.type.stages.data == LEAST_STAGES]


def has_two_stages(product: TableOperation) -> bool:
    """Whether the next stage can be filled while a product still reads this one: what fetches does all in order."""
    return all(wait.pipeline.type.stages.data > 1 for wait in at_its_stage(product, "consumer_wait"))


def _own_memory(product: TableOperation) -> list[Operation]:
    """Who writes and reads the product's tensor memory, and waits for what it fills there."""
    if isinstance(product, AsyncDotOp):
        return []
    tiles = [value for value in (product.lhs, product.acc) if value.type.name == "nv_tileas.tmem"]
    return [user for value in (*tiles, product.ready) if value is not None for user in users(value)]


def _only_for(late: set[Operation], block: Block) -> Iterator[Operation]:
    """Cheap operations whose results the late part alone reads: it can make them itself."""
    done = set(late)
    for op in reversed(list(block.ops)):
        readers = {_top(user, block) for result in op.results for user in users(result)}
        if op not in done and op.name in REPEATED and readers and readers <= done:
            done.add(op)
            yield op


def _with_barriers(late: set[Operation], block: Block) -> list[Operation]:
    """In order, with the barriers that stand before one of them."""
    for op in reversed(list(block.ops)):
        if op.name == BARRIER and op.next_op in late:
            late.add(op)
    return [op for op in block.ops if op in late]


def _is_separate(parts: _Parts, needed: set[Operation]) -> bool:
    """Whether the late part may be done later: the early one reads nothing that it makes, and it acts on its own alone."""
    late, block = set(parts.late), parts.block
    if late & needed or parts.first in late:
        return False
    own = [block.args[1 + index] for index in parts.late_arguments]
    made = [*own, *(result for op in parts.late for result in op.results)]
    readers = {_top(user, block) for value in made for user in users(value)} - {block.last_op}
    if any(value in own for value in last_op(block).operands):
        return False
    return readers <= late and all(_may_wait(op) for op in parts.late)


def _may_wait(op: Operation) -> bool:
    return op.name in DEFERRED or is_pure(op)


def _fits(parts: _Parts, func: Operation, job: Job) -> bool:
    """Whether threads have registers for the sum, the early product, the left operand on its way, and resident ones."""
    tiles = [_result(parts.first), _result(parts.last), _left(parts.last)]
    tiles += [op.lhs for op in parts.early if isinstance(op, AsyncDotOp) and is_tile(op.lhs)]
    words = sum(tile_words(tile) for tile in dict.fromkeys(tiles))
    return sums_fit(words, func, job, row(func).num_warps)


def _result(product: TableOperation) -> SSAValue:
    if isinstance(product, AsyncDotOp):
        return product.result
    return next(op.results[0] for op in users(product.acc) if op.name == "nv_tileas.tmem_load")


# ---- the change ------------------------------------------------------------------------------------
def _rewrite(loop: TableOperation, parts: _Parts) -> None:
    """The early part of the first iteration, a loop that is one behind, the late part of the last."""
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

    def write(self, target: Block) -> None:
        loop, parts, arguments = self.loop, self.parts, self.parts.block.args
        values: dict[SSAValue, SSAValue] = dict(zip(arguments, [loop.lower, *loop.initial]))
        self._copy(parts.early, values, target)
        second = arith.AddiOp.make([loop.lower, loop.step], [loop.lower.type])
        target.add_op(second)
        carried = [*self._next_early(values), *(loop.initial[index] for index in parts.late_arguments)]
        carried += [values[value] for value in parts.handed]
        inner = Block(arg_types=[arguments[0].type, *(value.type for value in carried)])
        made = ForOp.make(
            [second.results[0], loop.upper, loop.step, carried],
            [value.type for value in carried],
            dict(loop.attributes),
            [Region(inner)],
        )
        self._iteration(inner)
        target.add_op(made)
        self._finish(list(made.results), target)

    def _next_early(self, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        last = last_op(self.parts.block)
        return [values.get(last.operands[index], last.operands[index]) for index in self.parts.early_arguments]

    def _split(self, carried: list[SSAValue]) -> tuple[dict[SSAValue, SSAValue], dict[SSAValue, SSAValue]]:
        """What the old body's values are in the early part, and in the late one of the iteration before."""
        parts, arguments = self.parts, self.parts.block.args
        olds = [arguments[1 + index] for index in (*parts.early_arguments, *parts.late_arguments)] + parts.handed
        count = len(parts.early_arguments)
        return dict(zip(olds[:count], carried[:count])), dict(zip(olds[count:], carried[count:]))

    def _iteration(self, inner: Block) -> None:
        """Issue both products, then go on with the early part, then with the late one."""
        parts = self.parts
        early, late = self._split(list(inner.args[1:]))
        early[parts.block.args[0]] = inner.args[0]
        issue, rest = _until(parts.early, parts.first)
        last_issue, last_rest = _until(parts.late, parts.last)
        self._copy(issue, early, inner)
        self._copy(last_issue, late, inner)
        self._await(parts.first, early, inner, pending=1)
        self._copy(rest, early, inner)
        self._await(parts.last, late, inner, pending=0)
        self._copy(last_rest, late, inner)
        last = last_op(parts.block)
        following = [late[last.operands[index]] for index in parts.late_arguments]
        handed = [early.get(value, value) for value in parts.handed]
        inner.add_op(ContinueOp.make([[*self._next_early(early), *following, *handed]], []))

    def _finish(self, results: list[SSAValue], target: Block) -> None:
        """The late part of the last iteration, and what the old loop's results are."""
        parts, last = self.parts, last_op(self.parts.block)
        _, late = self._split(results)
        self._copy(parts.late, late, target)
        ends = dict(zip(parts.early_arguments, results))
        ends |= {index: late[last.operands[index]] for index in parts.late_arguments}
        target.add_op(YieldOp.make([[ends[index] for index in range(len(self.loop.results))]], []))

    def _copy(self, ops: list[Operation], values: dict[SSAValue, SSAValue], target: Block) -> None:
        for op in ops:
            target.add_op(op.clone(values))

    def _await(self, product: TableOperation, values: dict[SSAValue, SSAValue], target: Block, pending: int) -> None:
        """A product of warpgroups, just issued, is waited for here: ``pending`` others may stay under way."""
        if not isinstance(product, AsyncDotOp):
            return
        issued = values[product.result]
        maker(issued).pending = None
        wait = AsyncDotWaitOp.make([issued], [issued.type], pending=pending)
        target.add_op(wait)
        values[product.result] = wait.result


def _until(ops: list[Operation], last: Operation) -> tuple[list[Operation], list[Operation]]:
    count = ops.index(last) + 1
    return ops[:count], ops[count:]
