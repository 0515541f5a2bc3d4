"""Instruction tables: what LLVM, libNVVM and ptxas accept, and what each instruction needs of the GPU.

Dialects, passes and ``ll_to_ptx`` read them. None imports an IR library, so that serializing a kernel needs none.
"""
