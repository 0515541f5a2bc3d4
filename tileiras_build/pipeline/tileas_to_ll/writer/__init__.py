"""LLVM IR text of modules of ``llvm`` and ``nvvm`` operations."""
