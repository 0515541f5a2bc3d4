"""Convert nv_tileaa operations to nv_tileas ones, and record the target in kernels.

In:    nv_tileaa.* + arith + math; the module's nv_tileaa.target_spec.
Out:   nv_tileas.* + arith + math; nv_tileaa.func, return and global stay until the signature is converted. Kernels
       carry the module's target_spec, from which verifiers read the capabilities of the target.
After: nothing of this stage. Before: every pass that assigns layouts.
Sound: operations are converted in place, one to one; only their class changes.
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
                # The classes of table rows differ in their definitions, not in the layout of their objects.
                op.__class__ = target
            elif is_function(op) and TARGET_SPEC in module.attributes:
                op.attributes[TARGET_SPEC] = module.attributes[TARGET_SPEC]
