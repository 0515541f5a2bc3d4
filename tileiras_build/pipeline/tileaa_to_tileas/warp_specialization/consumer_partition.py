"""The consumer partition: the program, whose dots wait for their stages and release them."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import as_op, next_op, parent_block, terminator, type_as, unwrap
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import (
    AdvanceOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
)
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import (
    is_async_mma,
    is_counted_loop,
    is_if,
    is_loop,
    is_loop_exit,
    is_region_end,
    is_structured_control_flow,
)
from ...analysis.enclosing_control_flow import is_accumulation_loop
from ...analysis.resource_model import MIN_STAGES
from ...common.llvm_element_types import element_of
from ...mma.family import Storage, family_of, register_mma_ops
from ..op_insertion import insert_before, insertion_before, is_not_first_iteration, loop_continues_at
from .consumer_operands import erase_tma_operand_load, mma_operands_of, read_fragment, read_source, store_operands
from .consumer_tmem_mma import TmemAccumulators
from .mma_pipelines import (
    MmaPipeline,
    PipelineResource,
    StationaryOperand,
    Tokens,
    accumulators_of,
    stage_of,
    stages_of,
    stationary_operands_of,
)


class ConsumerPartition:
    """Rewrites the program in place."""

    def __init__(self, mma_pipelines: list[MmaPipeline]):
        self.mma_pipelines, self.accumulators = mma_pipelines, TmemAccumulators()
        # The resources whose tokens pass through the loops, and the branches, around an operation.
        self.loops: list[list[PipelineResource]] = []
        self.branches: list[list[PipelineResource]] = []
        self.stages: dict[MmaPipeline, SSAValue] = {}

    def run(self, body: Block) -> None:
        insert = insertion_before(unwrap(body.first_op))
        self._block(body, {state: insert.constant(0) for state in self.states()})
        for stationary in stationary_operands_of(self.mma_pipelines):
            erase_tma_operand_load(stationary.operand_load)

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        """The resources whose tokens the partition has, or those used inside ``loop`` or a branch."""
        return [*stages_of(self.mma_pipelines, loop), *accumulators_of(self.mma_pipelines, loop)]

    # ---- loops and branches --------------------------------------------------------------------------------
    def _block(self, block: Block, tokens: Tokens) -> None:
        for op in list(block.ops):
            if is_structured_control_flow(op):
                self._structure(op, tokens)
            elif is_region_end(op):
                self._leave(op, tokens)
            for stationary in stationary_operands_of(self.mma_pipelines):
                if op is stationary.operand_load.load:
                    self._wait_for_stationary(stationary, tokens)
            for ring in self.mma_pipelines:
                if op is ring.dot:
                    self._emit_dot(ring, tokens)
                for source in ring.sources:
                    if op is source.load:
                        read_source(source, self._wait(ring, tokens, op))

    def _structure(self, op: TableOp, tokens: Tokens) -> None:
        """Pass tokens through a loop or a branch that uses them, or that leaves a loop which does."""
        states = self.states(op)
        if is_if(op) and (states or any(map(is_loop_exit, walk(op)))):
            self._if(op, states, tokens)
        elif is_loop(op) and states:
            self._loop(op, states, tokens)

    def _leave(self, op: Operation, tokens: Tokens) -> None:
        """The end of an arm, of an iteration or of a loop passes the tokens on."""
        passing = self.loops if is_loop_exit(op) else self.branches
        if passing:
            op.operands = [*op.operands, *(tokens[state] for state in passing[-1])]

    def _if(self, choice: TableOp, states: list[PipelineResource], tokens: Tokens) -> None:
        """A branch with the tokens that each arm yields."""
        blocks = [region.blocks[0] for region in choice.regions]
        self.branches.append(states)
        for block in blocks:
            self._block(block, dict(tokens))
        self.branches.pop()
        types = [*(result.type for result in choice.results), *[i32] * len(states)]
        regions = [Region(region.detach_block(block)) for region, block in zip(choice.regions, blocks)]
        new_op = type(choice).make([choice.condition], types, dict(choice.attributes), regions)
        insert_before(new_op, choice)
        for old, new in zip(choice.results, new_op.results):
            old.replace_all_uses_with(new)
        tokens.update(zip(states, new_op.results[len(choice.results) :]))
        for ring in self.mma_pipelines:
            ring.replace(choice, new_op)
        choice.detach()
        choice.erase()

    def _loop(self, loop: TableOp, states: list[PipelineResource], tokens: Tokens) -> None:
        """The loop with loop-carried tokens of the resources that it uses, without the accumulators that stay in tensor
        memory.
        """
        block = loop.regions[0].blocks[0]
        carried: Tokens = {state: block.insert_arg(i32, len(block.args)) for state in states}
        self.loops.append(states)
        self._block(block, tokens | carried)
        self.loops.pop()
        kept = self.accumulators.drop_carried_in_tmem(block, len(loop.results))
        new_op = self._replaced(loop, kept, states, tokens)
        if any(ring.loops[-1] is new_op for ring in self.mma_pipelines):
            self._wait_for_last(new_op, tokens)
        self.accumulators.read_accumulators(loop, new_op, tokens)
        loop.detach()
        loop.erase()

    def _replaced(self, loop: TableOp, kept: list[int], states: list[PipelineResource], tokens: Tokens) -> TableOp:
        """A loop with the body of ``loop`` that carries the values ``kept`` and the tokens."""
        block = loop.regions[0].blocks[0]
        initial = [loop.initial[index] for index in kept] + [tokens[state] for state in states]
        types = [loop.results[index].type for index in kept] + [i32] * len(states)
        bounds = [loop.lower, loop.upper, loop.step] if is_counted_loop(loop) else []
        regions = [Region(loop.regions[0].detach_block(block))]
        new_op = type(loop).make([*bounds, initial], types, dict(loop.attributes), regions)
        insert_before(new_op, loop)
        tokens.update(zip(states, new_op.results[len(kept) :]))
        for index, result in zip(kept, new_op.results):
            loop.results[index].replace_all_uses_with(result)
        for ring in self.mma_pipelines:
            ring.replace(loop, new_op)
        return new_op

    def _wait_for_last(self, loop: TableOp, tokens: Tokens) -> None:
        """Dots that the last iteration left in flight complete here, and their stage is released."""
        for result in list(loop.results):
            if result.type != i32 and (issued := _in_flight(loop, result.index)) is not None:
                uses = list(result.uses)
                wait = register_mma_ops(issued).wait.make([result], [result.type], pending=0)
                parent_block(loop).insert_op_after(wait, loop)
                for use in uses:
                    use.operation.operands[use.index] = wait.results[0]
                self._release_last(loop, wait, tokens)

    def _release_last(self, loop: TableOp, wait: Operation, tokens: Tokens) -> None:
        ring = next(ring for ring in self.mma_pipelines if ring.loops[-1] is loop)
        if not ring.is_reused:
            return
        ran = loop_continues_at(loop, loop.lower)
        operands = [ring.pipeline, tokens[ring.stages], ran.results[0]]
        release = ConsumerReleaseOp.make(operands, [], previous_stage=True)
        parent_block(loop).insert_op_after(release, wait)
        parent_block(loop).insert_op_after(ran, wait)

    # ---- stationary operands ------------------------------------------------------------------------
    def _wait_for_stationary(self, stationary: StationaryOperand, tokens: Tokens) -> None:
        """Wait for a stationary operand. Where another one follows it, release it after the last loop that reads it, in
        which all dots were waited for.
        """
        load, stages = stationary.operand_load.load, stationary.stages
        token = tokens[stages]
        insert_before(ConsumerWaitOp.make([stages.pipeline, token], []), load)
        tokens[stages] = insert_before(AdvanceOp.make([stages.pipeline, token], [i32]), load)
        if stationary.loops:
            insert_before(
                ConsumerReleaseOp.make([stages.pipeline, token, None], []), self._after_last_reader(stationary)
            )

    def _after_last_reader(self, stationary: StationaryOperand) -> Operation:
        """The operation after the last loop of the dots that read it, in the block of its load."""
        depth, block = len(stationary.enclosing_ops), parent_block(stationary.operand_load.load)
        readers = [ring.enclosing_ops[depth] for ring in self.mma_pipelines if ring.stationary is stationary]
        return next_op([op for op in block.ops if op in readers][-1])

    # ---- dots ----------------------------------------------------------------------------------
    def _emit_dot(self, mma_pipeline: MmaPipeline, tokens: Tokens) -> None:
        """Wait, multiply, release the stage."""
        dot, token = mma_pipeline.dot, tokens[mma_pipeline.stages]
        stage = self._wait(mma_pipeline, tokens, dot)
        store_operands(mma_pipeline, stage)
        if mma_pipeline.tmem_accumulator is not None:
            self.accumulators.accumulate(mma_pipeline, stage, tokens)
        else:
            _emit_mma_and_release(mma_pipeline, stage, token)
        tokens[mma_pipeline.stages] = insert_before(AdvanceOp.make([mma_pipeline.pipeline, token], [i32]), next_op(dot))
        if not list(dot.result.uses):
            dot.detach()
            dot.erase()
        for operand_load in mma_pipeline.operand_loads:
            erase_tma_operand_load(operand_load)

    def _wait(self, mma_pipeline: MmaPipeline, tokens: Tokens, place: Operation) -> SSAValue:
        """Wait for a stage, if nothing in this iteration has waited for it yet, and return its number."""
        if mma_pipeline not in self.stages:
            token, insert = tokens[mma_pipeline.stages], insertion_before(place)
            insert(ConsumerWaitOp.make([mma_pipeline.pipeline, token], []))
            self.stages[mma_pipeline] = stage_of(insert, mma_pipeline.pipeline, token)
        return self.stages[mma_pipeline]


def _emit_mma_and_release(mma_pipeline: MmaPipeline, stage: SSAValue, token: SSAValue) -> None:
    dot, after = mma_pipeline.dot, next_op(mma_pipeline.dot)
    reads_stage = Storage.SHARED in family_of(dot).b_storage
    if reads_stage and _emit_mma(mma_pipeline, stage):
        block = parent_block(dot)
        later = insert_before(is_not_first_iteration(as_op(block.parent_op()), block.args[0]), after)
        insert_before(ConsumerReleaseOp.make([mma_pipeline.pipeline, token, later], [], previous_stage=True), after)
        return
    if not reads_stage:
        for operand_load in mma_pipeline.operand_loads:
            read_fragment(operand_load, stage, dot)
    insert_before(ConsumerReleaseOp.make([mma_pipeline.pipeline, token, None], []), after)


def _emit_mma(mma_pipeline: MmaPipeline, stage: SSAValue) -> bool:
    """Replace ``dot`` by an MMA that is issued; return whether it is still in flight afterwards."""
    dot = mma_pipeline.dot
    operands, stages, kept = mma_operands_of(mma_pipeline, stage)
    behind = stages[0] is not None and _may_stay_in_flight(mma_pipeline)
    new_op = register_mma_ops(dot).issue.make(
        [*operands, dot.acc, *stages], [dot.result.type], kept, pending=int(behind)
    )
    insert_before(new_op, dot)
    dot.result.replace_all_uses_with(new_op.result)
    return behind


def _may_stay_in_flight(mma_pipeline: MmaPipeline) -> bool:
    """Whether the next iteration may start before a dot is complete, with its left operand in shared memory.

    The tiles of the next iteration arrive only if there is another stage. 16-bit accumulators are packed in pairs, and
    loop-carried values are unpacked, so they must be complete. A left operand in registers is in flight with its dot,
    and the next iteration has another one. Partial accumulators are added at once.
    """
    dot, stages = mma_pipeline.dot, type_as(mma_pipeline.pipeline, PipelineType).stages.data
    whole = element_of(dot.result.type).bits == 32 and not dot.promotion
    return stages >= MIN_STAGES and is_accumulation_loop(dot) and whole


def _in_flight(loop: Operation, index: int) -> TableOp | None:
    """The MMA whose accumulators a loop carries while it is in flight."""
    owner = terminator(loop.regions[0].blocks[0]).operands[index].owner
    return owner if isinstance(owner, Operation) and is_async_mma(owner) and owner.pending > 0 else None
