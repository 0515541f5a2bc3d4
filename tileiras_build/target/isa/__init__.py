"""The book: plain tables of what LLVM, libNVVM and ptxas are given, and of what each instruction needs.

Dialects, passes and ``ll_to_ptx`` read them; none of them imports an IR library, so that serializing a kernel needs none.
"""
