"""From scheduled tile IR to LLVM IR text.

PASSES bring the module to the form that the emitter reads; then ``module_emitter`` writes the code of one thread, each
body by the nine phases of ``phases.py``. The writers are the families of ``handlers.py``: they write text directly,
because operation objects for each instruction of a thread would cost more than all of LLVM.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..contracts import run_passes
from ..job import Job
from .attach_nvvm_target import AttachNVVMTarget, check_serializable
from .convert_tile_func_to_llvm import ConvertTileFuncToLLVM, FinalizeKernelEntry
from .emit_global_smem import EmitGlobalSmem

PASSES = (
    ConvertTileFuncToLLVM,  # first: the kernel's launch bounds decide how its threads are numbered
    FinalizeKernelEntry,  # after it: arguments have their final types
    EmitGlobalSmem,  # before any body: its code takes the address
    AttachNVVMTarget,  # last: what a target gates is there
)


def lower(module: ModuleOp, job: Job) -> str:
    """LLVM IR of a module of nv_tileas operations. Raises Unsupported for an operation or type without a lowering."""
    from .module_emitter import ModuleEmitter

    run_passes(PASSES, module, job, edge="tileas_to_ll")
    check_serializable(module, job)
    return ModuleEmitter(module, job).emit()
