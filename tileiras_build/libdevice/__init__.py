"""libdevice, NVIDIA's math library in LLVM bitcode: finding it, and linking what a kernel needs (blobLinkedLib).

Only the search is imported here: build scripts ask where the file is and need not load LLVM for that. The work is in
``library`` (taking the file apart), ``closures`` (cutting what functions need) and ``link``.
"""

from .locate_libdevice import DEFAULT_NAME, find_libdevice

__all__ = ["DEFAULT_NAME", "find_libdevice"]
