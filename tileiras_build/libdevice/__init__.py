"""libdevice, NVIDIA's math library in LLVM bitcode: locate it, and link what a kernel needs (blobLinkedLib).

Only the search is imported here: build scripts need the file's path, but not LLVM. The other modules are
``split_library``, ``bitcode_closures`` (extracting what functions need) and ``link``.
"""

from .locate_libdevice import DEFAULT_NAME, find_libdevice

__all__ = ["DEFAULT_NAME", "find_libdevice"]
