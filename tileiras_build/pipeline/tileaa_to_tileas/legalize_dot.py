"""Legalize dots: rewrite those that the target has no MMA instruction for into ones that it has.

In:    nv_tileas.dot of any types, with or without block scales.
Out:   no dot has scales but those that the target may multiply by in its dots: other operands are multiplied by them
       in bf16 first. fp8 operands are f16 where there is no fp8 dot.
After: convert_tileaa_to_tileas. Before: layouts are assigned.
Sound: f16 holds every fp8 value; expand_block_scales says what bf16 holds.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, f16

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import string_of, walk
from ...ir.dialects.op_definition import TableOp
from ..analysis.kernel_target import kernel_target
from ..analysis.mma_atom_selection import has_block_scaled_instruction
from ..job import Job
from ..pass_manager import EdgePass
from .block_scale_multiply import apply_scales, converted

FP8 = ("f8E4M3FN", "f8E5M2")


class LegalizeDot(EdgePass):
    """Operand types that the target's MMA instructions have."""

    name = "tileas-legalize-dot"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if op.name == "nv_tileas.dot":
                _legalize(as_op(op), job)


def _legalize(op: TableOp, job: Job) -> None:
    if op.lhs_scale is not None:
        if not has_block_scaled_instruction(kernel_target(op, job), op):
            apply_scales(op)
        return
    types = [string_of(value.type.element_type) for value in (op.lhs, op.rhs, op.result)]
    if types[0] in FP8 and not job.target.mma_atoms(*types):
        for index, value in enumerate((op.lhs, op.rhs)):
            op.operands[index] = converted(op, value, f16)
