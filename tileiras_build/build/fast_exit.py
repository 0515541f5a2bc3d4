"""Ends the build's process without Python's final garbage collection, unless an object has a finalizer with visible effects.

Before Python exits it collects cycles among all objects: with a library of 4,000 kernels for 4 GPUs a tenth of the cost of
an edit. Open files are then flushed, and finalizers of the user's objects run: if there is any such object, Python exits as
usual.
"""

from __future__ import annotations

import gc
import io

from SCons import dblite

_STANDARD = (0, 1, 2)  # descriptors of the streams that Python flushes in any case


def skip_final_gc() -> None:
    """Call at exit: exempt the current objects from garbage collection, unless one has a finalizer."""
    found = gc.get_objects()
    ending = {kind for kind in set(map(type, found)) if hasattr(kind, "__del__")}
    if not any(_has_finalizer(thing) for thing in found if type(thing) in ending):
        gc.freeze()


def _has_finalizer(thing: object) -> bool:
    """Whether the finalizer of ``thing``, according to its class, could have a visible effect."""
    if isinstance(thing, dblite._Dblite):
        return thing._needs_sync
    if not isinstance(thing, io.IOBase):
        return True
    return not thing.closed and thing.fileno() not in _STANDARD
