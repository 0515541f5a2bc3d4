"""The agent that computes: the program, whose products wait for their stages and give them back."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import block_of, following, given, last_op, row, type_of
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    AsyncDotOp,
    AsyncDotWaitOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
)
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_definition import TableOperation
from ....ir.dialects.op_traits import is_choice, is_structured, is_yield
from ...analysis.mma_atom_selection import partial_sums
from ...analysis.resource_model import LEAST_STAGES
from ...analysis.view_chains import only_accumulates
from ...common.llvm_element_types import element_of
from ..rewriter import constant_i32, insert_before, inserter, is_later, runs_at
from .consumer_operands import drop_fetch, operands_of, read_fragment
from .pipeline_buffers import Resident, Ring, State, Tokens, residents_of, stage_of, stages_of, sums_of
from .tmem_accumulators import TensorMemorySums

ForOp, IfOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "if"))


class ComputingAgent:
    """Changes the program in place."""

    def __init__(self, rings: list[Ring]):
        self.rings, self.sums = rings, TensorMemorySums()

    def run(self, body: Block) -> None:
        insert = inserter(given(body.first_op))
        self._block(body, {state: insert(constant_i32(0)) for state in self.states()})
        for resident in residents_of(self.rings):
            drop_fetch(resident.fetch)

    def states(self, loop: Operation | None = None) -> list[State]:
        """What the agent has tokens of, or what of it is inside ``loop``, or a choice."""
        return [*stages_of(self.rings, loop), *sums_of(self.rings, loop)]

    # ---- loops and choices -------------------------------------------------------------------------------------
    def _block(self, block: Block, tokens: Tokens) -> None:
        for op in list(block.ops):
            if is_structured(op) and (states := self.states(op)):
                self._structure(op, states, tokens)
            for resident in residents_of(self.rings):
                if op is resident.fetch.load:
                    self._await(resident, tokens)
            for ring in self.rings:
                if op is ring.product:
                    self._product(ring, tokens)

    def _structure(self, op: TableOperation, states: list[State], tokens: Tokens) -> None:
        if is_choice(op):
            self._choice(op, states, tokens)
        else:
            self._loop(op, states, tokens)

    def _choice(self, choice: TableOperation, states: list[State], tokens: Tokens) -> None:
        """The choice with the tokens that each arm leaves."""
        blocks = [region.blocks[0] for region in choice.regions]
        for block in blocks:
            left = dict(tokens)
            self._block(block, left)
            if is_yield(last := last_op(block)):
                last.operands = [*last.operands, *(left[state] for state in states)]
        types = [*(result.type for result in choice.results), *[i32] * len(states)]
        regions = [Region(region.detach_block(block)) for region, block in zip(choice.regions, blocks)]
        made = IfOp.make([choice.condition], types, dict(choice.attributes), regions)
        insert_before(made, choice)
        for old, new in zip(choice.results, made.results):
            old.replace_all_uses_with(new)
        tokens.update(zip(states, made.results[len(choice.results) :]))
        for ring in self.rings:
            ring.replace(choice, made)
        choice.detach()
        choice.erase()

    def _loop(self, loop: TableOperation, states: list[State], tokens: Tokens) -> None:
        """The loop with tokens carried for what it uses, without the sums that stay in tensor memory."""
        block = loop.regions[0].blocks[0]
        carried: Tokens = {state: block.insert_arg(i32, len(block.args)) for state in states}
        self._block(block, carried)
        last = last_op(block)
        last.operands = [*last.operands, *(carried[state] for state in states)]
        kept = self.sums.drop_running(block, len(loop.results))
        made = self._replaced(loop, kept, states, tokens)
        self._finish(made, tokens)
        self.sums.read_sums(loop, made, tokens)
        loop.detach()
        loop.erase()

    def _replaced(self, loop: TableOperation, kept: list[int], states: list[State], tokens: Tokens) -> TableOperation:
        """A loop with the body of ``loop`` that carries the values ``kept`` and the tokens."""
        block = loop.regions[0].blocks[0]
        initial = [loop.initial[index] for index in kept] + [tokens[state] for state in states]
        types = [loop.results[index].type for index in kept] + [i32] * len(states)
        operands = [loop.lower, loop.upper, loop.step, initial]
        made = ForOp.make(operands, types, dict(loop.attributes), [Region(loop.regions[0].detach_block(block))])
        insert_before(made, loop)
        tokens.update(zip(states, made.results[len(kept) :]))
        for index, result in zip(kept, made.results):
            loop.results[index].replace_all_uses_with(result)
        for ring in self.rings:
            ring.replace(loop, made)
        return made

    def _finish(self, loop: TableOperation, tokens: Tokens) -> None:
        """Products left under way by the last iteration end here, and their stage is empty."""
        for result in list(loop.results):
            if result.type != i32 and _is_under_way(loop, result.index):
                uses = list(result.uses)
                wait = AsyncDotWaitOp.make([result], [result.type], pending=0)
                block_of(loop).insert_op_after(wait, loop)
                for use in uses:
                    use.operation.operands[use.index] = wait.results[0]
                self._release_last(loop, wait, tokens)

    def _release_last(self, loop: TableOperation, wait: Operation, tokens: Tokens) -> None:
        ring = next(ring for ring in self.rings if ring.loops[-1] is loop)
        if not ring.used_again:
            return
        ran = runs_at(loop, loop.lower)
        operands = [ring.pipeline, tokens[ring.stages], ran.results[0]]
        release = ConsumerReleaseOp.make(operands, [], behind=True)
        block_of(loop).insert_op_after(release, wait)
        block_of(loop).insert_op_after(ran, wait)

    # ---- what stays in shared memory ----------------------------------------------------------------
    def _await(self, resident: Resident, tokens: Tokens) -> None:
        """Until it is there; where another one comes after it, it is given back behind the last loop that reads it: all
        products of the loop have been waited for."""
        load, stages = resident.fetch.load, resident.stages
        token = tokens[stages]
        insert_before(ConsumerWaitOp.make([stages.pipeline, token], []), load)
        tokens[stages] = insert_before(AdvanceOp.make([stages.pipeline, token], [i32]), load)
        if resident.loops:
            insert_before(ConsumerReleaseOp.make([stages.pipeline, token, None], []), self._behind_readers(resident))

    def _behind_readers(self, resident: Resident) -> Operation:
        """What follows the last loop of the products that read it, in the block of its load."""
        readers = [ring.loops[len(resident.loops)] for ring in self.rings if ring.resident is resident]
        block = block_of(resident.fetch.load)
        return following([op for op in block.ops if op in readers][-1])

    # ---- products ----------------------------------------------------------------------------------
    def _product(self, ring: Ring, tokens: Tokens) -> None:
        """Wait, multiply, give the stage back."""
        product, token = ring.product, tokens[ring.stages]
        insert_before(ConsumerWaitOp.make([ring.pipeline, token], []), product)
        stage = stage_of(inserter(product), ring.pipeline, token)
        if ring.summed is not None:
            self.sums.accumulate(ring, stage, tokens)
        else:
            _multiply_and_release(ring, stage, token)
        tokens[ring.stages] = insert_before(AdvanceOp.make([ring.pipeline, token], [i32]), following(product))
        if not list(product.result.uses):
            product.detach()
            product.erase()
        for fetch in ring.fetches:
            drop_fetch(fetch)


def _multiply_and_release(ring: Ring, stage: SSAValue, token: SSAValue) -> None:
    product, after = ring.product, following(ring.product)
    if product.warpgroup is not None and _multiply(ring, stage):
        block = block_of(product)
        later = insert_before(is_later(row(block.parent_op()), block.args[0]), after)
        insert_before(ConsumerReleaseOp.make([ring.pipeline, token, later], [], behind=True), after)
        return
    if product.warpgroup is None:
        for fetch in ring.fetches:
            read_fragment(fetch, stage, product)
    insert_before(ConsumerReleaseOp.make([ring.pipeline, token, None], []), after)


def _multiply(ring: Ring, stage: SSAValue) -> bool:
    """The product of a warpgroup in place of ``dot``; whether it is still under way afterwards."""
    product = ring.product
    operands, stages, kept = operands_of(ring, stage)
    behind = stages[0] is not None and _may_stay_under_way(ring)
    told = {"atom": product.warpgroup, "pending": int(behind)}
    made = AsyncDotOp.make([*operands, product.acc, *stages], [product.result.type], kept, **told)
    insert_before(made, product)
    product.result.replace_all_uses_with(made.result)
    return behind


def _may_stay_under_way(ring: Ring) -> bool:
    """Whether the next iteration may start before a product is done, its left operand not in registers.

    Its tiles come only if there is another stage for them. Sums of 16 bits travel in pairs: carrying them takes the pairs
    apart, so they must be complete. A left operand in registers is under way with its product, and the next iteration has
    another. Partial sums are added at once.
    """
    product, stages = ring.product, type_of(ring.pipeline, PipelineType).stages.data
    whole = element_of(product.result.type).bits == 32 and partial_sums(product) is None
    return stages >= LEAST_STAGES and only_accumulates(product) and whole


def _is_under_way(loop: TableOperation, index: int) -> bool:
    last = last_op(loop.regions[0].blocks[0])
    owner = last.operands[index].owner
    return isinstance(owner, AsyncDotOp) and owner.pending > 0
