"""The MMA issuer: the warp, or without one the thread of the consumer, that issues MMAs with accumulators in tensor memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....ir.casting import as_op, next_op, parent_block, terminator, tile_type, unwrap
from ....ir.dialects import arith
from ....ir.dialects.nv_tileas.ops import COUNTERPARTS, BarrierOp, CopyScalesOp, TmemLoadOp, TmemStoreOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.chained_dots import rescaled_accumulator
from ...analysis.dot_buffer_sharing import is_lhs_computed_in_loop
from ...analysis.enclosing_control_flow import is_defined_in_loop, is_zero
from ...analysis.scalar_slice import ScalarSlice
from ...analysis.scale_stage_counts import tmem_scale_groups
from ...mma.dots import k_of
from ...mma.shared_columns import lhs_of
from ..op_insertion import (
    Inserter,
    constant_i1,
    group_index,
    insert_before,
    insert_if,
    is_first_of_group,
    is_not_first_iteration,
    is_zero_trip,
    loop_continues_at,
)
from .consumer import Consumer, async_mma_attributes, mma_operands, operands_by_name
from .partition_slice import PartitionSlice
from .pipelines import (
    Mainloop,
    Operands,
    Pipeline,
    PipelineState,
    StationaryOperand,
    TmemAccumulator,
    accumulators_of,
    lhs_chunks_of,
    scales_of,
    stages_of,
    stationary_operands_of,
)

AddFOp = COUNTERPARTS["nv_tileaa.addf"]
SCALES = ("lhs_scale", "rhs_scale")


class MmaIssuer(PartitionSlice):
    """Issues the MMAs of all mainloops. Each fills an accumulator in tensor memory, from zero, in the innermost loop
    around it.
    """

    def __init__(self, mainloops: list[Mainloop], slice: ScalarSlice):
        super().__init__(mainloops, slice)
        self.buffers: dict[TmemAccumulator, SSAValue] = {}

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        return [of for used in (stages_of, scales_of, accumulators_of) for of in used(self.mainloops, place)]

    def pipelines_to_drain(self) -> list[Pipeline]:
        """The warps of both CTAs of a pair release accumulators."""
        return list(dict.fromkeys(mainloop.accumulator for mainloop in self.mainloops if mainloop.in_cluster))

    def enter_loop(self, loop: TableOp, state: PipelineState) -> None:
        for mainloop in self._mainloops_of(loop):
            state.acquire(mainloop.accumulator, mainloop.tmem_ops.acquire)
            self.buffers[mainloop.accumulator] = state.stage(mainloop.accumulator)

    def exit(self, op: TableOp, state: PipelineState) -> None:
        for mainloop in self._mainloops_of(op):
            state.commit(mainloop.accumulator, mainloop.tmem_ops.commit)
            state.advance(mainloop.accumulator)

    def _mainloops_of(self, loop: TableOp) -> list[Mainloop]:
        return [mainloop for mainloop in self.mainloops if mainloop.loops[-1] is loop]

    def emit(self, op: TableOp, state: PipelineState) -> None:
        for mainloop in self.mainloops:
            if op is mainloop.dot:
                if mainloop.is_first_reader:
                    state.wait(mainloop.stages)
                self._issue(mainloop, state.stage(mainloop.stages), state)

    def _issue(self, mainloop: Mainloop, stage: SSAValue, state: PipelineState) -> None:
        """Issue an MMA, whose completion releases its stage."""
        loop = mainloop.loops[-1]
        lhs, rhs = (load.buffer for load in mainloop.operand_loads)
        operands: Operands = {"lhs": lhs, "rhs": rhs, "lhs_stage": stage, "rhs_stage": stage}
        operands |= _release_of(mainloop, state)
        operands["acc_stage"] = self.buffers[mainloop.accumulator]
        scales = _ScaleStage(self, mainloop, state) if mainloop.scale_loads else None
        if scales is not None:
            operands |= zip(SCALES, mainloop.scales.tiles)
            operands["scale_iteration"] = scales.wait()
        operands["accumulate"] = self.is_later_iteration(loop, state)
        issue_tmem_mma(mainloop, state, operands)
        _advance(mainloop, state)
        if scales is not None:
            scales.release()


class _ScaleStage:
    """The scales of one iteration of the MMA issuer.

    A group of iterations has one stage, in shared memory and in tensor memory. A scale loader for each operand fills the
    stage in shared memory; the issuer copies it to its columns of tensor memory before the group's first MMA. A commit
    after the group's last MMA releases both, so neither is overwritten while an MMA reads it.
    """

    def __init__(self, role: MmaIssuer, mainloop: Mainloop, state: PipelineState):
        self.value: Callable[[SSAValue], SSAValue] = role.value
        self.mainloop, self.scales, self.state = mainloop, mainloop.scales, state
        self.loop, self.steps = mainloop.loops[-1], mainloop.dot.scale_steps
        self.index = role.value(self.loop.regions[0].blocks[0].args[0])

    def wait(self) -> SSAValue:
        """Wait until the scales of the group are in tensor memory; return the iteration's index in all stages."""
        insert = self.state.insert
        insert_if(is_first_of_group(self.index, self.steps, insert) if self.steps > 1 else None, insert, self._copy)
        stage = self.state.stage(self.scales)
        if self.steps == 1:
            return stage
        own = insert.binary("and", self.index, self.steps - 1)
        return insert.binary("add", insert.binary("mul", stage, self.steps), own)

    def _copy(self, insert: Inserter) -> None:
        state = self.state.at(insert)
        state.wait(self.scales)
        stage = state.stage(self.scales)
        for buffer, tile in zip(self.scales.buffers, self.scales.tiles):
            insert(CopyScalesOp.make([buffer, tile, stage], []))

    def release(self) -> None:
        """After the MMA: the last one of a group releases its stage."""
        last, kind = self._is_last(), self.mainloop.tmem_ops.release
        insert_if(last, self.state.insert, lambda inside: self.state.at(inside).release(self.scales, kind))
        self.state.advance(self.scales, last)

    def _is_last(self) -> SSAValue | None:
        if self.steps == 1:
            return None
        insert, value = self.state.insert, self.value
        following = insert.binary("add", self.index, value(self.loop.step))
        continues = loop_continues_at(self.loop, following)
        continues.operands = [following, value(self.loop.upper)]
        begins = is_first_of_group(following, self.steps, insert)
        return insert.select(insert(continues), begins, insert(constant_i1(True)))


