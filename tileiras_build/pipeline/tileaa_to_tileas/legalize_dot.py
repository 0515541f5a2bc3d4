"""Legalize dots: rewrite dots without an MMA instruction of the target to dots that have one.

In:    nv_tileas.dot of any types, with or without block scales.
Out:   scales remain only on dots that the target may scale in hardware; other operands are multiplied by their scales
       in bf16 first. fp8 operands become f16 on targets without an fp8 MMA.
After: convert_tileaa_to_tileas. Before: layouts are assigned.
Sound: f16 represents every fp8 value; expand_block_scales documents the range of bf16.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f16

from ...ir.dialects.op_definition import TableOp
from ..analysis.kernel_target import kernel_target
from ..mma.dots import element_types
from ..mma.family import family_with_fragments, may_scale_in_instruction
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter
from .block_scale_multiply import apply_scales, converted

FP8 = ("f8E4M3FN", "f8E5M2")


def _legalize(rewriter: Rewriter, op: TableOp) -> None:
    job = rewriter.job
    if op.lhs_scale is not None:
        if not may_scale_in_instruction(op, kernel_target(op, job)):
            apply_scales(rewriter, op)
        return
    if element_types(op)[0] in FP8 and family_with_fragments(op, job.target).row_for(op, job.target) is None:
        for index, value in enumerate((op.lhs, op.rhs)):
            op.operands[index] = converted(rewriter, value, f16)


class LegalizeDot(EdgePass):
    """Operand types that the target's MMA instructions have."""

    name = "tileas-legalize-dot"
    rules = RuleTable({"nv_tileas.dot": _legalize})
