"""Producer partitions: slices of the program that load the tiles of its dots, or issue the MMAs.

A slice has the same loops and choices as the program, with only the scalars that its own operations depend on, and a token for each
ring and each accumulator that it uses (``pipeline_buffers.py``). It returns where the program returns.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import terminator
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
from ....ir.dialects.op_definition import TableOp, location_of
from ....ir.dialects.op_traits import is_counted_loop, is_if, is_return
from ...analysis.view_chains import ScalarSlice
from ..op_insertion import Inserter, constant_i32, insertion_at_end, is_not_first_iteration
from .pipeline_buffers import (
    MmaPipeline,
    PipelineResource,
    StageBuffers,
    StationaryOperand,
    TmaOperandLoad,
    TmemAccumulator,
    Tokens,
    accumulators_of,
    async_mma_attributes,
    scales_of,
    stage_of,
    stages_of,
    stationary_operands_of,
    umma_attributes,
)
from .scale_pipeline import ScaleStage

ForOp, IfOp, YieldOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "if", "yield", "continue"))


class PartitionSlice:
    """Clones the slice of a program that a partition of one thread, or of one warp, executes.

    A subclass defines the resources whose tokens it has (``states``), and the operations around loops and in place of
    loads and dots.
    """

    def __init__(self, mma_pipelines: list[MmaPipeline], slice: ScalarSlice):
        self.mma_pipelines, self.slice = mma_pipelines, slice
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self, body: Block) -> Block:
        block = Block()
        insert = insertion_at_end(block)
        tokens = {state: insert(constant_i32(0)) for state in self.states()}
        self._block(body, block, tokens)
        self._end(insert, tokens)
        block.add_op(YieldOp.make([[]], []))
        return block

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        """What the partition has tokens of, or what of it is inside ``loop``, or a choice."""
        raise NotImplementedError

    def stages_to_drain(self) -> list[PipelineResource]:
        """What the partition waits for at its end: stages that commits release, for an arrival may come after the CTA's end."""
        return []

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """In place of an operation that is not cloned."""
        raise NotImplementedError

    def enter_loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """Before a loop."""

    def exit_loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """After a loop."""

    def _block(self, source: Block, target: Block, tokens: Tokens) -> None:
        insert = insertion_at_end(target)
        for op in source.ops:
            if is_counted_loop(op) and any(op in ring.loops for ring in self.mma_pipelines):
                self.enter_loop(op, insert, tokens)
                self._loop(op, insert, tokens)
                self.exit_loop(op, insert, tokens)
            elif is_return(op):
                self._end(insert, tokens)
                insert(ReturnOp.make([[]], []))
            elif is_if(op) and (self.states(op) or any(map(is_return, walk(op)))):
                self._if(op, insert, tokens)
            elif op in self.slice.needed:
                insert(self._clone(op))
            else:
                self.emit(op, insert, tokens)

    def _end(self, insert: Inserter, tokens: Tokens) -> None:
        """The last operations of the partition, at its end or before a return."""
        for state in self.stages_to_drain():
            insert(ProducerTailOp.make([state.pipeline, tokens[state]], []))

    def value(self, value: SSAValue) -> SSAValue:
        """The partition's copy of a value of the program."""
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

    def _if(self, choice: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """A branch that contains operations of the partition, or a return."""
        states, arms = self.states(choice), [Block() for _ in choice.regions]
        for region, arm in zip(choice.regions, arms):
            left = dict(tokens)
            self._block(region.blocks[0], arm, left)
            if arm.last_op is None or not is_return(arm.last_op):
                arm.add_op(YieldOp.make([[left[state] for state in states]], []))
        regions = [Region(arm) for arm in arms]
        new_op = IfOp.make([self.value(choice.condition)], [i32] * len(states), dict(choice.attributes), regions)
        insert(new_op)
        tokens.update(zip(states, new_op.results))

    def _loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        block = loop.regions[0].blocks[0]
        states = self.states(loop)
        kept = [arg.index - 1 for arg in block.args[1:] if arg in self.slice.arguments]
        types = [block.args[1 + index].type for index in kept] + [i32] * len(states)
        inner = Block(arg_types=[block.args[0].type, *types])
        self.values[block.args[0]] = inner.args[0]
        self.values.update((block.args[1 + index], arg) for index, arg in zip(kept, inner.args[1:]))
        carried = tokens | dict(zip(states, inner.args[1 + len(kept) :]))
        self._block(block, inner, carried)
        following = [self.value(terminator(block).operands[index]) for index in kept]
        inner.add_op(ContinueOp.make([[*following, *(carried[state] for state in states)]], []))
        initial = [self.value(loop.initial[index]) for index in kept] + [tokens[state] for state in states]
        bounds = [self.value(value) for value in (loop.lower, loop.upper, loop.step)]
        new_op = ForOp.make([*bounds, initial], types, dict(loop.attributes), [Region(inner)])
        insert(new_op)
        tokens.update(zip(states, new_op.results[len(kept) :]))


class ProducerPartition(PartitionSlice):
    """Loads the tiles of all pipelines."""

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        return stages_of(self.mma_pipelines, loop)

    def stages_to_drain(self) -> list[PipelineResource]:
        emptied = [ring for ring in self.mma_pipelines if ring.consumers]
        carried = [ring.stationary for ring in emptied if ring.stationary is not None and ring.stationary.loops]
        found: list[PipelineResource] = [
            *(ring.stages for ring in emptied),
            *(stationary.stages for stationary in carried),
        ]
        return list(dict.fromkeys(found))

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        for stationary in stationary_operands_of(self.mma_pipelines):
            if op is stationary.operand_load.load:
                self._load_stationary(stationary, insert, tokens)
        ring = next((ring for ring in self.mma_pipelines if op in ring.loads), None)
        if ring is None:
            return
        first, last = ring.operand_loads[0].load, ring.operand_loads[-1].load
        if len(ring.operand_loads) == 2 and not first.is_before_in_block(last):
            first, last = last, first
        if op is first:
            insert(ProducerAcquireOp.make([ring.pipeline, tokens[ring.stages]], []))
        self._load(ring.loads[op], ring.stages, insert, tokens)
        if op is last:
            tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, tokens[ring.stages]], [i32]))

    def _load(self, operand_load: TmaOperandLoad, stages: StageBuffers, insert: Inserter, tokens: Tokens) -> None:
        load = operand_load.load
        coords = [self.value(coord) for coord in load.coords]
        operands = [load.view, operand_load.descriptor, coords, operand_load.buffer, stages.pipeline, tokens[stages]]
        insert(AsyncTiledTmaLoadOp.make(operands, [], location_of(load), index_checks=load.index_checks))

    def _load_stationary(self, stationary: StationaryOperand, insert: Inserter, tokens: Tokens) -> None:
        """Load a stationary left operand once the last dot of its predecessor is complete."""
        stages = stationary.stages
        insert(ProducerAcquireOp.make([stages.pipeline, tokens[stages]], []))
        self._load(stationary.operand_load, stages, insert, tokens)
        tokens[stages] = insert(AdvanceOp.make([stages.pipeline, tokens[stages]], [i32]))


