"""Eliminate common subexpressions of arithmetic.

In:    functions of nv_tileas, arith and math operations.
Out:   no arith or math operation repeats another one of its block or of an enclosing block.
After: decompose_prints, whose conversions may be equal. Before: operations become per-thread code.
Sound: only arith and math are merged: a buffer may be written between two equal reads.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..common.cse import merge
from ..job import Job
from ..pass_manager import EdgePass

ARITHMETIC = ("arith.", "math.")


class CseArithmetic(EdgePass):
    """CSE of arith and math."""

    name = "tileas-cse-arithmetic"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in module.body.block.ops:
            if op.name == "func.func":
                for block in op.regions[0].blocks:
                    merge(block, lambda inner: inner.name.startswith(ARITHMETIC))
