"""Convert kernels of tiles to per-thread code.

In:    functions of nv_tileas operations whose tiles have layouts, and whose buffers have shared-memory offsets.
Out:   one gpu.module with the kernels as llvm.func, their globals and callees: operations of the llvm and nvvm
       dialects. Its attribute ``tileiras.manifest`` contains the launch manifest as JSON.
After: functions and their arguments have LLVM types. Before: targets are attached.
Sound: each tile becomes the registers of its layout; an operation without a handler is rejected.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.dialects.fast_xdsl import release
from ..job import Job
from ..pass_manager import EdgePass
from .emission.module_emitter import ModuleEmitter


class ConvertTileASToLLVM(EdgePass):
    """Emit per-thread code for kernels of tiles."""

    name = "convert-tile-as-to-llvm"
    illegal_ops = frozenset({"nv_tileas.", "nv_tileaa."})

    def run(self, module: ModuleOp, job: Job) -> None:
        if not any(op.name == "func.func" for op in module.body.block.ops):
            return
        made = ModuleEmitter(module, job).emit()
        for op in list(module.body.block.ops):
            op.detach()
            release(op)
        module.body.block.add_op(made)
