"""Expand the block scales of dots that no instruction scales: multiply their operands explicitly.

In:    nv_tileas dots, some with block scales, some of these in tensor memory.
Out:   the dots with scales are those in tensor memory and those of an mma.sync row that scales. Operands of others
       are multiplied by their scales in f32 and rounded to bf16; what was packed in pairs for an instruction that is not
       used is taken apart.
After: pack_fp4, select_mma_and_tma (which says what tensor memory holds). Before: assign_layouts.
Sound: bf16 holds every dot of an fp4 or fp8 value and a scale (4 + 4 significant bits and an f32's exponents) but
       those below its smallest normal value; accumulation in f32 is unchanged.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ..analysis.kernel_target import kernel_target
from ..job import Job
from ..mma.family import family_with_fragments
from ..pass_manager import EdgePass
from .block_scale_multiply import apply_scales


class ExpandBlockScales(EdgePass):
    """Operands of dots without a scaling instruction are multiplied by their block scales."""

    name = "tileas-expand-block-scales"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if op.name == "nv_tileas.dot" and _needs_expansion(as_op(op), job):
                apply_scales(as_op(op))


def _needs_expansion(op: TableOp, job: Job) -> bool:
    if op.lhs_scale is None or op.mma is not None:
        return False
    target = kernel_target(op, job)
    return family_with_fragments(op, target).row_for(op, target) is None