class FmhaMmaIssuer(MmaIssuer):
    """Issues the MMAs of all chained dots (attention), or of one tile of their rows: the MMAs of one tile run while the softmax of
    another one is computed.

    The softmax warps write the left operand of the second dot chunk by chunk along k (``epilogue.py``), and the MMAs of a
    chunk run while they compute the next one.
    """

    def __init__(self, mainloops: list[Mainloop], slice: ScalarSlice, rows: int | None = None):
        super().__init__(mainloops, slice)
        self.rows = rows

    def run(self, body: Block) -> Block:
        if self.rows is not None:
            self.mainloops = [mainloop.of_rows(self.rows) for mainloop in self.mainloops]
        return super().run(body)

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        again = [one.accumulator for one in self.mainloops if one.dot.rescaled and one.reuses_accumulator]
        accumulators = [accumulator for accumulator in accumulators_of(self.mainloops, place) if accumulator in again]
        return [*stages_of(self.mainloops, place), *lhs_chunks_of(self.mainloops, place), *accumulators]

    def pipelines_to_drain(self) -> list[Pipeline]:
        """No pair of CTAs executes chained dots."""
        return []

    def enter_loop(self, loop: TableOp, state: PipelineState) -> None:
        """The softmax warps initialize accumulators."""

    def exit(self, op: TableOp, state: PipelineState) -> None:
        """After a loop of dots its accumulator is complete, and after its last reader the left operand is released."""
        for mainloop in self._mainloops_of(op):
            if mainloop.dot.rescaled:
                self._commit_accumulator(mainloop, state)
        for stationary in stationary_operands_of(self.mainloops):
            if stationary.loops and self._readers(stationary)[-1] is op:
                state.release(stationary.stages, self.mainloops[0].tmem_ops.release)
                state.advance(stationary.stages)

    def _commit_accumulator(self, mainloop: Mainloop, state: PipelineState) -> None:
        """Commit after the last read of the accumulator: there may be no MMA in between to wait for."""
        accumulator, ops = mainloop.accumulator, mainloop.tmem_ops
        if mainloop.reuses_accumulator:
            state.acquire(accumulator, ops.acquire)
            state.advance(accumulator)
        state.insert(ops.commit.make([accumulator.pipeline], []))

    def _readers(self, stationary: StationaryOperand) -> list[Operation]:
        depth = len(stationary.enclosing_ops)
        return [one.enclosing_ops[depth] for one in self.mainloops if one.stationary is stationary]

    def emit(self, op: TableOp, state: PipelineState) -> None:
        for stationary in stationary_operands_of(self.mainloops):
            if op is stationary.operand_load.load:
                state.wait(stationary.stages)
                if not stationary.loops:
                    state.advance(stationary.stages)
        super().emit(op, state)

    def _issue(self, mainloop: Mainloop, stage: SSAValue, state: PipelineState) -> None:
        [load] = mainloop.operand_loads
        operands: Operands = {"rhs": load.buffer, "rhs_stage": stage}
        release = _release_of(mainloop, state)
        if mainloop.dot.rescaled:
            self._issue_k_chunks(mainloop, operands, release, state)
        else:
            operands |= release | {"lhs": unwrap(mainloop.stationary).operand_load.buffer}
            operands |= {"accumulate": state.insert(constant_i1(False)), "lhs_stage": state.insert.constant(0)}
            issue_tmem_mma(mainloop, state, operands | {"ready": mainloop.accumulator.pipeline})
        _advance(mainloop, state)

    def _issue_k_chunks(self, mainloop: Mainloop, operands: Operands, release: Operands, state: PipelineState) -> None:
        """Issue the MMAs of each chunk of the left operand once it is written. The last ones release the stage."""
        chunks = unwrap(mainloop.accumulator.lhs_written)
        operands["lhs"], operands["accumulate"] = mainloop.accumulator.lhs_tile, self._accumulate_flag(mainloop, state)
        for part in range(chunks.stage_count):
            state.wait(chunks)
            state.advance(chunks)
            if part > 0:
                operands["accumulate"] = state.insert(constant_i1(True))
            last = release if part + 1 == chunks.stage_count else {}
            issue_tmem_mma(mainloop, state, operands | last, chunk=(part, chunks.stage_count))

    def _accumulate_flag(self, mainloop: Mainloop, state: PipelineState) -> SSAValue:
        """Whether an MMA accumulates, or overwrites an accumulator that starts from zero."""
        loop = as_op(mainloop.loops[-1])
        if not is_zero(loop.initial[unwrap(rescaled_accumulator(mainloop.dot)).argument.index - 1]):
            return state.insert(constant_i1(True))
        return self.is_later_iteration(loop, state)


