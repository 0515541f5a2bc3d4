"""Make what agents share: stages in shared memory with their pipelines and tensor maps, sums in tensor memory."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import given, last_op
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import AllocTensorOp, AllocTmemOp, ConvertLayoutOp, CreatePipelineOp, CreateTmemOp
from ....ir.dialects.nv_tileas.types import BufferType, PipelineType, TmemType
from ....ir.dialects.op_definition import TableOperation
from ....ir.layouts.tmem_layout import ALL_COLUMNS, allocated_columns
from ...analysis.buffer_sharing import ring_keys
from ...analysis.mma_atom_selection import left_parts, scale_columns, tensor_memory_tiles
from ...analysis.resource_model import (
    BESIDE_STAGES,
    LEAST_STAGES,
    MOST_COPIED_STAGES,
    choose_stages,
    least_stages,
    most_stages,
    resident_ctas,
)
from ...analysis.scale_factor_groups import groups_copied, groups_multiplied
from ...analysis.scratch_memory_sizes import RING_ALIGNMENT, largest_scratch
from ...analysis.view_chains import is_inside, only_accumulates
from ...common.llvm_element_types import element_of
from ...job import Job
from ...shared_memory_fallbacks import SAVINGS
from ..chunked_layout_conversions import limit_parts
from ..rewriter import insert_before
from ..software_pipelining.cp_async_loads import copied_load
from ..tma_descriptors import descriptor_of
from .pipeline_buffers import Fetch, Left, Ring, ScaleRing, Stages, Sum, residents_of, sums_stay

SMALL_PART_BYTES = SAVINGS[1].part_bytes
SUM_BUFFERS = 2  # one is read while the next sum comes together in the other


class RingAllocation:
    """Shared memory and tensor memory of all rings, made at the end of what all agents share (``entry``)."""

    def __init__(self, func: Operation, job: Job, warps: int, rings: list[Ring], issues_apart: bool):
        self.func, self.job, self.warps, self.issues_apart = func, job, warps, issues_apart
        self.rings, self.groups = rings, _groups(rings)
        self.entry = func.regions[0].blocks[0]
        self.ctas = 1  # that share a multiprocessor
        self.keeps_sums = sums_stay(rings)
        # CTAs of chained products, one of which computes while another one multiplies.
        self.shares = self.keeps_sums or bool(residents_of(rings))

    def run(self, body: Block) -> None:
        """``body``: the program of the threads that compute."""
        stages = self._choose_stages(body)
        for resident in residents_of(self.rings):
            resident.allocated = self._create([resident.fetch], 1, 1 if self.keeps_sums else self.warps)
        for first, *others in self.groups:
            first.allocated = self._create_stages(first, stages)
            for ring in (first, *others):
                ring.allocated = first.stages
                ring.used_again = len(ring.loops) > 1 or bool(others)
                _tell(ring.fetches, ring.stages)
        if groups := [group for group in self.groups if group[0].consumers]:
            self._create_sums(groups, stages)

    def _scales_apart(self, ring: Ring) -> bool:
        """Whether warps of their own bring the scales of a product."""
        return self.issues_apart and bool(ring.copies)

    def _add(self, op: Operation) -> SSAValue:
        """At the end of what both agents share."""
        return insert_before(op, last_op(self.entry))

    # ---- stages in shared memory ---------------------------------------------------------------------
    def _choose_stages(self, body: Block) -> int:
        """As many as shared memory holds beside the scratch that is used while a ring turns; less of that at a time where
        a CTA would be lost for it."""
        stages, most = self._stages_beside(body), resident_ctas(self.func, body, self.job)
        if self.keeps_sums and self.ctas < most:
            self._limit_parts(body)
            stages = self._stages_beside(body)
        return stages

    def _limit_parts(self, body: Block) -> None:
        """Have tiles that change their layout while a ring turns pass in small parts."""
        for op in [op for top in self._early(body) for op in walk(top)]:
            if isinstance(op, ConvertLayoutOp):
                limit_parts(op, SMALL_PART_BYTES, self.job)

    def _stages_beside(self, body: Block) -> int:
        size = sum(group[0].stage_bytes for group in self.groups)
        scratch, most = self._scratch_beside(body), resident_ctas(self.func, body, self.job)
        scratch += sum(resident.fetch.box.tile_bytes + BESIDE_STAGES for resident in residents_of(self.rings))
        scratch += sum(_bytes_of_scales(group[0]) for group in self.groups if self._scales_apart(group[0]))
        copied = (
            sum(_scale_bytes(ring.product) for ring in self.rings if not self._scales_apart(ring))
            + self._copied_bytes()
        )
        least = least_stages(most) if self.shares else LEAST_STAGES
        # Others are not copied ahead where these tiles then would not be.
        for beside in dict.fromkeys((scratch + copied, scratch)):
            stages, self.ctas = choose_stages(size, beside, most, self.job, least)
            if stages >= least:
                break
        return max(1, min(stages, *(most_stages(ring.product) for ring in self.rings)))

    def _copied_bytes(self) -> int:
        """Shared memory for the rings in which all threads copy other operands of the same loops ahead (PipelineLoads)."""
        fetched = {fetch.load for ring in self.rings for fetch in ring.fetches}
        blocks = dict.fromkeys(ring.loops[-1].regions[0].blocks[0] for ring in self.rings)
        loads = (copied_load(op, block, self.warps) for block in blocks for op in block.ops if op not in fetched)
        return sum(MOST_COPIED_STAGES * load.bytes for load in loads if load is not None and not load.is_scale)

    def _scratch_beside(self, body: Block) -> int:
        """Bytes that are in use while rings hold tiles: until the last of their loops."""
        gone = {op for ring in self.rings for fetch in ring.fetches for op in fetch.chain}
        scratch = largest_scratch((op for top in self._early(body) for op in walk(top) if op not in gone), self.job)
        return scratch + BESIDE_STAGES * len(self.groups)

    def _early(self, body: Block) -> list[Operation]:
        """What is done before the last of the rings' loops, or in it."""
        last = [op for op in body.ops if any(op in ring.around for ring in self.rings)][-1]
        return [op for op in body.ops if op is last or op.is_before_in_block(last)]

    def _create_stages(self, ring: Ring, count: int) -> Stages:
        return self._create(ring.fetches, count, ring.consumers or self.warps)

    def _create(self, fetches: list[Fetch], count: int, consumers: int) -> Stages:
        descriptors, buffers = [], []
        for fetch in fetches:
            descriptors.append(self._descriptor(fetch))
            type = BufferType(fetch.element, IntAttr(count), SharedLayoutAttr(fetch.box.placement))
            buffers.append(self._add(AllocTensorOp.make([], [type])))
        pipeline = self._pipeline(count, consumers, sum(fetch.box.tile_bytes for fetch in fetches))
        stages = Stages(pipeline, buffers, descriptors)
        _tell(fetches, stages)
        return stages

    def _descriptor(self, fetch: Fetch) -> SSAValue:
        return descriptor_of(fetch.load.view, fetch.box, self.entry, last_op(self.entry))

    def _pipeline(self, stages: int, consumers: int, bytes: int, producers: int | None = None) -> SSAValue:
        attributes = {"consumers": IntegerAttr(consumers, i32), "bytes": IntegerAttr(bytes, i32)}
        if producers is not None:
            attributes["producers"] = IntegerAttr(producers, i32)
        return self._add(CreatePipelineOp.make([], [PipelineType(IntAttr(stages))], attributes))

    # ---- sums in tensor memory -----------------------------------------------------------------------
    def _create_sums(self, groups: list[list[Ring]], stages: int) -> None:
        rings = [group[0] for group in groups]
        tiles = [_tensor_tiles(ring, self.warps) for ring in rings]
        scales = [self._scale_words(ring, stages) for ring in rings]
        buffers, columns = self._choose_columns(tiles, scales)
        tensor_memory = _Columns(self.entry, self._add(CreateTmemOp.make([], [TmemType(IntAttr(columns))])))
        for group, (left, accumulators), words in zip(groups, tiles, scales):
            # A left operand is written over the sum that it is computed from.
            operand = tensor_memory.again(left) if group[0].product.rescaled else None
            tile = tensor_memory.take(buffers * accumulators)
            operand = tensor_memory.take(left) if left and operand is None else operand
            sum = self._sum(group[0], tile, operand, buffers)
            places = list(map(tensor_memory.take, words))
            scaled = self._create_scales(group[0], places) if self._scales_apart(group[0]) else None
            sum.scales.extend(places if scaled is None else ())
            for ring in group:
                ring.summed, ring.scaled = sum, scaled

    def _create_scales(self, ring: Ring, tiles: list[SSAValue]) -> ScaleRing:
        """Stages of scales that warps of their own fill, one for each operand; a commit empties them."""
        groups, buffers = ring.scale_groups, []
        for copy, value in zip(ring.copies, (ring.product.lhs_scale, ring.product.rhs_scale), strict=True):
            placement = SharedLayoutAttr(copy.columns.placement)
            type = BufferType(value.type.element_type, IntAttr(groups), placement)
            buffers.append(self._add(AllocTensorOp.make([], [type])))
        return ScaleRing(self._pipeline(groups, 1, 0, producers=len(buffers)), buffers, tiles)

    def _choose_columns(self, tiles: list[tuple[int, int]], scales: list[list[int]]) -> tuple[int, int]:
        """(buffers of each sum, columns of all): two buffers where the CTAs of a multiprocessor have room for them."""
        sums = sum(accumulators for _, accumulators in tiles)
        others = sum(left for left, _ in tiles if not self.keeps_sums) + sum(map(sum, scales))
        again = self.issues_apart and any(len(ring.loops) > 1 for ring in self.rings)
        if again and self.ctas * (columns := allocated_columns(SUM_BUFFERS * sums + others)) <= ALL_COLUMNS:
            return SUM_BUFFERS, columns
        return 1, allocated_columns(sums + others)

    def _scale_words(self, ring: Ring, stages: int) -> list[int]:
        """Columns of tensor memory for the scales of each operand, of all stages."""
        if ring.product.lhs_scale is None:
            return []
        steps = ring.product.scale_steps
        groups = ring.scale_groups if self._scales_apart(ring) else groups_multiplied(steps, stages)
        return [groups * columns.words for columns in scale_columns(ring.product, self.warps)]

    def _sum(self, ring: Ring, tile: SSAValue, operand: SSAValue | None, buffers: int) -> Sum:
        running = only_accumulates(ring.product) or ring.product.rescaled
        waited = only_accumulates(ring.product) and operand is not None and is_inside(ring.product.lhs, ring.loops[-1])
        kept = ring.product.rescaled
        pipeline = self._pipeline(buffers, self.warps if self.issues_apart or kept else 1, 0)
        written = self._written(ring) if kept else None
        return Sum(running, waited, pipeline, tile, operand, written=written)

    def _written(self, ring: Ring) -> Left:
        parts = left_parts(ring.product)
        return Left(self._pipeline(parts, 1, 0, producers=self.warps), parts)


