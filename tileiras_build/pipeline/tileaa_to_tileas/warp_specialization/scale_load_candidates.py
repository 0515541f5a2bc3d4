"""Block scales that a warp of its own can load: lines of whole vectors, for several iterations at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, parent_block
from ....ir.dialects.op_definition import TableOp, location_of
from ....ir.dialects.op_traits import is_function
from ....ir.layouts import LinearLayout, ScaleColumns
from ....ir.layouts.linear_layout import memory_bits
from ....ir.layouts.tmem_layout import COPIED_REGISTERS, LANES
from ...analysis.access_vectorization import SECTOR_BYTES, VECTOR_BYTES, ViewAccessInfo
from ...analysis.axis_info import AxisAnalysis
from ...analysis.dot_operand_chains import dot_operand_load
from ...analysis.integer_ranges import BoundsCheck
from ...analysis.op_queries import is_pure, may_divide_by_zero
from ...analysis.scalar_slice import ScalarSlice, is_unordered_token
from ...analysis.scale_stage_counts import is_canonical_loop
from ...common.llvm_element_types import element_of
from ...mma.family import Storage, family_of
from ...mma.tmem_tiles import scale_columns
from ..layout_assignment.layout_inference_rules import operand_layout
from ..layout_assignment.view_chain_layouts import layout_through_view, with_layout
from ..op_insertion import Inserter
from ..software_pipelining.cp_async_loads import is_computable_for_iteration
from ..subtile_indices import relax_checks_past_end

FIRST_SCALE = 3  # operand of a dot


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
    found = [_scale_load(dot, side) for side in (0, 1)]
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
    if dot.scale_steps == 1 and columns.count < SECTOR_BYTES:
        return None
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
    if type.kind.data != "partition" or type.padding.data not in ("none", "zero") or load.mem_semantic != "weak":
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
