"""Convert nv_tileaa operations to nv_tileas ones, and record the target in kernels.

In:    nv_tileaa.* + arith + math; the module's nv_tileaa.target_spec.
Out:   nv_tileas.* + arith + math; nv_tileaa.func, return and global stay until the signature is converted. Kernels have
       the module's target_spec: what only some GPUs have, as dots that scale by themselves, is asked of it.
After: nothing of this edge. Before: every pass that assigns layouts.
Sound: the operations are the same objects, of another class.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_traits import is_function
from ..analysis.kernel_target import TARGET_SPEC
from ..job import Job
from ..pass_manager import EdgePass


class ConvertTileAAToTileAS(EdgePass):
    """One operation to one, in place."""

    name = "convert-tileaa-to-tileas"
    illegal_ops = frozenset(f"{name}" for name in COUNTERPARTS)

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if (target := COUNTERPARTS.get(op.name)) is not None:
                # The classes of table rows differ in what they say of an object, not in what the object holds.
                op.__class__ = target
            elif is_function(op) and TARGET_SPEC in module.attributes:
                op.attributes[TARGET_SPEC] = module.attributes[TARGET_SPEC]