class _Columns:
    """An allocation of tensor memory, handed out from its first column on."""

    def __init__(self, entry: Block, memory: SSAValue):
        self.entry, self.memory, self.next, self.last = entry, memory, 0, 0

    def take(self, columns: int) -> SSAValue:
        self.last, self.next = self.next, self.next + columns
        return self.again(columns)

    def again(self, columns: int) -> SSAValue:
        """The first of the columns that were taken last."""
        attributes = {"column": IntegerAttr(self.last, i32)}
        tile = AllocTmemOp.make([self.memory], [TmemType(IntAttr(columns))], attributes)
        return insert_before(tile, last_op(self.entry))


def _tell(fetches: list[Fetch], stages: Stages) -> None:
    """What is fetched learns where it comes to lie."""
    for fetch, buffer, descriptor in zip(fetches, stages.buffers, stages.descriptors):
        fetch.buffer, fetch.descriptor = buffer, descriptor


def _groups(rings: list[Ring]) -> list[list[Ring]]:
    """The rings that use the same stages, each in a loop of its own, in program order."""
    keys = ring_keys((ring.product, [fetch.index for fetch in ring.fetches]) for ring in rings)
    groups: dict[Hashable, list[Ring]] = {}
    for key, ring in zip(keys, rings):
        groups.setdefault(key, []).append(ring)
    return list(groups.values())


def _tensor_tiles(ring: Ring, warps: int) -> tuple[int, int]:
    """Columns of tensor memory for the left operand (0 where it is fetched) and for the accumulators."""
    left, accumulators = tensor_memory_tiles(ring.product, warps)
    fetched = ring.resident is not None or any(fetch.index == 0 for fetch in ring.fetches)
    return 0 if fetched else given(left).total_words, accumulators.total_words


def _bytes_of_scales(ring: Ring) -> int:
    """Shared memory for the scales of a product that warps of their own bring."""
    bytes = (copy.columns.placement.size_bytes for copy in ring.copies)
    return BESIDE_STAGES + sum(ring.scale_groups * size for size in bytes)


def _scale_bytes(product: TableOperation) -> int:
    """Shared memory for the rings in which all threads copy scales ahead (PipelineLoads)."""
    scales = [] if product.lhs_scale is None else [product.lhs_scale, product.rhs_scale]
    bytes = (prod(value.type.get_shape()) * element_of(value.type).bytes for value in scales)
    groups = groups_copied(product.scale_steps, MOST_COPIED_STAGES)
    return sum(-(-groups * size // RING_ALIGNMENT) * RING_ALIGNMENT for size in bytes)
