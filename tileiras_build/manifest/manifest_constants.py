"""Constants and names of the launch manifest, shared by its writer and its reader (``launch_manifest.py``)."""

from __future__ import annotations

VERSION = 2
POINTER, TENSOR_MAP = "pointer", "tensor_map"
GRID = "grid"  # the role of a parameter with an extent of the grid in tile blocks
AXES = 3  # of a grid
# The most CTAs along the axes of a grid (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
MAX_GRID_CTAS = (2**31 - 1, 65535, 65535)
MAX_GRID_PROGRAMS = 2**24 - 1  # tile programs along an axis (Tile IR specification, cuda_tile.get_tile_block_id)
MAX_TILE_PROGRAMS = 2**31 - 2**16  # of a persistent kernel, which computes indices beyond the last one in 32 bits
# Accesses of a kernel through a pointer.
READ, WRITE, READ_WRITE, UNUSED = "loaded", "stored", "updated", "unused"


def split_name(symbol: str, ctas: int) -> str:
    """The name of the variant of a kernel of which so many CTAs divide the loop along k."""
    return f"{symbol}__split{ctas}"
