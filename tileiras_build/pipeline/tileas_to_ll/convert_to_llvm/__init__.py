"""What standard dialects of MLIR leave in hand-written IR, as operations of LLVM."""

from .passes import ConvertToLLVM
