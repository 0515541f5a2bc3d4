"""CUDA Tile C++: bytecode from ``.cu`` files, by NVIDIA's nvcc, and the record of everything that it has read.

``toolchain.py`` finds nvcc, ``run_nvcc.py`` runs it, ``includes.py`` says which headers it has read and where others
would have come first, ``diagnostics.py`` makes its messages ours.
"""
