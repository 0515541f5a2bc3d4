"""Reductions that are made of narrow numbers before they are widened: of the smallest or largest of f16 and bf16."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.cute import layout_of
from ...dialects.definition import TableOperation
from ..shared.element_types import element_of
from ..shared.llvm_types import BFLOAT, FLOAT, HALF

# Combination -> the instruction, and whether NaN wins.
EXTREMES = {
    "arith.maxnumf": ("max", False), "arith.maximumf": ("max", True),
    "arith.minnumf": ("min", False), "arith.minimumf": ("min", True),
}  # fmt: skip
PAIR_TYPES: dict[Attribute, str] = {HALF: "f16x2", BFLOAT: "bf16x2"}


def narrow_source(op: TableOperation) -> SSAValue | None:
    """The f16 or bf16 tile whose elements, widened to f32, a reduction finds the extreme of; None where it does otherwise."""
    body = list(op.regions[0].blocks[0].ops)
    if len(op.sources) != 1 or len(body) != 2 or body[0].name not in EXTREMES or "flush_to_zero" in body[0].attributes:
        return None
    if set(body[0].operands) != set(op.regions[0].blocks[0].args):
        return None
    widening = op.sources[0].owner
    if not isinstance(widening, Operation) or widening.name != "nv_tileas.fp_to_fp":
        return None
    source = widening.operands[0]
    widened = _type(op.sources[0]) == FLOAT and _type(source) in PAIR_TYPES
    return source if widened and layout_of(source) == layout_of(op.sources[0]) else None


def _type(value: SSAValue) -> Attribute:
    return element_of(value.type).type
