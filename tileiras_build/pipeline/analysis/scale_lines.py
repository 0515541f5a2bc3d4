"""Block scales whose lines along k are contiguous vectors in memory, so that one load has those of several iterations."""

from __future__ import annotations

from ...ir.casting import as_op
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.op_definition import TableOp
from .access_vectorization import VECTOR_BYTES, ViewAccessInfo
from .axis_info import AxisAnalysis
from .dot_operand_chains import dot_operand_load

FIRST_SCALE = 3  # operand of a dot, after its factors and its accumulator
PERMUTE = "nv_tileas.permute"


def lines_are_vectors(load: TableOp, dim: int) -> bool:
    """Whether the lines of a tiled load along ``dim`` are contiguous, made of vectors of 16 bytes."""
    facts = ViewAccessInfo(load.view, AxisAnalysis())
    along = facts.type.dim_map[dim]
    divisors = [facts.sizes[along], facts.analysis(facts.memref.operands[0]).divisibility]
    divisors += [stride for at, stride in enumerate(facts.strides) if at != along]
    contiguous = facts.order[:1] == [dim] and facts.type.source.strides[along] == 1
    return contiguous and all(number % VECTOR_BYTES == 0 for number in divisors)


def is_tiled_without_gaps(type: TiledViewType) -> bool:
    """Whether neighbouring tiles of a view touch: those of a partition, and of the part of one that a CTA has."""
    return type.kind.data == "partition" or type.kind.data == "strided" and type.steps == type.tile


def scales_are_lines_of_vectors(dot: TableOp) -> bool:
    """Whether a dot loads the scales of both operands as such lines."""
    return all(_is_line_of_vectors(dot, side) for side in (0, 1))


def _is_line_of_vectors(dot: TableOp, side: int) -> bool:
    found, dim = dot_operand_load(dot, FIRST_SCALE + side), 1 - side
    if found is None or any(link.name != PERMUTE for link in found[1]):
        return False
    for link in reversed(found[1]):
        dim = as_op(link).permutation[dim]
    load = found[0]
    return load.parent is dot.parent and is_tiled_without_gaps(load.view.type) and lines_are_vectors(load, dim)
