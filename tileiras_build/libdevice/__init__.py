"""libdevice, NVIDIA's math library in LLVM bitcode: finding it, and linking what a kernel needs (blobLinkedLib)."""

from .closures import ClosureStore, cache_directory, unresolved
from .find import DEFAULT_NAME, find_libdevice
from .link import called_symbols, link_needed, store_for

__all__ = [
    "DEFAULT_NAME",
    "ClosureStore",
    "cache_directory",
    "called_symbols",
    "find_libdevice",
    "link_needed",
    "store_for",
    "unresolved",
]
