"""Mixed-precision add and subtract: f32 with f16 or bf16 operands, without a conversion, on GPUs that support it.

``add.f32.f16`` extends its first operand (PTX ISA 9.0, section 9.7.5, mixed precision), which is exact, and rounds
once: the bits are those of a conversion and an addition. For a pair of halves it takes two instructions instead of two
conversions and one packed addition, and the pair stays in one register until then. It is not used if another operation
needs the extended values, except for one reduction, which extends its own, if registers are scarce.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.nvvm.arithmetic import AddMixedOp, SubMixedOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.foldable_f16_extensions import (
    PACKED_TYPES,
    extended_from,
    folds_extension,
    needs_no_extension,
    reads_unextended,
)
from ...analysis.op_queries import is_tile
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import FLOAT, I16
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from .elementwise import emit_elementwise, emit_with

INSTRUCTIONS: dict[str, type[TableOp]] = {"nv_tileas.addf": AddMixedOp, "nv_tileas.subf": SubMixedOp}


def emit_mixed_precision_add(e: KernelEmitter, op: Operation) -> None:
    """``nv_tileas.addf`` and ``subf`` with an operand in half precision, where that saves its conversion."""
    place = _half_operand(e, op)
    if place is None:
        return emit_elementwise(e, op)
    narrow, wide = unwrap(extended_from(op.operands[place])), op.operands[1 - place]
    kind, b, halves = INSTRUCTIONS[op.name], e.b, PACKED_TYPES[_type(narrow)].removesuffix("x2")

    def added(half: Value, other: Value) -> Value:
        return b.issue(kind, b.bitcast(half, I16), b.of(other, FLOAT), type=FLOAT, halves=halves)

    return emit_with(e, op, (narrow, wide), lambda calls: [added(*arguments) for arguments in calls])


def _half_operand(e: KernelEmitter, op: Operation) -> int | None:
    """The operand that is an extended half with no other use of the extension, or with uses that extend it again."""
    if _type(op.results[0]) != FLOAT or not is_tile(op.results[0]) or not e.target.has("mixed_float"):
        return None
    return next((place for place, value in enumerate(op.operands) if _is_unextended_half(e, op, value)), None)


def _is_unextended_half(e: KernelEmitter, op: Operation, value: SSAValue) -> bool:
    if not needs_no_extension(value) or not folds_extension(op, value):
        return False
    # If registers are scarce, another conversion is cheaper than live extended values.
    return e.computes_at_use or all(reads_unextended(use.operation) for use in value.uses if use.operation is not op)


def _type(value: SSAValue) -> Attribute:
    return element_of(value.type).type


HANDLERS: dict[str, Handler] = dict.fromkeys(INSTRUCTIONS, emit_mixed_precision_add)
