"""Instruction tables: what LLVM, libNVVM and ptxas accept, and the capability that each instruction needs.

Dialects, passes and ``ll_to_ptx`` read them. None imports an IR library, which serializing a kernel does not need.
"""
