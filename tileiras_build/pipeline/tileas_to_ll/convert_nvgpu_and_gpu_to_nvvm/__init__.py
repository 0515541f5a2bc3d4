"""Convert the gpu and nvgpu dialects to nvvm and llvm, also in hand-written IR.

``rewriter.py`` has the rewriting framework, each other file the rewrites of one family of operations, and ``passes.py``
runs them.
"""

from __future__ import annotations

from .passes import ConvertMathToLibdevice, ConvertNVGPUAndGPUToNVVM, ScalarizeVectorMath

__all__ = ["ConvertMathToLibdevice", "ConvertNVGPUAndGPUToNVVM", "ScalarizeVectorMath"]
