"""Drop the variants of kernels (``frontend/aligned_variant.py``), with ``variants=0``.

In:    nv_tileaa functions; the signature of a variant names its kernel.
Out:   no kernel that is a variant; with ``variants=1`` the module is unchanged.
After: the conversion to nv_tileaa, which is the first pass. Before: all others, which would work in vain.
Sound: a launcher may take the kernel itself in place of its variant.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.dialects.fast_xdsl import release
from ..analysis.kernel_parameters import variant_of
from ..job import Job
from ..pass_manager import EdgePass


class DropVariants(EdgePass):
    """Keep the general kernels alone."""

    name = "drop-variants"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.variants:
            return
        for func in list(filter(variant_of, module.body.block.ops)):
            func.detach()
            release(func)