class TmemConsumer(Consumer):
    """A consumer of which a thread issues the MMAs whose accumulators are in tensor memory."""

    def __init__(self, mainloops: list[Mainloop]):
        super().__init__(mainloops)
        # By the left operands' tiles in tensor memory: what is stored there, whether dots have several, and whether accumulators stay there.
        self.lhs_in_tmem: dict[SSAValue, SSAValue | None] = {}
        self.has_several: dict[SSAValue, bool] = {}
        self.carries_beside: dict[SSAValue, bool] = {}
        for tile, readers in _readers_of_lhs_tiles(mainloops).items():
            self.has_several[tile] = len({lhs_of(one.dot) for one in readers}) > 1
            self.carries_beside[tile] = any(one.accumulator.carried_in_tmem for one in readers)

    def pipelines_to_drain(self) -> list[Pipeline]:
        """The warps of both CTAs of a pair release accumulators."""
        released = [one.accumulator for one in self.mainloops if one.releases_accumulator]
        return [*super().pipelines_to_drain(), *released]

    def _issue(self, mainloop: Mainloop, stage: SSAValue, state: PipelineState) -> None:
        """Issue an MMA in tensor memory, whose commit releases the stage."""
        dot, accumulator = mainloop.dot, mainloop.accumulator
        operands, attributes = mma_operands(mainloop, stage, state)
        if accumulator.lhs_tile is not None:
            operands["lhs"] = accumulator.lhs_tile
            self._store_lhs_in_tmem(mainloop)
        operands |= zip(SCALES, accumulator.scales)
        operands["scale_iteration"] = _store_scales(mainloop, stage, state.insert)
        operands["accumulate"] = self._accumulate_flag(mainloop, state.insert)
        operands["ready"] = accumulator.pipeline if accumulator.is_waited else None
        operands |= _release_of(mainloop, state)
        issue_tmem_mma(mainloop, state, operands, attributes)
        if mainloop.written is not None and mainloop.written is not mainloop.stages:
            state.release(mainloop.written, mainloop.tmem_ops.release)
            state.before(next_op(dot)).advance(mainloop.written)
        if accumulator.is_waited:
            # Where threads do not read it, only the next left operand waits for the MMA.
            late = state.before(terminator(parent_block(dot))) if accumulator.carried_in_tmem else state
            late.wait(accumulator)
            late.advance(accumulator)
        stays = accumulator.carried_in_tmem or accumulator.is_added_to
        dot.result.replace_all_uses_with(dot.acc if stays else _added_accumulator(mainloop, state))

    def _store_lhs_in_tmem(self, mainloop: Mainloop) -> None:
        """Write a left operand from registers to tensor memory where it is computed: once, if that is outside the loops and no dot has
        another one there.
        """
        value, tile, stored = mainloop.dot.lhs, unwrap(mainloop.accumulator.lhs_tile), lhs_of(mainloop.dot)
        if self.lhs_in_tmem.get(tile) is stored:
            return  # an earlier loop has stored it
        outside = [loop for loop in mainloop.loops if not is_defined_in_loop(value, loop)]
        place = outside[-1 if self.has_several[tile] else 0] if outside else mainloop.dot
        self.lhs_in_tmem[tile] = stored if outside else None
        insert_before(TmemStoreOp.make([value, tile, None, None, None], []), place)
        if self.carries_beside[tile]:
            insert_before(BarrierOp.make([], []), place)  # all threads have written it

    def _accumulate_flag(self, mainloop: Mainloop, insert: Inserter) -> SSAValue:
        """Whether an MMA accumulates into its tile."""
        dot, accumulator = mainloop.dot, mainloop.accumulator
        if _follows_all_threads(mainloop):
            insert(BarrierOp.make([], []))
        if not accumulator.carried_in_tmem:
            return insert(constant_i1(accumulator.adds))
        block, index = parent_block(dot), dot.acc.index - 1
        if not accumulator.is_added_to:
            self.carried_in_tmem.setdefault(block, []).append((index, mainloop))
        if accumulator.adds:
            return insert(constant_i1(True))
        # The first iteration overwrites an accumulator that starts from zero.
        loop = as_op(block.parent_op())
        starts_from_zero = is_zero(loop.initial[index])
        return insert(is_not_first_iteration(loop, block.args[0]) if starts_from_zero else constant_i1(True))

    def read_accumulator(self, mainloop: Mainloop, initial: SSAValue, loop: TableOp, state: PipelineState) -> SSAValue:
        """Write the initial accumulator before a loop, unless it is there; after it wait for the last MMA, and read the accumulator."""
        accumulator = mainloop.accumulator
        starts_from_zero = not mainloop.continues and store_initial_accumulator(initial, accumulator, loop)
        if not starts_from_zero or accumulator.shares_columns and not _is_behind_barrier(loop):
            insert_before(BarrierOp.make([], []), loop)
        if mainloop.releases_accumulator:
            state.before(loop).acquire(accumulator, mainloop.tmem_ops.acquire)
        if not accumulator.is_waited_each_iteration:
            state.insert(mainloop.tmem_ops.commit.make([accumulator.pipeline], []))
            state.wait(accumulator)
        result = state.insert(TmemLoadOp.make([accumulator.tile], [initial.type]))
        if mainloop.releases_accumulator:
            state.release(accumulator)
        if not accumulator.is_waited_each_iteration:
            state.advance(accumulator)
        if mainloop.reuses_accumulator and not mainloop.releases_accumulator:
            state.insert(BarrierOp.make([], []))  # before the next iteration overwrites what other threads still read
        return result


