"""Compiles kernel sources to Tile IR bytecode: exports of cuTile Python, nvcc for CUDA Tile C++.

Imports core, target and ir.
"""
