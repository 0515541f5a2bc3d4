"""The launch manifest: the contract between the compiler and what launches kernels.

Imports core and target.
"""
