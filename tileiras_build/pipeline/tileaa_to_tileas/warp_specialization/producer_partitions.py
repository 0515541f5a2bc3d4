"""Agents beside those that compute: slices of a program that fetch the tiles of its products, or issue the products.

A slice has the same loops and choices as the program, with only the scalars that its own operations depend on, and a token for each
ring and each sum that it takes part in (``pipeline_buffers.py``). It returns where the program returns.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import last_op
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileaa.ops import ReturnOp
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    AsyncTiledTmaLoadOp,
    AsyncUmmaOp,
    ConsumerWaitOp,
    ProducerAcquireOp,
    ProducerTailOp,
    UmmaAcquireOp,
    UmmaCommitOp,
)
from ....ir.dialects.op_definition import TableOperation, location_of
from ....ir.dialects.op_traits import is_choice, is_counted_loop, is_return
from ...analysis.view_chains import ScalarSlice
from ..rewriter import Insert, appender, constant_i32, is_later
from .pipeline_buffers import (
    Fetch,
    Resident,
    Ring,
    Stages,
    State,
    Sum,
    Tokens,
    residents_of,
    scales_of,
    stage_of,
    stage_operands,
    stages_of,
    sums_of,
    tensor_values,
)
from .scale_pipeline import ScaleTurn

ForOp, IfOp, YieldOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "if", "yield", "continue"))


class AgentSlice:
    """Clones the slice of a program that an agent of one thread, or of one warp, executes.

    A kind of agent says what it has tokens of (``states``), and what it does around loops and where the program has a
    load or a product.
    """

    def __init__(self, rings: list[Ring], slice: ScalarSlice):
        self.rings, self.slice = rings, slice
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self, body: Block) -> Block:
        block = Block()
        insert = appender(block)
        tokens = {state: insert(constant_i32(0)) for state in self.states()}
        self._block(body, block, tokens)
        self._end(insert, tokens)
        block.add_op(YieldOp.make([[]], []))
        return block

    def states(self, loop: Operation | None = None) -> list[State]:
        """What the agent has tokens of, or what of it is inside ``loop``, or a choice."""
        raise NotImplementedError

    def awaited(self) -> list[State]:
        """What the agent waits for at its end: stages that commits give back, for an arrival may come after the CTA's end."""
        return []

    def act(self, op: TableOperation, insert: Insert, tokens: Tokens) -> None:
        """In place of an operation that is not cloned."""
        raise NotImplementedError

    def enter(self, loop: TableOperation, insert: Insert, tokens: Tokens) -> None:
        """Before a loop."""

    def leave(self, loop: TableOperation, insert: Insert, tokens: Tokens) -> None:
        """After a loop."""

    def _block(self, source: Block, target: Block, tokens: Tokens) -> None:
        insert = appender(target)
        for op in source.ops:
            if is_counted_loop(op) and any(op in ring.loops for ring in self.rings):
                self.enter(op, insert, tokens)
                self._loop(op, insert, tokens)
                self.leave(op, insert, tokens)
            elif is_return(op):
                self._end(insert, tokens)
                insert(ReturnOp.make([[]], []))
            elif is_choice(op) and (self.states(op) or any(map(is_return, walk(op)))):
                self._choice(op, insert, tokens)
            elif op in self.slice.needed:
                insert(self._clone(op))
            else:
                self.act(op, insert, tokens)

    def _end(self, insert: Insert, tokens: Tokens) -> None:
        """What the agent does last, at its end or before it returns."""
        for state in self.awaited():
            insert(ProducerTailOp.make([state.pipeline, tokens[state]], []))

    def value(self, value: SSAValue) -> SSAValue:
        """What stands for a value of the program."""
        return self.values.get(value, value)

    def _clone(self, op: Operation) -> Operation:
        clone = type(op).create(
            operands=[self.value(operand) for operand in op.operands],
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        self.values.update(zip(op.results, clone.results))
        return clone

    def _choice(self, choice: TableOperation, insert: Insert, tokens: Tokens) -> None:
        """A choice in which there is something to do, or a return."""
        states, arms = self.states(choice), [Block() for _ in choice.regions]
        for region, arm in zip(choice.regions, arms):
            left = dict(tokens)
            self._block(region.blocks[0], arm, left)
            if arm.last_op is None or not is_return(arm.last_op):
                arm.add_op(YieldOp.make([[left[state] for state in states]], []))
        regions = [Region(arm) for arm in arms]
        made = IfOp.make([self.value(choice.condition)], [i32] * len(states), dict(choice.attributes), regions)
        insert(made)
        tokens.update(zip(states, made.results))

    def _loop(self, loop: TableOperation, insert: Insert, tokens: Tokens) -> None:
        block = loop.regions[0].blocks[0]
        states = self.states(loop)
        kept = [arg.index - 1 for arg in block.args[1:] if arg in self.slice.arguments]
        types = [block.args[1 + index].type for index in kept] + [i32] * len(states)
        inner = Block(arg_types=[block.args[0].type, *types])
        self.values[block.args[0]] = inner.args[0]
        self.values.update((block.args[1 + index], arg) for index, arg in zip(kept, inner.args[1:]))
        carried = tokens | dict(zip(states, inner.args[1 + len(kept) :]))
        self._block(block, inner, carried)
        following = [self.value(last_op(block).operands[index]) for index in kept]
        inner.add_op(ContinueOp.make([[*following, *(carried[state] for state in states)]], []))
        initial = [self.value(loop.initial[index]) for index in kept] + [tokens[state] for state in states]
        bounds = [self.value(value) for value in (loop.lower, loop.upper, loop.step)]
        made = ForOp.make([*bounds, initial], types, dict(loop.attributes), [Region(inner)])
        insert(made)
        tokens.update(zip(states, made.results[len(kept) :]))


class FetchingAgent(AgentSlice):
    """Loads the tiles of all rings."""

    def states(self, loop: Operation | None = None) -> list[State]:
        return stages_of(self.rings, loop)

    def awaited(self) -> list[State]:
        emptied = [ring for ring in self.rings if ring.consumers]
        kept = [ring.resident for ring in emptied if ring.resident is not None and ring.resident.loops]
        found: list[State] = [*(ring.stages for ring in emptied), *(resident.stages for resident in kept)]
        return list(dict.fromkeys(found))

    def act(self, op: TableOperation, insert: Insert, tokens: Tokens) -> None:
        for resident in residents_of(self.rings):
            if op is resident.fetch.load:
                self._bring(resident, insert, tokens)
        ring = next((ring for ring in self.rings if op in ring.loads), None)
        if ring is None:
            return
        first, last = ring.fetches[0].load, ring.fetches[-1].load
        if len(ring.fetches) == 2 and not first.is_before_in_block(last):
            first, last = last, first
        if op is first:
            insert(ProducerAcquireOp.make([ring.pipeline, tokens[ring.stages]], []))
        self._load(ring.loads[op], ring.stages, insert, tokens)
        if op is last:
            tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, tokens[ring.stages]], [i32]))

    def _load(self, fetch: Fetch, stages: Stages, insert: Insert, tokens: Tokens) -> None:
        load = fetch.load
        coords = [self.value(coord) for coord in load.coords]
        operands = [load.view, fetch.descriptor, coords, fetch.buffer, stages.pipeline, tokens[stages]]
        insert(AsyncTiledTmaLoadOp.make(operands, [], location_of(load), index_checks=load.index_checks))

    def _bring(self, resident: Resident, insert: Insert, tokens: Tokens) -> None:
        """A left operand that stays, once its last one is done with."""
        stages = resident.stages
        insert(ProducerAcquireOp.make([stages.pipeline, tokens[stages]], []))
        self._load(resident.fetch, stages, insert, tokens)
        tokens[stages] = insert(AdvanceOp.make([stages.pipeline, tokens[stages]], [i32]))