def _readers_of_lhs_tiles(mainloops: list[Mainloop]) -> dict[SSAValue, list[Mainloop]]:
    """The dots that read each left operand's tile in tensor memory."""
    found: dict[SSAValue, list[Mainloop]] = {}
    for one in mainloops:
        if one.tmem_accumulator is not None and (tile := one.accumulator.lhs_tile) is not None:
            found.setdefault(tile, []).append(one)
    return found


def _follows_all_threads(mainloop: Mainloop) -> bool:
    """Whether an MMA overwrites or reads what all threads read or have written, or releases a stage that they read."""
    dot, accumulator = mainloop.dot, mainloop.accumulator
    if mainloop.is_last_reader and any(reader.sources for reader in mainloop.readers):
        return True
    if accumulator.carried_in_tmem:
        return bool(accumulator.scales) and dot.scale_steps == 1
    return not accumulator.adds or is_lhs_computed_in_loop(dot)


def _is_behind_barrier(loop: Operation) -> bool:
    """Whether a barrier stands between a loop and all reads of accumulators before it in its block."""
    op = loop.prev_op
    while op is not None and not op.regions and not isinstance(op, BarrierOp | TmemLoadOp):
        op = op.prev_op
    return isinstance(op, BarrierOp)


def store_initial_accumulator(initial: SSAValue, accumulator: TmemAccumulator, loop: TableOp) -> bool:
    """Write the initial accumulator before a loop; return whether it is zero.

    Zeros are written only if the loop may have no trips, as the first MMA overwrites them.
    """
    starts_from_zero = is_zero(initial)
    never = insert_before(is_zero_trip(loop), loop) if starts_from_zero else None
    insert_before(TmemStoreOp.make([initial, accumulator.tile, never, None, None], [], accumulator=True), loop)
    return starts_from_zero


