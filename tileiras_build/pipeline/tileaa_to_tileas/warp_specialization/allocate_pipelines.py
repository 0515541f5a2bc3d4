"""Allocate what partitions share: stages with their pipelines and TMA descriptors, and accumulators in tensor memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isfinite

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ....core.errors import InternalError
from ....ir.casting import as_op, defining_op, terminator, tile_type, unwrap
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import (
    AllocTensorOp,
    ConvertLayoutOp,
    CreatePipelineOp,
    PipelineOfWarpgroupOp,
)
from ....ir.dialects.nv_tileas.types import BufferType, PipelineType
from ....ir.layouts.tmem_layout import ALL_COLUMNS, PAIR, allocated_columns
from ...analysis.enclosing_control_flow import is_defined_in_loop, only_accumulates
from ...analysis.resource_model import (
    MAX_CP_ASYNC_STAGES,
    MIN_STAGES,
    STAGES_SMEM_OVERHEAD,
    choose_stages,
    ctas_per_sm,
    max_stages,
    min_stages,
)
from ...analysis.scale_stage_counts import tmem_scale_groups
from ...analysis.scratch_memory_sizes import chunk_limit, converts_only_stored, largest_scratch
from ...common.optimization_hints import hint
from ...job import Job
from ...mma.family import family_of
from ...mma.shared_columns import TmemColumns, accumulator_under, share_columns
from ...mma.tmem_tiles import lhs_k_chunks, scale_columns, tmem_tiles
from ...schedule.choose import Candidate, Limit, Resource, choose
from ...schedule.schedule import CHUNK_BYTES
from ...schedule.schedule_file import requested
from ...schedule.shared_memory import limit_chunks, smaller_chunks
from ...schedule.stage_counts import StageBudget
from ..chunked_layout_conversions import limit_conversion_chunks
from ..op_insertion import insert_before
from ..software_pipelining.cp_async_loads import cp_async_load
from ..tma_descriptors import descriptor_of
from .operand_tiles import TmaOperandLoad
from .pipelines import (
    LhsChunks,
    Mainloop,
    Pipeline,
    ScaleStages,
    TmemAccumulator,
    accumulators_stay_in_tmem,
    query_tiles_of,
    stationary_operands_of,
)
from .shared_stages import (
    accumulator_sharing_groups,
    continued_mainloop,
    most_tiles,
    set_stages,
    stage_sharing_groups,
    stays_in_tmem,
    summed_in_tmem,
)
from .stage_limits import (
    bytes_of_copied_scales,
    bytes_of_loaded_scales,
    bytes_written_in_turn,
    max_stages_of,
    min_stages_of,
    stages_of_rings,
)
from .tmem_column_allocator import ColumnAllocator, columns_of, columns_of_staged, most_staged
from .united_rings import STAGES_IN_TIME, UnitedRing, places_in, united_ring

SMALL_CHUNK_BYTES = CHUNK_BYTES[1]
# More CTAs than others have, by `estimate`; with two stages, tiles arrive too late.
MOST_CTAS_THAT_WAIT, STAGES_OF_MANY_CTAS = 4, 3
ACCUMULATOR_BUFFERS = 2  # one is read while MMAs accumulate into the other


class PipelineAllocation:
    """Shared memory and tensor memory of all pipelines, created in the block that all partitions share (``entry``)."""

    def __init__(self, func: Operation, job: Job, warps: int, mainloops: list[Mainloop], has_mma_issuer: bool):
        self.func, self.job, self.warps, self.has_mma_issuer = func, job, warps, has_mma_issuer
        self.mainloops, self.groups = mainloops, stage_sharing_groups(mainloops)
        self.once = {group[0]: 1 for group in self.groups if most_tiles(group) == 1}  # stages that one tile ever fills
        self.accumulators = [group for group in accumulator_sharing_groups(mainloops) if group[0].consumers]
        self.tiles = [
            TmemColumns([one.dot for one in group], *self._tmem_columns_of(group[0])) for group in self.accumulators
        ]
        share_columns(self.tiles)
        self.entry = func.regions[0].blocks[0]
        self.ctas = 1  # that share an SM
        self.accumulators_stay = accumulators_stay_in_tmem(mainloops)
        self.query_tiles = query_tiles_of(mainloops)
        # CTAs of chained dots: one computes the softmax while another's MMAs execute.
        self.shares_smem = self.accumulators_stay or bool(stationary_operands_of(mainloops))

    def run(self, body: Block) -> None:
        """``body``: the program of the consumer partition."""
        count = self._choose_stages(body)
        for stationary in stationary_operands_of(self.mainloops):
            readers = self.query_tiles if self.accumulators_stay else self.warps
            stationary.loaded = self._create([stationary.operand_load], 1, readers)
        counts = self._stages_of_groups(count)
        ring = self._united_ring(counts)
        for group in sorted(self.groups, key=lambda group: ring is None or group[0] is not ring.first):
            self._create_group(group, counts[group[0]], ring)
        if self.accumulators:
            self._create_accumulators(self.accumulators)

    def _create_group(self, group: list[Mainloop], count: int, ring: UnitedRing | None) -> None:
        """The stages of a group, its own or those of the ring that it shares with others."""
        first, *others = group
        if ring is not None and first in ring.members[1:]:
            stages = self._join(ring, first)
        else:
            stages = self._create_stages(first, ring.stages if ring is not None and first is ring.first else count)
        for one in others:
            self._share_buffers(first, one)
        written = self._create_written(first, stages) if first.is_written_by_pair else None
        for one in group:
            one.written = written
            set_stages(one, stages, is_reused=len(one.loops) > 1 or bool(others))

    def _united_ring(self, counts: dict[Mainloop, int]) -> UnitedRing | None:
        """The ring of tiles of several loops; none where the schedule says how many stages each has."""
        if requested(self.job).num_stages is not None:
            return None
        bytes = self.job.target.shared_memory_of(self.ctas) - self.used_bytes
        return united_ring(self.groups, counts, bytes, unwrap(self.budget.cap))

    def _join(self, ring: UnitedRing, mainloop: Mainloop) -> Pipeline:
        """The stages of a ring, in whose bytes a mainloop has buffers of the forms of its tiles."""
        stages = ring.first.stages
        for load, place in zip(mainloop.tma_loads, unwrap(places_in(ring.first, mainloop)), strict=True):
            load.descriptor = self._descriptor(load)
            load.buffer = self._buffer(load, stages.stage_count, unwrap(ring.first.tma_loads[place].buffer))
        self._create_stored(mainloop, stages.stage_count)
        return stages

    def _add(self, op: Operation) -> SSAValue:
        """Insert an operation at the end of the block that all partitions share."""
        return insert_before(op, terminator(self.entry))

    # ---- stages in shared memory ---------------------------------------------------------------------
    def _choose_stages(self, body: Block) -> int:
        """As many stages as shared memory holds beside the scratch that is used while a mainloop is live. The scratch is
        limited to chunks where a CTA per SM would be lost otherwise.
        """
        self._limit_scratch(body)
        if self.accumulators_stay and self.ctas < ctas_per_sm(self.func, body, self.job):
            self._limit_chunks(body)
            self._stages_with_scratch(body)
        budget, wanted = self._budget_of_pair(), requested(self.job).num_stages
        return choose(self.func, self.job, "num_stages", budget.candidates(budget.fitting, wanted, self.job))

    def _stages_of_groups(self, stages: int) -> dict[Mainloop, int]:
        """The stages of each pipeline, by its first reader: more than ``stages`` of some where shared memory is left."""
        firsts = [group[0] for group in self.groups if group[0] not in self.once]
        if stages != self.budget.fitting:
            return dict.fromkeys(firsts, stages) | self.once
        used, target = self.used_bytes + stages * self.budget.size, self.job.target
        ctas = target.ctas_with(used, MOST_CTAS_THAT_WAIT) if stages < MIN_STAGES else self.ctas
        return stages_of_rings(firsts, stages, target.shared_memory_of(ctas) - used) | self.once

    def _budget_of_pair(self) -> StageBudget:
        """The budget, where each CTA of a pair loads half of the right operand (``use_two_cta_mma.py``): more stages fit."""
        budget, first = self.budget, self.mainloops[0]
        if not first.dot.pair or first.stored:
            return budget
        size, cap = budget.size - first.operand_loads[1].box.tile_bytes // PAIR, max_stages(first.dot)
        fitting = max(budget.fitting, min(cap, budget.fitting * budget.size // size))
        return replace(budget, fitting=fitting, size=size, cap=cap)

    def _limit_scratch(self, body: Block) -> None:
        """Convert layouts in smaller chunks until one stage fits beside scratch. Stored results of asynchronous MMAs, which read a stage while
        threads go on, go through small chunks for ``STAGES_IN_TIME``. Where no size fits, tiles of loops one after another share bytes.
        """
        func = as_op(self.func)
        sizes = [chunk_limit(func), *smaller_chunks(func, self.job)]
        is_async = not self.shares_smem and all(family_of(one.dot).async_ops for one in self.mainloops)
        small = is_async and converts_only_stored(self._live_ops(body), self.job)
        tried = [(STAGES_IN_TIME, size) for size in sizes if small and (size or SMALL_CHUNK_BYTES) >= SMALL_CHUNK_BYTES]
        tried += [(1, size) for size in sizes]
        several = [(least, size, False) for least, size in tried] + [(1, size, True) for size in sizes]
        fitting = (
            (size, in_turn)
            for least, size, in_turn in several
            if self._stages_with_scratch(body, size, in_turn) >= least
        )
        size, in_turn = next(fitting, (sizes[-1], False))
        if size != chunk_limit(func):
            limit_chunks(func, unwrap(size))
        self._stages_with_scratch(body, in_turn=in_turn)

    def _limit_chunks(self, body: Block) -> None:
        """Convert layouts in small chunks while a mainloop is live."""
        for op in [op for top in self._ops_while_live(body) for op in walk(top)]:
            if isinstance(op, ConvertLayoutOp):
                limit_conversion_chunks(op, SMALL_CHUNK_BYTES, self.job)

    def _stages_with_scratch(self, body: Block, chunks: int | None = None, in_turn: bool = False) -> int:
        """The stages beside scratch in ``chunks`` of so many bytes. ``in_turn``: one, where what threads write in turn shares bytes."""
        firsts = [group[0] for group in self.groups]
        several = [one for one in firsts if not (one.is_written_behind_wait or one in self.once)] or firsts
        size = sum(first.stage_bytes for first in several)
        scratch = self._concurrent_scratch(body, chunks or chunk_limit(self.func))
        most = ctas_per_sm(self.func, body, self.job)
        stationary = [one.operand_load.box for one in stationary_operands_of(self.mainloops)]
        scratch += sum(box.tile_bytes + STAGES_SMEM_OVERHEAD for box in stationary)
        scratch += sum(mainloop.resident_bytes for mainloop in self.mainloops)
        scratch += sum(first.stage_bytes for first in firsts if first not in several)
        scratch += sum(bytes_of_loaded_scales(group[0]) for group in self.groups if group[0].scale_loads)
        copied = sum(bytes_of_copied_scales(one.dot) for one in self.mainloops if not one.scale_loads)
        copied += self._copied_bytes()
        limits = partial(min_stages_of, ctas=most, warps=self.warps, target=self.job.target, has_others=bool(self.once))
        min_count = min_stages(most) if self.shares_smem else max(map(limits, self.mainloops))
        if self._overlaps_ctas():
            min_count = 1 if self._one_stage_is_asked_for() else min(min_count, STAGES_OF_MANY_CTAS)
        self.used_bytes = scratch + copied
        # Otherwise there would be no shared memory to copy other tiles ahead.
        for used in dict.fromkeys((self.used_bytes, scratch)):
            stages, self.ctas = choose_stages(size, used, self._most_ctas(most, size, used, body), self.job, min_count)
            if stages >= min_count:
                break
        if in_turn and not stages:
            used -= bytes_written_in_turn(self.groups, self.func)
            stages, self.ctas = min(1, choose_stages(size, used, 1, self.job, 1)[0]), 1
        cap = min(*map(max_stages_of, self.mainloops), most_staged(self.mainloops, self.tiles, self.ctas))
        if isfinite(tiles := max(map(most_tiles, self.groups))):
            cap = min(cap, int(tiles))
        self.budget = StageBudget(max(1, min(stages, cap)), size, used, self.ctas, cap)
        return min(stages, cap)

    def _most_ctas(self, few: int, size: int, used_bytes: int, body: Block) -> int:
        """CTAs per SM, ``few`` or more: where threads wait for a dot in each iteration, as they read its result, others run meanwhile."""
        if not self._overlaps_ctas():
            return few
        most = ctas_per_sm(self.func, body, self.job, MOST_CTAS_THAT_WAIT)
        if self.accumulators:
            most = min(most, ALL_COLUMNS // allocated_columns(sum(sum(one.own) for one in self.tiles)))
        stages, ctas = choose_stages(size, used_bytes, most, self.job, STAGES_OF_MANY_CTAS)
        return max(few, ctas) if stages >= STAGES_OF_MANY_CTAS else few

    def _one_stage_is_asked_for(self) -> bool:
        """Whether a hint asks for several CTAs per SM, of which each loads the tile of a dot while another one's is read."""
        return len(self.groups) > 1 and (hint(self.func, self.job, "occupancy") or 1) > 1

    def _overlaps_ctas(self) -> bool:
        """Whether threads wait for a dot in each iteration, so that other CTAs hide the latency of loads, too."""
        waits = not all(only_accumulates(one.dot) for one in self.mainloops)
        return waits and not (self.shares_smem or self.has_mma_issuer)

    def _copied_bytes(self) -> int:
        """Shared memory for the rings of other operands that all threads copy ahead in the same loops
        (SoftwarePipelineLoads).
        """
        loaded = {one.load for mainloop in self.mainloops for one in mainloop.loads}
        blocks = dict.fromkeys(mainloop.loops[-1].regions[0].blocks[0] for mainloop in self.mainloops)
        loads = (cp_async_load(op, block, self.warps) for block in blocks for op in block.ops if op not in loaded)
        return sum(MAX_CP_ASYNC_STAGES * load.bytes for load in loads if load is not None and not load.is_scale)

    def _concurrent_scratch(self, body: Block, chunks: int | None) -> int:
        """Bytes of scratch in use while rings are live, up to the last of their loops, with tiles in ``chunks`` of so many bytes."""
        return largest_scratch(self._live_ops(body), self.job, chunks) + STAGES_SMEM_OVERHEAD * len(self.groups)

    def _ops_while_live(self, body: Block) -> list[Operation]:
        """The operations before the last loop of the rings, and in it."""
        last = [op for op in body.ops if any(op in mainloop.enclosing_ops for mainloop in self.mainloops)][-1]
        return [op for op in body.ops if op is last or op.is_before_in_block(last)]

    def _live_ops(self, body: Block) -> list[Operation]:
        """All operations in these, but those that are part of what TMA loads."""
        loads = (operand_load for mainloop in self.mainloops for operand_load in mainloop.operand_loads)
        gone = {op for operand_load in loads for op in operand_load.chain}
        return [op for top in self._ops_while_live(body) for op in walk(top) if op not in gone]

    def _create_stages(self, mainloop: Mainloop, count: int) -> Pipeline:
        arrivals = self.query_tiles if mainloop.consumers else self.warps
        stages = self._create(mainloop.tma_loads, mainloop.pipeline_stages(count), arrivals)
        self._create_stored(mainloop, count)
        return stages

    def _create_stored(self, mainloop: Mainloop, count: int) -> None:
        """The buffers of operands that threads write."""
        for reader, stored in mainloop.stored_of_stage:
            element = tile_type(reader.dot.operands[stored.index]).element_type
            type = BufferType(element, IntAttr(reader.buffers_of(stored, count)), SharedLayoutAttr(stored.placement))
            own = None if stored.first else self._add(AllocTensorOp.make([None], [type]))
            stored.buffer = own or unwrap(stored.first).buffer

    def _create_written(self, mainloop: Mainloop, stages: Pipeline) -> Pipeline:
        """The pipeline of the operands that threads write; one of its own where TMA fills the stages, too."""
        count = stages.stage_count
        written = Pipeline(self._pipeline(count, 1, 0)) if mainloop.loads else stages
        created = as_op(defining_op(written.pipeline))
        created.pair, created.writers = True, self.warps
        if mainloop.reads_stages_of_pair:
            as_op(defining_op(stages.pipeline)).in_each = True
        return written

    def _create(self, operand_loads: list[TmaOperandLoad], count: int, consumers: int) -> Pipeline:
        for operand_load in operand_loads:
            operand_load.descriptor = self._descriptor(operand_load)
            operand_load.buffer = self._buffer(operand_load, count)
        bytes = sum(operand_load.box.tile_bytes for operand_load in operand_loads)
        return Pipeline(self._pipeline(count, consumers, bytes))

    def _buffer(self, operand_load: TmaOperandLoad, count: int, over: SSAValue | None = None) -> SSAValue:
        """A buffer of the tiles of a load, in the bytes of another one or in its own."""
        type = BufferType(operand_load.element, IntAttr(count), SharedLayoutAttr(operand_load.box.placement))
        return self._add(AllocTensorOp.make([over], [type]))

    def _share_buffers(self, first: Mainloop, other: Mainloop) -> None:
        """Let the loads of a mainloop fill the buffers of another one, each with a descriptor of its own array."""
        buffers = {place: load.buffer for place, load in first.loads_by_operand.items()}
        for place, load in other.loads_by_operand.items():
            load.buffer, load.descriptor = buffers[place], self._descriptor(load)

    def _descriptor(self, operand_load: TmaOperandLoad) -> SSAValue:
        return descriptor_of(operand_load.load.view, operand_load.box, self.entry, terminator(self.entry))

    def _pipeline(self, stages: int, consumers: int, bytes: int, producers: int | None = None) -> SSAValue:
        attributes = {"consumers": IntegerAttr(consumers, i32), "bytes": IntegerAttr(bytes, i32)}
        if producers is not None:
            attributes["producers"] = IntegerAttr(producers, i32)
        return self._add(CreatePipelineOp.make([], [PipelineType(IntAttr(stages))], attributes))

    # ---- accumulators in tensor memory -----------------------------------------------------------------------
    def _create_accumulators(self, groups: list[list[Mainloop]]) -> None:
        rings = [group[0] for group in groups]
        scales = list(map(self._scale_columns, rings))
        buffers, columns = self._choose_columns([one.own for one in self.tiles], scales)
        tensor_memory = ColumnAllocator(self.entry, columns, self.mainloops)
        for group, of_group, words in zip(groups, self.tiles, scales):
            for mainloop in group:
                mainloop.reuses_accumulator = len(mainloop.loops) > 1 or len(group) > 1
            left, accumulators = of_group.own
            # A left operand overwrites the accumulator that it is computed from, each tile of rows its own.
            operand = tensor_memory.reuse_last() if group[0].dot.rescaled else None
            before = self._added_to(group[0]) or self._first_of(of_group.shared_accumulators)
            for mainloop in group:
                mainloop.continues = continued_mainloop(mainloop, self.mainloops) is not None
            tile = tensor_memory.allocate(buffers * accumulators) if before is None else before.accumulator.tile
            if (shared := self._first_of(of_group.shared_left)) is not None:
                operand = shared.accumulator.lhs_tile
            elif left and operand is None:
                operand = tensor_memory.allocate(left)
            elif group[0].dot.overlaid:
                operand = self._over_accumulator(group[0], tensor_memory)
            acc = self._accumulator(group[0], tile, operand, buffers)
            acc.shares_columns = of_group.shares_columns
            places = list(map(tensor_memory.allocate, words))
            scaled = self._create_scales(group[0], places) if group[0].scale_loads else None
            acc.scales.extend(places if scaled is None else ())
            for mainloop in group:
                mainloop.tmem_accumulator, mainloop.scale_buffers = acc, scaled

    def _over_accumulator(self, mainloop: Mainloop, tensor_memory: ColumnAllocator) -> SSAValue:
        """The columns of a left operand, over those of the accumulator that it is computed from."""
        left, under = unwrap(tmem_tiles(mainloop.dot, self.warps)[0]), accumulator_under(mainloop.dot)
        below = next(one.accumulator.tile for one in self.mainloops if one.dot is under)
        return tensor_memory.over(below, left.groups_n)

    def _first_of(self, columns: TmemColumns | None) -> Mainloop | None:
        """The mainloop of the first of the dots that have columns."""
        return next((one for one in self.mainloops if columns is not None and one.dot is columns.dots[0]), None)

    def _create_scales(self, mainloop: Mainloop, tiles: list[SSAValue]) -> ScaleStages:
        """Stages of block scales, one buffer for each operand. Scale load warps fill them, and a commit releases them."""
        groups, buffers = mainloop.scale_groups, []
        for copy, value in zip(mainloop.scale_loads, (mainloop.dot.lhs_scale, mainloop.dot.rhs_scale), strict=True):
            placement = SharedLayoutAttr(copy.columns.placement)
            type = BufferType(value.type.element_type, IntAttr(groups), placement)
            buffers.append(self._add(AllocTensorOp.make([None], [type])))
        return ScaleStages(self._pipeline(groups, 1, 0, producers=len(buffers)), buffers, tiles)

    def _choose_columns(self, tiles: list[tuple[int, int]], scales: list[list[int]]) -> tuple[int, int]:
        """(buffers of each accumulator, columns of all): two buffers where those of all CTAs of an SM fit."""
        acc_columns = sum(accumulators for _, accumulators in tiles)
        others = sum(left for left, _ in tiles if not self.accumulators_stay) + sum(map(sum, scales))
        others += columns_of_staged(self.mainloops)
        again = self.has_mma_issuer and any(len(mainloop.loops) > 1 for mainloop in self.mainloops)
        candidates = [Candidate(1)]
        if again:
            columns = self.ctas * allocated_columns(ACCUMULATOR_BUFFERS * acc_columns + others)
            text = f"{self.ctas} CTAs per SM need {columns} columns, an SM has {ALL_COLUMNS}"
            limit = Limit(Resource.TENSOR, text) if columns > ALL_COLUMNS else None
            candidates.insert(0, Candidate(ACCUMULATOR_BUFFERS, limit))
        buffers = choose(self.func, self.job, "accumulator_buffers", candidates)
        if (needed := buffers * acc_columns + others) > ALL_COLUMNS:
            raise InternalError("tensor-memory", f"the dots of a kernel need {needed} columns, an SM has {ALL_COLUMNS}")
        return buffers, allocated_columns(needed)

    def _scale_columns(self, mainloop: Mainloop) -> list[int]:
        """Columns of tensor memory for the scales of each operand, of all stages."""
        if mainloop.dot.lhs_scale is None:
            return []
        steps, stages = mainloop.dot.scale_steps, mainloop.stages.stage_count
        groups = mainloop.scale_groups if mainloop.scale_loads else tmem_scale_groups(steps, stages)
        return [groups * columns.tmem_columns for columns in scale_columns(mainloop.dot, self.warps)]

    def _accumulator(
        self, mainloop: Mainloop, tile: SSAValue, operand: SSAValue | None, buffers: int
    ) -> TmemAccumulator:
        summed, stays = summed_in_tmem(mainloop, self.mainloops), stays_in_tmem(mainloop, self.mainloops)
        waited = stays and operand is not None and is_defined_in_loop(mainloop.dot.lhs, mainloop.loops[-1])
        rescaled, warps = mainloop.dot.rescaled, self.warps // self.query_tiles
        by_warps = self.has_mma_issuer or rescaled or mainloop.releases_accumulator
        parts = []
        for _ in range(self.query_tiles):
            pipeline = self._pipeline(buffers, warps if by_warps else 1, 0)
            written = LhsChunks(self._pipeline(lhs_k_chunks(mainloop.dot), 1, 0, producers=warps)) if rescaled else None
            part = TmemAccumulator(pipeline, stays or rescaled, waited, tile, operand, lhs_written=written)
            part.adds, part.is_added_to = summed[0] is not mainloop.dot, summed[-1] is not mainloop.dot
            parts.append(part)
        return parts[0] if len(parts) == 1 else self._of_warpgroups(parts)

    def _added_to(self, mainloop: Mainloop) -> Mainloop | None:
        """The mainloop of the dot to whose accumulators a dot adds."""
        dots = summed_in_tmem(mainloop, self.mainloops)
        before = dots[: dots.index(mainloop.dot)]
        if not before:
            return continued_mainloop(mainloop, self.mainloops)
        return next((one for one in self.mainloops if one.dot is before[-1]), None)

    def _tmem_columns_of(self, mainloop: Mainloop) -> tuple[int, int]:
        """Columns of tensor memory for the left operand (0 where it is loaded) and for accumulators of its own."""
        left, accumulators = columns_of(mainloop, self.warps)
        return left, accumulators if self._added_to(mainloop) is None else 0

    def _of_warpgroups(self, parts: list[TmemAccumulator]) -> TmemAccumulator:
        """The accumulators of all tiles of rows, with the pipelines of a thread's warpgroup."""
        written = [part.lhs_written for part in parts if part.lhs_written is not None]
        chunks = LhsChunks(self._of_warpgroup(written)) if written else None
        return replace(parts[0], pipeline=self._of_warpgroup(parts), lhs_written=chunks, parts=parts)

    def _of_warpgroup(self, of_each: Sequence[Pipeline]) -> SSAValue:
        pipelines = [one.pipeline for one in of_each]
        return self._add(PipelineOfWarpgroupOp.make([pipelines], [pipelines[0].type]))
