"""Drop the variants of kernels (``frontend/aligned_variant.py``), and allow no others, with ``variants=0``.

In:    nv_tileaa functions; the signature of a variant names its kernel.
Out:   no kernel that is a variant, nor a signature that allows one; with ``variants=1`` the module is unchanged.
After: the conversion to nv_tileaa, which is the first pass. Before: all others, which would work in vain.
Sound: a launcher may take the kernel itself in place of its variant.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ...frontend.argument_names_in_producer import note_of
from ...ir.dialects.fast_xdsl import release
from ..analysis.kernel_parameters import SIGNATURE, signature_of, variant_of
from ..job import Job
from ..pass_manager import EdgePass


class DropVariants(EdgePass):
    """Keep the general kernels alone."""

    name = "drop-variants"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.variants:
            return
        for func in list(module.body.block.ops):
            if variant_of(func) is not None:
                func.detach()
                release(func)
            elif (signature := signature_of(func)) is not None:
                func.attributes[SIGNATURE] = StringAttr(note_of(replace(signature, variants=False)))
