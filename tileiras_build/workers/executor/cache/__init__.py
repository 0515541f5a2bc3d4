"""The build cache: what a step made, kept by what decides its bytes, in a folder or on an HTTP server.

An entry is two kinds of record, as build tools with a remote cache keep them: ``ac/<key>`` says which files the step
made and the SHA-256 of each, ``cas/<SHA-256>`` is one file's bytes. Both are verified when they are read, so that a
damaged record costs a rebuild and is then written anew.
"""

from .build_cache import BuildCache
from .open_store import open_store
from .store import Store, StoreError

__all__ = ["BuildCache", "Store", "StoreError", "open_store"]
