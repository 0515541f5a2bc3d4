"""Dots that accumulate in tensor memory, issued by a thread of the consumer partition."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, parent_block, terminator, tile_type, type_as
from ....ir.dialects import arith
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    BarrierOp,
    ConsumerWaitOp,
    TmemLoadOp,
    TmemStoreOp,
)
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_definition import TableOp
from ...analysis.enclosing_control_flow import is_defined_in_loop, is_zero
from ...analysis.scale_stage_counts import tmem_scale_groups
from ..op_insertion import (
    Inserter,
    build_if,
    constant_i1,
    group_index,
    insert_before,
    insertion_at_end,
    insertion_before,
    is_first_of_group,
    is_not_first_iteration,
    is_zero_trip,
)
from .consumer_operands import mma_operands_of
from .mma_pipelines import MmaPipeline, TmemAccumulator, Tokens, tmem_mma_attributes

AddFOp = COUNTERPARTS["nv_tileaa.addf"]


class TmemAccumulators:
    """Moves dots and loop-carried accumulators to tensor memory."""

    def __init__(self) -> None:
        self.carried_in_tmem: dict[
            Block, list[tuple[int, MmaPipeline]]
        ] = {}  # loop -> its carried tiles that are such accumulators

    # ---- around a loop -------------------------------------------------------------------------------
    def drop_carried_in_tmem(self, block: Block, count: int) -> list[int]:
        """The indices of the values that a loop still carries, without the accumulators that stay in tensor memory."""
        gone = [index for index, _ in self.carried_in_tmem.get(block, ())]
        last = terminator(block)
        last.operands = [value for index, value in enumerate(last.operands) if index not in gone]
        for index in sorted(gone, reverse=True):
            block.erase_arg(block.args[1 + index])
        return [index for index in range(count) if index not in gone]

    def read_accumulators(self, old: TableOp, loop: TableOp, tokens: Tokens) -> None:
        """After the loop: wait for the last MMA, and read the accumulator."""
        for index, ring in self.carried_in_tmem.get(loop.regions[0].blocks[0], ()):
            acc, result = ring.accumulator, old.results[index]
            if not store_initial_accumulator(old.initial[index], acc, loop):
                _insert_barrier(loop)
            if not acc.is_waited_each_iteration:
                insert_before(ring.tmem_ops.commit.make([acc.pipeline], []), old)
                wait_for_accumulator(acc, old, tokens)
            result.replace_all_uses_with(insert_before(TmemLoadOp.make([acc.tile], [result.type]), old))
            if ring.is_reused:
                _insert_barrier(old)  # before the next iteration overwrites what other threads still read

    # ---- a dot -----------------------------------------------------------------------------------
    def accumulate(self, ring: MmaPipeline, stage: SSAValue, tokens: Tokens) -> None:
        """Replace ``dot`` by an MMA in tensor memory, whose commit releases the stage."""
        dot, acc = ring.dot, ring.accumulator
        operands, stages, kept = mma_operands_of(ring, stage)
        if acc.lhs_tile is not None:
            operands[0] = acc.lhs_tile
            _store_lhs(ring)
        scale_slot = _store_scales(ring, stage)
        accumulate = self._accumulate_flag(ring)
        ready = acc.pipeline if acc.is_waited_each_iteration or not acc.carried_in_tmem else None
        scales: list[SSAValue | None] = [*acc.scales] or [None, None]
        read = [
            *operands,
            acc.tile,
            accumulate,
            *stages,
            ring.pipeline,
            tokens[ring.stages],
            ready,
            *scales,
            None,
            scale_slot,
        ]
        insert_before(ring.tmem_ops.issue.make(read, [], kept, **tmem_mma_attributes(dot)), dot)
        if ready is not None:
            wait_for_accumulator(acc, dot, tokens)
        dot.result.replace_all_uses_with(dot.acc if acc.carried_in_tmem else _read_accumulator(ring))

    def _accumulate_flag(self, ring: MmaPipeline) -> SSAValue:
        """Whether an MMA accumulates into its tile."""
        dot, acc = ring.dot, ring.accumulator
        if not acc.carried_in_tmem:
            _insert_barrier(dot)  # operands are written, the last accumulator is read
            return insert_before(constant_i1(False), dot)
        if acc.scales and dot.scale_steps == 1:
            _insert_barrier(dot)  # all threads have written their operands
        block, index = parent_block(dot), dot.acc.index - 1
        self.carried_in_tmem.setdefault(block, []).append((index, ring))
        # The first iteration overwrites an accumulator that starts from zero.
        loop = as_op(block.parent_op())
        starts_from_zero = is_zero(loop.initial[index])
        return insert_before(
            is_not_first_iteration(loop, block.args[0]) if starts_from_zero else constant_i1(True), dot
        )


def store_initial_accumulator(initial: SSAValue, accumulator: TmemAccumulator, loop: TableOp) -> bool:
    """Write the initial accumulator before a loop; return whether it is zero.

    Zeros are written only if the loop may have no trips, as the first MMA overwrites them.
    """
    starts_from_zero = is_zero(initial)
    never = insert_before(is_zero_trip(loop), loop) if starts_from_zero else None
    insert_before(TmemStoreOp.make([initial, accumulator.tile, never, None, None], []), loop)
    return starts_from_zero


def _store_lhs(mma_pipeline: MmaPipeline) -> None:
    """Write a left operand from registers to tensor memory where it is computed; once, if that is outside the loops."""
    dot, value = mma_pipeline.dot, mma_pipeline.dot.lhs
    place: Operation = dot
    for loop in reversed(mma_pipeline.loops):
        if not is_defined_in_loop(value, loop):
            place = loop
    if mma_pipeline.accumulator.stationary_lhs_tile is value:
        return  # the previous loop has stored it
    mma_pipeline.accumulator.stationary_lhs_tile = value if place is not dot else None
    insert_before(TmemStoreOp.make([value, mma_pipeline.accumulator.lhs_tile, None, None, None], []), place)
    if mma_pipeline.accumulator.carried_in_tmem:
        _insert_barrier(place)  # all threads have written it


def _store_scales(mma_pipeline: MmaPipeline, stage: SSAValue) -> SSAValue | None:
    """Write block scales. The MMAs that used the stage before are complete, otherwise the stage would not be full
    again. Scales of a group of iterations are written by the first one; return the slot that the MMA uses.
    """
    dot, steps = mma_pipeline.dot, mma_pipeline.dot.scale_steps
    if steps == 1:
        _store_scale_tiles(mma_pipeline, stage, insertion_before(dot))
        return None
    index, insert = parent_block(dot).args[0], insertion_before(dot)
    groups = tmem_scale_groups(steps, type_as(mma_pipeline.pipeline, PipelineType).stages.data)
    scale_slot = insert.binary("urem", index, groups * steps)
    first, block = is_first_of_group(index, steps, insert), Block()
    group = group_index(scale_slot, steps, insertion_at_end(block))
    _store_scale_tiles(mma_pipeline, group, insertion_at_end(block))
    block.add_op(BarrierOp.make([], []))  # all threads have written them
    insert(build_if(first, block))
    return scale_slot


def _store_scale_tiles(mma_pipeline: MmaPipeline, stage: SSAValue, insert: Inserter) -> None:
    dot = mma_pipeline.dot
    for line_dim, tile in enumerate(mma_pipeline.accumulator.scales):
        value = (dot.lhs_scale, dot.rhs_scale)[line_dim]
        attributes = {"line_dim": IntegerAttr(line_dim, i32)}
        insert(TmemStoreOp.make([value, tile, None, stage, None], [], attributes))


def _read_accumulator(mma_pipeline: MmaPipeline) -> SSAValue:
    """Read the accumulator of one dot to registers, added to the dot's own accumulator operand."""
    dot = mma_pipeline.dot
    result = insert_before(TmemLoadOp.make([mma_pipeline.accumulator.tile], [dot.result.type]), dot)
    return result if is_zero(dot.acc) else insert_before(_added(result, dot.acc), dot)


def _added(first: SSAValue, second: SSAValue) -> Operation:
    kind = arith.AddiOp if str(tile_type(first).element_type) == "i32" else AddFOp
    return kind.make([first, second], [first.type])


def _insert_barrier(place: Operation) -> None:
    insert_before(BarrierOp.make([], []), place)


def wait_for_accumulator(accumulator: TmemAccumulator, insertion_point: Operation, tokens: Tokens) -> None:
    insert_before(ConsumerWaitOp.make([accumulator.pipeline, tokens[accumulator]], []), insertion_point)
    tokens[accumulator] = insert_before(
        AdvanceOp.make([accumulator.pipeline, tokens[accumulator]], [i32]), insertion_point
    )
