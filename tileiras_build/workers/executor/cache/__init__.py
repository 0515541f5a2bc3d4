"""The build cache: the outputs of steps by a key of their inputs, in a folder, on an HTTP server or in an object store.

An entry has two kinds of records, as in other build tools with a remote cache: ``ac/<key>`` lists the files of the step with
the SHA-256 of each, ``cas/<SHA-256>`` is the contents of one file. Both are verified when they are read: a damaged record
costs a rebuild, which rewrites it.
"""

from .build_cache import BuildCache
from .open_store import open_store
from .store import Store, StoreError

__all__ = ["BuildCache", "Store", "StoreError", "open_store"]