class MmaPartition(PartitionSlice):
    """Issues the MMAs of all pipelines. Each fills an accumulator in tensor memory, from zero, in the innermost loop
    around it.
    """

    def __init__(self, rings: list[MmaPipeline], slice: ScalarSlice):
        super().__init__(rings, slice)
        self.buffers: dict[TmemAccumulator, SSAValue] = {}

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        return [
            *stages_of(self.mma_pipelines, loop),
            *scales_of(self.mma_pipelines, loop),
            *accumulators_of(self.mma_pipelines, loop),
        ]

    def enter_loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        for acc in self._accumulators_filled_in(loop):
            insert(UmmaAcquireOp.make([acc.pipeline, tokens[acc]], []))
            self.buffers[acc] = stage_of(insert, acc.pipeline, tokens[acc])

    def exit_loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        for acc in self._accumulators_filled_in(loop):
            insert(UmmaCommitOp.make([acc.pipeline, tokens[acc]], []))
            tokens[acc] = insert(AdvanceOp.make([acc.pipeline, tokens[acc]], [i32]))

    def _accumulators_filled_in(self, loop: TableOp) -> list[TmemAccumulator]:
        return [ring.accumulator for ring in self.mma_pipelines if ring.loops[-1] is loop]

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        ring = next((ring for ring in self.mma_pipelines if op is ring.dot), None)
        if ring is None:
            return
        token, loop = tokens[ring.stages], ring.loops[-1]
        insert(ConsumerWaitOp.make([ring.pipeline, token], []))
        stage = stage_of(insert, ring.pipeline, token)
        scale_stage = self._scale_stage(ring, tokens) if ring.scale_loads else None
        optional_operands = [None, None, self.buffers[ring.accumulator], None]
        if scale_stage is not None:
            optional_operands = [*ring.scales.tiles, self.buffers[ring.accumulator], scale_stage.acquire(insert)]
        operands = {operand_load.index: operand_load.buffer for operand_load in ring.operand_loads}
        stage_operands = [
            operands[0],
            operands[1],
            ring.accumulator.tile,
            self._accumulate_flag(loop, insert),
            stage,
            stage,
            ring.pipeline,
            token,
        ]
        insert(
            AsyncUmmaOp.make(
                [*stage_operands, None, *optional_operands], [], async_mma_attributes(ring), **umma_attributes(op)
            )
        )
        tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, token], [i32]))
        if scale_stage is not None:
            tokens[ring.scales] = scale_stage.release(insert, self.value)

    def _scale_stage(self, ring: MmaPipeline, tokens: Tokens) -> ScaleStage:
        index = self.value(ring.loops[-1].regions[0].blocks[0].args[0])
        return ScaleStage(ring, ring.loops[-1], index, tokens[ring.scales])

    def _accumulate_flag(self, loop: TableOp, insert: Inserter) -> SSAValue:
        """Whether an MMA accumulates, or overwrites the accumulator as the first one."""
        later = is_not_first_iteration(loop, loop.regions[0].blocks[0].args[0])
        later.operands = [self.value(operand) for operand in later.operands]
        return insert(later)
