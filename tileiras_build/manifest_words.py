"""The words of a launch manifest, for who writes one; ``launch_manifest.py`` reads them."""

from __future__ import annotations

VERSION = 2
POINTER, TENSOR_MAP = "pointer", "tensor_map"
# What a kernel does through an address.
LOADED, STORED, UPDATED, UNUSED = "loaded", "stored", "updated", "unused"
