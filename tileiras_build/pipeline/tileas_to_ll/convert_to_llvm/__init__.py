"""Lower the standard MLIR dialects of hand-written IR to the llvm dialect."""

from .passes import ConvertToLLVM
