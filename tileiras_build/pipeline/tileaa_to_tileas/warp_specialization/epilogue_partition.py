"""The epilogue partition: it reads the accumulators of dots that another partition issues."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import terminator
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    TmemLoadOp,
    TmemStoreOp,
)
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_region_end, is_structured_control_flow
from ...analysis.op_queries import is_pure
from ..op_insertion import insert_before, insertion_before, is_zero_trip
from .consumer_operands import erase_load
from .consumer_partition import ConsumerPartition
from .mma_pipelines import MmaPipeline, PipelineResource, Tokens, accumulators_of, stage_of

ForOp = COUNTERPARTS["nv_tileaa.for"]


class EpiloguePartition(ConsumerPartition):
    """Rewrites the program in place: dots are replaced by reads of their accumulators, each released after its read."""

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        return accumulators_of(self.mma_pipelines, loop)

    def _block(self, block: Block, tokens: Tokens) -> None:
        for op in list(block.ops):
            if (ring := next((ring for ring in self.mma_pipelines if ring.loops[-1] is op), None)) is not None:
                _read_accumulator(ring, ring.loops[-1], tokens)
            elif is_structured_control_flow(op):
                self._structure(op, tokens)
            elif is_region_end(op):
                self._leave(op, tokens)


def _read_accumulator(mma_pipeline: MmaPipeline, loop: TableOp, tokens: Tokens) -> None:
    """Wait until a buffer is full, read it, release it. Only the other operations of the loop that filled it remain."""
    acc, index = mma_pipeline.accumulator, mma_pipeline.dot.acc.index - 1
    token, result, insert = tokens[acc], loop.results[index], insertion_before(loop)
    insert(ConsumerWaitOp.make([acc.pipeline, token], []))
    stage = stage_of(insert, acc.pipeline, token)
    insert(TmemStoreOp.make([loop.initial[index], acc.tile, insert(is_zero_trip(loop)), stage, None], []))
    result.replace_all_uses_with(insert(TmemLoadOp.make([acc.tile, stage], [result.type])))
    insert(ConsumerReleaseOp.make([acc.pipeline, token, None], []))
    tokens[acc] = insert(AdvanceOp.make([acc.pipeline, token], [i32]))
    _erase_dot(mma_pipeline, loop, index)


def _erase_dot(mma_pipeline: MmaPipeline, loop: TableOp, index: int) -> None:
    block = loop.regions[0].blocks[0]
    mma_pipeline.dot.result.replace_all_uses_with(mma_pipeline.dot.acc)
    mma_pipeline.dot.detach()
    mma_pipeline.dot.erase()
    for operand_load in mma_pipeline.operand_loads:
        erase_load(operand_load.load, operand_load.chain)
    for copy in mma_pipeline.scale_loads:
        erase_load(copy.load, copy.chain)
    _erase_unused(block)
    _rebuild_without(loop, index)


def _erase_unused(block: Block) -> None:
    """Erase operations without effects and uses."""
    for op in reversed(list(block.ops)):
        if is_pure(op) and not op.regions and not any(list(result.uses) for result in op.results):
            op.detach()
            op.erase()


def _rebuild_without(loop: TableOp, index: int) -> None:
    """The loop without a loop-carried value, or nothing where it only forwards it."""
    block = loop.regions[0].blocks[0]
    last, kept = terminator(block), [other for other in range(len(loop.results)) if other != index]
    last.operands = [last.operands[other] for other in kept]
    block.erase_arg(block.args[1 + index])
    initial = [loop.initial[other] for other in kept]
    passes_on = block.first_op is last and list(last.operands) == list(block.args[1:])
    results = initial if passes_on else _rebuild_with(loop, kept, initial)
    for other, result in zip(kept, results):
        loop.results[other].replace_all_uses_with(result)
    loop.detach()
    loop.erase()


def _rebuild_with(loop: TableOp, kept: list[int], initial: list[SSAValue]) -> list[SSAValue]:
    """The results of a loop with the body of ``loop`` that carries the values ``kept``."""
    types = [loop.results[other].type for other in kept]
    region = Region(loop.regions[0].detach_block(loop.regions[0].blocks[0]))
    new_op = ForOp.make([loop.lower, loop.upper, loop.step, initial], types, dict(loop.attributes), [region])
    insert_before(new_op, loop)
    return list(new_op.results)