class IssuingAgent(AgentSlice):
    """Issues the products of all rings; each fills a sum in tensor memory, from zero, in the innermost loop around it."""

    def __init__(self, rings: list[Ring], slice: ScalarSlice):
        super().__init__(rings, slice)
        self.buffers: dict[Sum, SSAValue] = {}

    def states(self, loop: Operation | None = None) -> list[State]:
        return [*stages_of(self.rings, loop), *scales_of(self.rings, loop), *sums_of(self.rings, loop)]

    def enter(self, loop: TableOperation, insert: Insert, tokens: Tokens) -> None:
        for sum in self._filled_by(loop):
            insert(UmmaAcquireOp.make([sum.pipeline, tokens[sum]], []))
            self.buffers[sum] = stage_of(insert, sum.pipeline, tokens[sum])

    def leave(self, loop: TableOperation, insert: Insert, tokens: Tokens) -> None:
        for sum in self._filled_by(loop):
            insert(UmmaCommitOp.make([sum.pipeline, tokens[sum]], []))
            tokens[sum] = insert(AdvanceOp.make([sum.pipeline, tokens[sum]], [i32]))

    def _filled_by(self, loop: TableOperation) -> list[Sum]:
        return [ring.sum for ring in self.rings if ring.loops[-1] is loop]

    def act(self, op: TableOperation, insert: Insert, tokens: Tokens) -> None:
        ring = next((ring for ring in self.rings if op is ring.product), None)
        if ring is None:
            return
        token, loop = tokens[ring.stages], ring.loops[-1]
        insert(ConsumerWaitOp.make([ring.pipeline, token], []))
        stage = stage_of(insert, ring.pipeline, token)
        turn = self._turn(ring, tokens) if ring.copies else None
        told = [None, None, self.buffers[ring.sum], None]
        if turn is not None:
            told = [*ring.scales.tiles, self.buffers[ring.sum], turn.bring(insert)]
        operands = {fetch.index: fetch.buffer for fetch in ring.fetches}
        given = [operands[0], operands[1], ring.sum.tile, self._adds(loop, insert), stage, stage, ring.pipeline, token]
        insert(AsyncUmmaOp.make([*given, None, *told], [], stage_operands(ring), **tensor_values(op)))
        tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, token], [i32]))
        if turn is not None:
            tokens[ring.scales] = turn.leave(insert, self.value)

    def _turn(self, ring: Ring, tokens: Tokens) -> ScaleTurn:
        index = self.value(ring.loops[-1].regions[0].blocks[0].args[0])
        return ScaleTurn(ring, ring.loops[-1], index, tokens[ring.scales])

    def _adds(self, loop: TableOperation, insert: Insert) -> SSAValue:
        """Whether a product is added to what its sum holds: not the first one."""
        later = is_later(loop, loop.regions[0].blocks[0].args[0])
        later.operands = [self.value(operand) for operand in later.operands]
        return insert(later)
