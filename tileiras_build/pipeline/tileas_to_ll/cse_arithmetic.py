"""Merge arithmetic that repeats.

In:    functions of nv_tileas, arith and math operations.
Out:   no arith or math operation of a block or of one around it repeats another.
After: prints are decomposed: their conversions may repeat. Before: operations become thread code.
Sound: only arith and math are merged: a buffer that is read twice may have been written in between.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..common.cse import merge
from ..job import Job
from ..pass_manager import EdgePass

ARITHMETIC = ("arith.", "math.")


class CseArithmetic(EdgePass):
    """Each computation of arith and math once."""

    name = "tileas-cse-arithmetic"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in module.body.block.ops:
            if op.name == "func.func":
                for block in op.regions[0].blocks:
                    merge(block, lambda inner: inner.name.startswith(ARITHMETIC))
