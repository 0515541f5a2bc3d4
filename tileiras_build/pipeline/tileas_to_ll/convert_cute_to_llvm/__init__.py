"""Convert the companion dialects to llvm and nvvm: cute (layouts), cute_nvgpu (atoms), cutlass (pipelines).

``converted_values.py`` represents values during the conversion, ``passes.py`` runs the rewrites of the other files.
"""

from __future__ import annotations

from .passes import ConvertCuteAndCuteNvgpuToLLVM, ConvertPipelineToNVVM

__all__ = ["ConvertCuteAndCuteNvgpuToLLVM", "ConvertPipelineToNVVM"]