def _added_accumulator(mainloop: Mainloop, state: PipelineState) -> SSAValue:
    """The accumulator of one dot in registers, added to the dot's own accumulator operand."""
    dot = mainloop.dot
    result = state.insert(TmemLoadOp.make([mainloop.accumulator.tile], [dot.result.type]))
    if is_zero(dot.acc):
        return result
    kind = arith.AddiOp if str(tile_type(result).element_type) == "i32" else AddFOp
    return state.insert(kind.make([result, dot.acc], [result.type]))


def _store_scales(mainloop: Mainloop, stage: SSAValue, insert: Inserter) -> SSAValue | None:
    """Write block scales. The MMAs that used the stage before are complete, otherwise the stage would not be full
    again. Scales of a group of iterations are written by the first one; return the slot that the MMA uses.
    """
    dot, steps = mainloop.dot, mainloop.dot.scale_steps
    if steps == 1:
        _store_scale_tiles(mainloop, stage, insert)
        return None
    index = parent_block(dot).args[0]
    slot = insert.binary("urem", index, steps * tmem_scale_groups(steps, mainloop.stages.stage_count))

    def store(inside: Inserter) -> None:
        _store_scale_tiles(mainloop, group_index(slot, steps, inside), inside)
        inside(BarrierOp.make([], []))  # all threads have written them

    insert_if(is_first_of_group(index, steps, insert), insert, store)
    return slot


def _store_scale_tiles(mainloop: Mainloop, stage: SSAValue, insert: Inserter) -> None:
    values = (mainloop.dot.lhs_scale, mainloop.dot.rhs_scale)
    for line_dim, tile in enumerate(mainloop.accumulator.scales):
        attributes = {"line_dim": IntegerAttr(line_dim, i32)}
        insert(TmemStoreOp.make([values[line_dim], tile, None, stage, None], [], attributes))


def _release_of(mainloop: Mainloop, state: PipelineState) -> Operands:
    """The stage that the completion of an MMA releases, if it is the last one that reads it."""
    if not mainloop.is_last_reader:
        return {}
    return {"pipeline": mainloop.stages.pipeline, "token": state.tokens[mainloop.stages]}


def _advance(mainloop: Mainloop, state: PipelineState) -> None:
    if mainloop.is_last_reader:
        state.advance(mainloop.stages)


def issue_tmem_mma(
    mainloop: Mainloop,
    state: PipelineState,
    operands: Operands,
    attributes: dict[str, Attribute] | None = None,
    chunk: tuple[int, int] | None = None,
) -> None:
    """Issue an MMA whose accumulator is in tensor memory."""
    kind, (m, n) = mainloop.tmem_ops.issue, mainloop.dot.result.type.get_shape()
    given = operands_by_name(kind, operands | {"acc": mainloop.accumulator.tile})
    parts = {"chunk": chunk, "rows": mainloop.rows}
    values: dict[str, Any] = {name: part for name, part in parts.items() if part is not None}
    shape = (m, n, k_of(mainloop.dot))
    state.insert(kind.make(given, [], attributes or async_mma_attributes(mainloop), shape=shape, **values))
