"""From scheduled tile IR to LLVM IR text.

PASSES turn the kernels into a ``gpu.module`` of thread code, and that into operations of the ``llvm`` and ``nvvm``
dialects; then ``write_llvm_dialect`` spells them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.dialects.fast_xdsl import release
from ..job import Job
from ..pass_manager import run_passes
from .attach_nvvm_target import AttachNVVMTarget, check_serializable
from .convert_cute_to_llvm import ConvertCuteAndCuteNvgpuToLLVM
from .convert_nvgpu_and_gpu_to_nvvm import ConvertNVGPUAndGPUToNVVM
from .convert_tile_as_to_llvm import ConvertTileASToLLVM
from .convert_tile_func_to_llvm import ConvertTileFuncToLLVM, FinalizeKernelEntry
from .cse_arithmetic import CseArithmetic
from .debug.translate_debug_info import TranslateDebugInfo
from .emit_global_smem import EmitGlobalSmem
from .promote_print_operands import DecomposePrints
from .writer.write_llvm_dialect import write

PASSES = (
    ConvertTileFuncToLLVM,  # first: the kernel's launch bounds decide how its threads are numbered
    FinalizeKernelEntry,  # after it: arguments have their final types
    EmitGlobalSmem,  # before any body: its code takes the address
    DecomposePrints,  # before bodies: the space of a print's arguments follows from their types
    CseArithmetic,  # after DecomposePrints: its conversions may repeat
    ConvertTileASToLLVM,
    ConvertCuteAndCuteNvgpuToLLVM,  # after bodies: their MMAs and copies are atoms
    ConvertNVGPUAndGPUToNVVM,
    AttachNVVMTarget,  # after all that a target gates
    TranslateDebugInfo,  # last: operations are those of the text
)


def lower(module: ModuleOp, job: Job) -> str:
    """LLVM IR of a module of nv_tileas operations, which is used up.

    Raises Unsupported for an operation or type without a lowering.
    """
    run_passes(PASSES, module, job, edge="tileas_to_ll")
    check_serializable(module, job)
    text = write(module)
    release(module)
    return text
