"""CUDA Tile C++: bytecode from ``.cu`` files, by NVIDIA's nvcc, and the record of all files that it has read.

``nvcc_toolchain.py`` finds nvcc, ``run_nvcc.py`` runs it, ``nvcc_diagnostics.py`` parses its messages.
"""
