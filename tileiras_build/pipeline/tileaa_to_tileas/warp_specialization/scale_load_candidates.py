"""Scales of products in tensor memory that a warp of its own can load: lines of whole vectors, for several iterations at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import block_of, row
from ....ir.dialects.op_definition import TableOperation, location_of
from ....ir.dialects.op_traits import is_entry
from ....ir.layouts import LinearLayout, ScaleColumns
from ....ir.layouts.linear_layout import memory_bits
from ....ir.layouts.tmem_layout import COPIED_WORDS, LANES
from ...analysis.access_vectorization import SECTOR_BYTES, VECTOR_BYTES, ViewFacts
from ...analysis.axis_info import AxisAnalysis
from ...analysis.integer_ranges import Check
from ...analysis.mma_atom_selection import scale_columns
from ...analysis.op_queries import is_pure, may_divide_by_zero
from ...analysis.scale_factor_groups import counts_up
from ...analysis.view_chains import ScalarSlice, runs_free, source_load
from ...common.llvm_element_types import element_of
from ..layout_assignment.layout_inference import operand_layout
from ..layout_assignment.view_chain_layouts import forwarded, with_layout
from ..rewriter import Insert
from ..software_pipelining.cp_async_loads import movable
from ..subtile_indices import ask_of_end

FIRST_SCALE = 3  # operand of a product


@dataclass(eq=False)
class ScaleCopy:
    """The scales of one operand: their load, what stands between it and the product, and how one warp holds the tile."""

    load: TableOperation
    chain: list[Operation]
    columns: ScaleColumns
    layout: LinearLayout

    def loaded(self, coords: list[SSAValue], insert: Insert) -> SSAValue:
        """The tile as the product has it, loaded by one warp."""
        load, layout = self.load, self.layout
        attributes = {**load.attributes, **location_of(load)}
        types = [with_layout(load.value.type, layout)]
        told: dict[str, Any] = {"vector": VECTOR_BYTES, "in_bounds": [False] * len(coords)}
        made = type(load).make([load.view, coords, None], types, attributes, **told)
        # Tiles are loaded ahead, also behind the loop's end.
        ask_of_end(made, range(len(coords)), instead_of=Check.NONE)
        value = insert(made)
        for link in self.chain:
            if link.name != "nv_tileas.convert_layout":
                layout = forwarded(row(link), layout)
                types = [with_layout(link.results[0].type, layout)]
                value = insert(row(link).make([value], types, dict(link.attributes)))
        return value


def scale_copies(product: TableOperation) -> list[ScaleCopy]:
    """Those of both operands; none where a warp could not load them in time, or tcgen05.cp does not copy such scales."""
    if product.tensor_memory is None or product.lhs_scale is None or not counts_up(product.parent_op()):
        return []
    found = [_scale_copy(product, side) for side in (0, 1)]
    copies = [one for one in found if one is not None]
    return copies if len(copies) == len(found) else []


def _scale_copy(product: TableOperation, side: int) -> ScaleCopy | None:
    found, columns = source_load(product, FIRST_SCALE + side), scale_columns(product, 1)[side]
    if found is None or columns.lines < LANES or columns.words % COPIED_WORDS or columns.count < SECTOR_BYTES // 2:
        return None
    if product.scale_steps == 1 and columns.count < SECTOR_BYTES:
        return None
    load, chain = found
    if not _is_plain(load) or not _comes_in_vectors(load):
        return None
    layout = columns.loaded
    for link in reversed([link for link in chain if link.name != "nv_tileas.convert_layout"]):
        layout = operand_layout(link, link.operands[0], layout)
    order = ViewFacts(load.view, AxisAnalysis()).order
    together = [unit for unit in memory_bits(layout.shape, order) if unit in layout.registers]
    held = LinearLayout(tuple(together), layout.lanes, layout.warps, layout.shape)
    return ScaleCopy(load, chain, columns, held) if held.contiguous(order) >= VECTOR_BYTES else None


def _is_plain(load: TableOperation) -> bool:
    """Whether another warp may make a load, of any iteration: of an array of the kernel, with nothing that must come first."""
    slice, type = ScalarSlice(), load.view.type
    if type.kind.data != "partition" or type.padding.data not in ("none", "zero") or load.mem_semantic != "weak":
        return False
    if not runs_free(load.token) or not movable(load, block_of(load)) or not all(map(slice.add, load.coords)):
        return False
    return _is_of_parameters(load.view)


def _is_of_parameters(value: SSAValue) -> bool:
    """Whether a value can be computed where a kernel begins."""
    made = value.owner
    if isinstance(made, Block):
        around = made.parent_op()
        return around is not None and is_entry(around)
    return is_pure(made) and not may_divide_by_zero(made) and all(map(_is_of_parameters, made.operands))


def _comes_in_vectors(load: TableOperation) -> bool:
    """Whether no vector of 16 bytes of a tile is cut."""
    facts = ViewFacts(load.view, AxisAnalysis())
    return element_of(load.value.type).bits == 8 and facts.vector(load.coords, facts.in_bounds()) >= VECTOR_BYTES
