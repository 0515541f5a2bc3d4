"""Lower scheduled tile IR to LLVM IR text.

PASSES convert kernels to a ``gpu.module`` of per-thread code, and that to the ``llvm`` and ``nvvm`` dialects;
``write_llvm_dialect`` prints the result as LLVM IR.
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
from .decompose_prints import DecomposePrints
from .emit_global_smem import EmitGlobalSmem
from .writer.write_llvm_dialect import write

PASSES = (
    ConvertTileFuncToLLVM,  # first: later passes read the kernel's launch bounds
    FinalizeKernelEntry,  # after ConvertTileFuncToLLVM: arguments have their final types
    EmitGlobalSmem,  # before the bodies are converted: their code takes the address of the symbol
    DecomposePrints,  # before the bodies are converted: it determines the size of a print's arguments
    CseArithmetic,  # after DecomposePrints: its conversions may be equal
    ConvertTileASToLLVM,
    ConvertCuteAndCuteNvgpuToLLVM,  # after the bodies are converted: their MMAs and copies are atoms
    ConvertNVGPUAndGPUToNVVM,
    AttachNVVMTarget,  # after all operations that depend on the target's capabilities
    TranslateDebugInfo,  # last: all operations are those of the output
)


def lower(module: ModuleOp, job: Job) -> str:
    """Lower a module of nv_tileas operations, which is consumed, to LLVM IR.

    Raises Unsupported for an operation or type without a lowering.
    """
    run_passes(PASSES, module, job, edge="tileas_to_ll")
    check_serializable(module, job)
    text = write(module)
    release(module)
    return text
