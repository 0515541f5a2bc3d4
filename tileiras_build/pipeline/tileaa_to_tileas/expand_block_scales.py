"""Expand the block scales of dots without a scaling instruction: multiply their operands explicitly.

In:    nv_tileas dots, some with block scales, some of these in tensor memory.
Out:   scales remain only on dots in tensor memory and on dots whose mma.sync row scales. Other operands are multiplied
       by their scales in f32 and rounded to bf16; packed fp4 operands are unpacked first.
After: pack_fp4, select_mma_and_tma (which selects the dots in tensor memory). Before: assign_layouts.
Sound: bf16 represents every product of an fp4 or fp8 value and a scale (4 + 4 significant bits, the exponents of f32)
       except those below its smallest normal value; accumulation in f32 is unchanged.
"""

from __future__ import annotations

from ...ir.dialects.op_definition import TableOp
from ..analysis.kernel_target import kernel_target
from ..job import Job
from ..mma.family import family_with_fragments
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter
from .block_scale_multiply import apply_scales


def _needs_expansion(op: TableOp, job: Job) -> bool:
    if op.lhs_scale is None or op.mma is not None:
        return False
    target = kernel_target(op, job)
    return family_with_fragments(op, target).row_for(op, target) is None


def _expand(rewriter: Rewriter, op: TableOp) -> None:
    if _needs_expansion(op, rewriter.job):
        apply_scales(rewriter, op)


class ExpandBlockScales(EdgePass):
    """Operands of dots without a scaling instruction are multiplied by their block scales."""

    name = "tileas-expand-block-scales"
    rules = RuleTable({"nv_tileas.dot": _expand})
