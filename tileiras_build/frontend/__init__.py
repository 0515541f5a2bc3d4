"""What turns people's sources into Tile IR: exports of cuTile Python, nvcc for CUDA Tile C++.

Imports core, target and ir.
"""
