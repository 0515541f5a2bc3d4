"""Extensions that fold into their users: min and max of f16 and bf16, and mixed-precision additions to f32."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import as_op
from ...ir.dialects.cute import layout_of
from ...ir.dialects.op_definition import TableOp
from ..common.llvm_element_types import element_of
from ..common.llvm_type_constructors import BFLOAT, FLOAT, HALF
from .op_queries import REDUCE

# Combination -> the instruction, and whether NaN propagates.
MIN_MAX_REDUCTIONS = {
    "arith.maxnumf": ("max", False), "arith.maximumf": ("max", True),
    "arith.minnumf": ("min", False), "arith.minimumf": ("min", True),
}  # fmt: skip
# Additions of f32 and f16 or bf16 on GPUs that support them, and the operands that may be narrow.
MIXED_PRECISION_OPS: dict[str, tuple[int, ...]] = {"nv_tileas.addf": (0, 1), "nv_tileas.subf": (0,)}
WIDENING = "nv_tileas.fp_to_fp"
PACKED_TYPES: dict[Attribute, str] = {HALF: "f16x2", BFLOAT: "bf16x2"}


def unextended_reduction_source(op: TableOp) -> SSAValue | None:
    """The f16 or bf16 tile whose extension to f32 is the operand of a min or max reduction; None otherwise."""
    body = list(op.regions[0].blocks[0].ops)
    if (
        len(op.sources) != 1
        or len(body) != 2
        or body[0].name not in MIN_MAX_REDUCTIONS
        or "flush_to_zero" in body[0].attributes
    ):
        return None
    if set(body[0].operands) != set(op.regions[0].blocks[0].args):
        return None
    return extended_from(op.sources[0])


def extended_from(value: SSAValue) -> SSAValue | None:
    """The f16 or bf16 tile that a tile of f32 is extended from; None where there is none."""
    widening = value.owner
    if not isinstance(widening, Operation) or widening.name != WIDENING:
        return None
    source = widening.operands[0]
    widened = _type(value) == FLOAT and _type(source) in PACKED_TYPES
    return source if widened and layout_of(source) == layout_of(value) else None


def reads_unextended(op: Operation) -> bool:
    """Whether a reduction reads its operand before the extension."""
    return op.name == REDUCE and unextended_reduction_source(as_op(op)) is not None


def folds_extension(op: Operation, value: SSAValue) -> bool:
    """Whether an operation is a mixed-precision addition, for which ``value`` need not be extended."""
    if (
        op.name not in MIXED_PRECISION_OPS
        or as_op(op).rounding_mode not in (None, "nearest_even")
        or as_op(op).flush_to_zero
    ):
        return False
    positions = [place for place, operand in enumerate(op.operands) if operand is value]
    return len(positions) == 1 and positions[0] in MIXED_PRECISION_OPS[op.name]


def needs_no_extension(value: SSAValue) -> bool:
    """Whether all users of an extended tile are mixed-precision additions, except at most one reduction, which extends
    it itself.
    """
    if extended_from(value) is None:
        return False
    others = [use.operation for use in value.uses if not folds_extension(use.operation, value)]
    wide = [op for op in others if not reads_unextended(op)]
    return len(others) < len(list(value.uses)) and len(wide) <= 1 and all(op.name == REDUCE for op in wide)


def _type(value: SSAValue) -> Attribute:
    return element_of(value.type).type
