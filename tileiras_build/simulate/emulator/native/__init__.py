"""Kernels in C for what takes NumPy many passes, and their callers."""
