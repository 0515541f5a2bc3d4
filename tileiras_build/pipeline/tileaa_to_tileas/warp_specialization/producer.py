"""The producers: a warp that loads the tiles of dots by TMA, and two warps that load block scales, one for each operand.

A scale loader loads lines of whole vectors, for several iterations at once, and stores them to shared memory in the
order of tensor memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, defining_op, parent_block
from ....ir.dialects.nv_tileas.ops import AsyncTiledTmaLoadOp, StoreScalesOp
from ....ir.dialects.op_definition import TableOp, location_of
from ....ir.dialects.op_traits import is_function
from ....ir.layouts import LinearLayout, ScaleColumns
from ....ir.layouts.linear_layout import memory_bits
from ....ir.layouts.tmem_layout import COPIED_REGISTERS, LANES
from ...analysis.access_vectorization import SECTOR_BYTES, VECTOR_BYTES, ViewAccessInfo
from ...analysis.axis_info import AxisAnalysis
from ...analysis.dot_operand_chains import dot_operand_load
from ...analysis.integer_ranges import BoundsCheck
from ...analysis.op_queries import is_outside, is_pure, may_divide_by_zero
from ...analysis.scalar_slice import ScalarSlice, is_unordered_token
from ...analysis.scale_lines import FIRST_SCALE, is_tiled_without_gaps
from ...analysis.scale_stage_counts import is_canonical_loop, scale_groups_per_load
from ...common.llvm_element_types import element_of
from ...mma.family import Storage, family_of
from ...mma.tmem_tiles import scale_columns
from ..layout_assignment.layout_inference_rules import operand_layout
from ..layout_assignment.view_chain_layouts import layout_through_view, with_layout
from ..op_insertion import Inserter, insert_if, is_first_of_group, loop_continues_at
from ..software_pipelining.cp_async_loads import is_computable_for_iteration
from ..speculation_guards import speculated
from ..subtile_indices import relax_checks_past_end
from .operand_tiles import TmaOperandLoad
from .partition_slice import PartitionSlice
from .pipelines import (
    Mainloop,
    Pipeline,
    PipelineState,
    StationaryOperand,
    scales_of,
    stages_of,
    stationary_operands_of,
)

SIDES = (0, 1)  # the operands of a dot: each has a warp for its scales


class Producer(PartitionSlice):
    """Loads the tiles of all mainloops."""

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        return stages_of(self.mainloops, place)

    def pipelines_to_drain(self) -> list[Pipeline]:
        drained = [one for one in self.mainloops if one.consumers or one.in_cluster]
        carried = [stationary for stationary in stationary_operands_of(drained) if stationary.loops]
        users: list[Mainloop | StationaryOperand] = [*drained, *carried]
        return list(dict.fromkeys(user.stages for user in users))

    def emit(self, op: TableOp, state: PipelineState) -> None:
        for stationary in stationary_operands_of(self.mainloops):
            if op is stationary.operand_load.load:
                self._load_stage([stationary.operand_load], op, stationary.stages, state)
        for mainloop in self.mainloops:
            if mainloop.is_first_reader and any(op is one.load for one in mainloop.tma_loads):
                self._load_stage(mainloop.tma_loads, op, mainloop.stages, state)

    def _load_stage(self, loads: list[TmaOperandLoad], op: TableOp, stages: Pipeline, state: PipelineState) -> None:
        """Acquire a stage before the first of its loads, and advance after the last one."""
        if op is loads[0].load:
            bytes = sum(operand_load.box.tile_bytes for operand_load in loads)
            of_ring = as_op(defining_op(stages.pipeline)).bytes
            state.acquire(stages, bytes=None if bytes == of_ring else bytes)
        for operand_load in (one for one in loads if one.load is op):
            coords, token = [self.value(coord) for coord in op.coords], state.tokens[stages]
            operands = [
                self.value(op.view),
                operand_load.descriptor,
                coords,
                operand_load.buffer,
                stages.pipeline,
                token,
            ]
            state.insert(AsyncTiledTmaLoadOp.make(operands, [], location_of(op), index_checks=op.index_checks))
        if op is loads[-1].load:
            state.advance(stages)


# ---- block scales -----------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class ScaleLoad:
    """The block scales of one operand: their load, the operations up to the dot, and the layout of the tile in one
    warp.
    """

    load: TableOp
    chain: list[Operation]
    columns: ScaleColumns
    layout: LinearLayout

    def loaded(self, coords: list[SSAValue], insert: Inserter) -> SSAValue:
        """The tile of the dot, loaded by one warp."""
        load, layout = self.load, self.layout
        attributes = {**load.attributes, **location_of(load)}
        types = [with_layout(load.value.type, layout)]
        values: dict[str, Any] = {"vector": VECTOR_BYTES, "in_bounds": [False] * len(coords)}
        new_load = type(load).make([load.view, coords, None], types, attributes, **values)
        # Tiles are loaded ahead, also after the loop's end.
        relax_checks_past_end(new_load, range(len(coords)), replaced_check=BoundsCheck.NONE)
        value = insert(new_load)
        for link in self.chain:
            if link.name != "nv_tileas.convert_layout":
                layout = layout_through_view(as_op(link), layout)
                types = [with_layout(link.results[0].type, layout)]
                value = insert(as_op(link).make([value], types, dict(link.attributes)))
        return value


def scale_loads(dot: TableOp) -> list[ScaleLoad]:
    """The loads of both operands; none where one warp would load them too slowly, or tcgen05.cp does not copy such
    scales.
    """
    if (
        family_of(dot).accumulator is not Storage.TENSOR
        or dot.lhs_scale is None
        or not is_canonical_loop(dot.parent_op())
    ):
        return []
    found = [_scale_load(dot, side) for side in SIDES]
    copies = [one for one in found if one is not None]
    return copies if len(copies) == len(found) else []


def _scale_load(dot: TableOp, side: int) -> ScaleLoad | None:
    found, columns = dot_operand_load(dot, FIRST_SCALE + side), scale_columns(dot, 1)[side]
    if (
        found is None
        or columns.lines < LANES
        or columns.tmem_columns % COPIED_REGISTERS
        or columns.count < SECTOR_BYTES // 2
    ):
        return None
    if dot.scale_steps == 1 and columns.count < SECTOR_BYTES and not dot.pair:
        return None  # threads are faster, whose scales no pair multiplies
    load, chain = found
    if not _is_plain(load) or not _is_vector_aligned(load):
        return None
    layout = columns.loaded
    for link in reversed([link for link in chain if link.name != "nv_tileas.convert_layout"]):
        layout = operand_layout(link, link.operands[0], layout)
    order = ViewAccessInfo(load.view, AxisAnalysis()).order
    together = [unit for unit in memory_bits(layout.shape, order) if unit in layout.registers]
    held = LinearLayout(tuple(together), layout.lanes, layout.warps, layout.shape)
    return ScaleLoad(load, chain, columns, held) if held.contiguous(order) >= VECTOR_BYTES else None


def _is_plain(load: TableOp) -> bool:
    """Whether another warp may execute a load, of any iteration: it reads an array of the kernel, and no token orders
    it.
    """
    slice, type = ScalarSlice(), load.view.type
    if not is_tiled_without_gaps(type) or type.padding.data not in ("none", "zero") or load.mem_semantic != "weak":
        return False
    if (
        not is_unordered_token(load.token)
        or not is_computable_for_iteration(load, parent_block(load))
        or not all(map(slice.add, load.coords))
    ):
        return False
    return _is_computable_at_entry(load.view)


def _is_computable_at_entry(value: SSAValue) -> bool:
    """Whether a value can be computed at the entry of a kernel."""
    new_load = value.owner
    if isinstance(new_load, Block):
        around = new_load.parent_op()
        return around is not None and is_function(around)
    return (
        is_pure(new_load) and not may_divide_by_zero(new_load) and all(map(_is_computable_at_entry, new_load.operands))
    )


def _is_vector_aligned(load: TableOp) -> bool:
    """Whether all vectors of 16 bytes of a tile are wholly in bounds or out of bounds."""
    facts = ViewAccessInfo(load.view, AxisAnalysis())
    return element_of(load.value.type).bits == 8 and facts.vector(load.coords, facts.in_bounds()) >= VECTOR_BYTES


class ScaleLoader(PartitionSlice):
    """Loads the block scales of one operand of each dot, one or two groups at a time."""

    def __init__(self, mainloops: list[Mainloop], slice: ScalarSlice, side: int):
        super().__init__(mainloops, slice)
        self.side = side

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        return scales_of(self.mainloops, place)

    def pipelines_to_drain(self) -> list[Pipeline]:
        """The scales of both operands are released together."""
        return self.pipelines() if self.side == SIDES[0] else []

    def emit(self, op: TableOp, state: PipelineState) -> None:
        for mainloop in self.mainloops:
            if mainloop.scale_loads and op is mainloop.scale_loads[self.side].load:
                self._load_group(mainloop, state)

    def _load_group(self, mainloop: Mainloop, state: PipelineState) -> None:
        insert, steps = state.insert, mainloop.dot.scale_steps
        index = self.value(mainloop.loops[-1].regions[0].blocks[0].args[0])
        begins = is_first_of_group(index, steps * scale_groups_per_load(steps), insert)
        insert_if(begins, insert, lambda inside: self._copy_groups(mainloop, index, state.inside(inside)))
        state.advance(mainloop.scales, is_first_of_group(index, steps, insert) if steps > 1 else None)

    def _copy_groups(self, mainloop: Mainloop, index: SSAValue, state: PipelineState) -> None:
        """Issue all loads before waiting for a stage. Those past the loop's end are out of bounds, or not used."""
        starts, steps, insert = [index], mainloop.dot.scale_steps, state.insert
        while len(starts) < scale_groups_per_load(steps):
            starts.append(insert.binary("add", starts[-1], steps))
        tiles = [self._load(mainloop, start, insert) for start in starts]
        self._store_scales(mainloop, tiles[0], state, insert)
        for start, tile in zip(starts[1:], tiles[1:]):
            state.advance(mainloop.scales)
            runs = loop_continues_at(mainloop.loops[-1], start)
            runs.operands = [start, self.value(mainloop.loops[-1].upper)]
            insert_if(insert(runs), insert, partial(self._store_scales, mainloop, tile, state))

    def _load(self, mainloop: Mainloop, index: SSAValue, insert: Inserter) -> SSAValue:
        copy, block = mainloop.scale_loads[self.side], mainloop.loops[-1].regions[0].blocks[0]
        known: dict[SSAValue, SSAValue] = {block.args[0]: index}

        def at(value: SSAValue) -> SSAValue:
            """``value`` computed for this index."""
            if value not in known and is_outside(value, block):
                return self.value(value)
            if value not in known:
                operands = [at(operand) for operand in defining_op(value).operands]
                known[value] = speculated(defining_op(value), operands, insert)
            return known[value]

        return copy.loaded([at(coord) for coord in copy.load.coords], insert)

    def _store_scales(self, mainloop: Mainloop, tile: SSAValue, state: PipelineState, insert: Inserter) -> None:
        state, scales = state.at(insert), mainloop.scales
        state.acquire(scales, mainloop.tmem_ops.acquire)
        insert(StoreScalesOp.make([tile, scales.buffers[self.side], state.stage(scales)], []))
        state.commit(scales)
