"""Emit the per-thread code of tile operations: the walk over a kernel, and the builder of LLVM operations."""
