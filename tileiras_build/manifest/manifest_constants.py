"""The words of a launch manifest, for who writes one; ``launch_manifest.py`` reads them."""

from __future__ import annotations

VERSION = 2
POINTER, TENSOR_MAP = "pointer", "tensor_map"
GRID = "grid"  # the role of a parameter that is an extent of the grid, in tile programs
AXES = 3  # of a grid
MAX_TILE_PROGRAMS = 2**31 - 2**16  # of a persistent kernel, which counts them, and each CTA its next one, in 32 bits
# What a kernel does through an address.
READ, WRITE, READ_WRITE, UNUSED = "loaded", "stored", "updated", "unused"
