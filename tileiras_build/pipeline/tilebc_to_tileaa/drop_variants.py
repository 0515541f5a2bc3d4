"""Drop the variants of kernels (``frontend/aligned_variant.py``), with ``variants=0``.

In:    cuda_tile.* as the bytecode reader builds it. The producer's signature of a variant names its kernel.
Out:   no kernel that is a variant; with ``variants=1`` the module is unchanged.
After: nothing. Before: any operation is converted.
Sound: a launcher may take the kernel itself in place of its variant.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ...frontend.argument_names_in_producer import is_variant
from ...ir.dialects.fast_xdsl import release
from ..job import Job
from ..pass_manager import EdgePass


class DropVariants(EdgePass):
    """Keep the general kernels alone."""

    name = "drop-variants"

    def run(self, module: ModuleOp, job: Job) -> None:
        public = next(op for op in module.body.block.ops if op.name == "cuda_tile.module")
        producer = public.properties.get("producer")
        if job.variants or not isinstance(producer, StringAttr):
            return
        for op in list(public.regions[0].blocks[0].ops):
            if op.name == "cuda_tile.entry" and is_variant(producer.data, _name(op)):
                op.detach()
                release(op)


def _name(entry: Operation) -> str:
    name = entry.properties["sym_name"]
    assert isinstance(name, StringAttr)
    return name.data
