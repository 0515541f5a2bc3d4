"""Convert the public tile dialect to alias-aware tile IR.

In:    cuda_tile.* as the bytecode reader builds it.
Out:   nv_tileaa + arith + math; no cuda_tile operation or type remains. Rank-0 tiles are scalars, tiles are tensors.
After: nothing (first pass). Before: every other pass.
Sound: one operation becomes one operation of the same meaning, or a short sequence: a row of its family's table; what has no
       row is reported as unsupported, all of a module at once.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32

from ..contracts import EdgePass
from ..job import Job
from . import arithmetic, control, memory, shapes
from .converter import Converter, Handler

FAMILIES = (arithmetic, shapes, memory, control)
HANDLERS: dict[str, Handler] = {name: handler for family in FAMILIES for name, handler in family.HANDLERS.items()}


class ConvertCudaTileToTileAA(EdgePass):
    """The first lowering: one translation unit of kernels."""

    name = "convert-cudatile-to-tileaa"
    removes = frozenset({"cuda_tile."})

    def run(self, module: ModuleOp, job: Job) -> None:
        public = next(op for op in module.body.block.ops if op.name == "cuda_tile.module")
        converter = Converter(HANDLERS)
        for op in public.regions[0].blocks[0].ops:
            converter.convert(op, module.body.block)
        converter.diagnostics.raise_if_any()
        public.detach()
        module.attributes["nv_tileaa.compute_capability"] = IntegerAttr(job.target.number, i32)
        module.attributes["nv_tileaa.target_spec"] = StringAttr(job.target.arch)
