"""From the gpu and nvgpu dialects to nvvm and llvm, on IR that a compiler engineer may write by hand.

``rewriter.py`` is the machinery, each other file has the rewrites of one family of operations, and ``passes.py`` runs
them.
"""

from __future__ import annotations

from .passes import ConvertMathToLibdevice, ConvertNVGPUAndGPUToNVVM, ScalarizeVectorMath

__all__ = ["ConvertMathToLibdevice", "ConvertNVGPUAndGPUToNVVM", "ScalarizeVectorMath"]
