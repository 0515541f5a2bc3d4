"""What is made of narrow numbers before they are widened: the smallest or largest of f16 and bf16, and sums with f32."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import row
from ...ir.dialects.cute import layout_of
from ...ir.dialects.op_definition import TableOperation
from ..common.llvm_element_types import element_of
from ..common.llvm_types import BFLOAT, FLOAT, HALF

# Combination -> the instruction, and whether NaN wins.
EXTREMES = {
    "arith.maxnumf": ("max", False), "arith.maximumf": ("max", True),
    "arith.minnumf": ("min", False), "arith.minimumf": ("min", True),
}  # fmt: skip
# Sums that some GPUs make of f32 and a half as it is, and which operands may be the half.
MIXED: dict[str, tuple[int, ...]] = {"nv_tileas.addf": (0, 1), "nv_tileas.subf": (0,)}
REDUCE, WIDENING = "nv_tileas.reduce", "nv_tileas.fp_to_fp"
PAIR_TYPES: dict[Attribute, str] = {HALF: "f16x2", BFLOAT: "bf16x2"}


def narrow_source(op: TableOperation) -> SSAValue | None:
    """The f16 or bf16 tile whose elements, widened to f32, a reduction finds the extreme of; None where it does otherwise."""
    body = list(op.regions[0].blocks[0].ops)
    if len(op.sources) != 1 or len(body) != 2 or body[0].name not in EXTREMES or "flush_to_zero" in body[0].attributes:
        return None
    if set(body[0].operands) != set(op.regions[0].blocks[0].args):
        return None
    return widened_from(op.sources[0])


def widened_from(value: SSAValue) -> SSAValue | None:
    """The f16 or bf16 tile that a tile of f32 is widened from; None where it is not."""
    widening = value.owner
    if not isinstance(widening, Operation) or widening.name != WIDENING:
        return None
    source = widening.operands[0]
    widened = _type(value) == FLOAT and _type(source) in PAIR_TYPES
    return source if widened and layout_of(source) == layout_of(value) else None


def reads_narrow(op: Operation) -> bool:
    """Whether a reduction is made of what its operand is widened from."""
    return op.name == REDUCE and narrow_source(row(op)) is not None


def takes_half(op: Operation, value: SSAValue) -> bool:
    """Whether an operation is a sum for which ``value`` need not be widened."""
    if op.name not in MIXED or row(op).rounding_mode not in (None, "nearest_even") or row(op).flush_to_zero:
        return False
    places = [place for place, operand in enumerate(op.operands) if operand is value]
    return len(places) == 1 and places[0] in MIXED[op.name]


def stays_narrow(value: SSAValue) -> bool:
    """Whether a widened tile is used for sums that take halves, but for one reduction at most: that widens it for itself."""
    if widened_from(value) is None:
        return False
    others = [use.operation for use in value.uses if not takes_half(use.operation, value)]
    wide = [op for op in others if not reads_narrow(op)]
    return len(others) < len(list(value.uses)) and len(wide) <= 1 and all(op.name == REDUCE for op in wide)


def _type(value: SSAValue) -> Attribute:
    return element_of(value.type).type
