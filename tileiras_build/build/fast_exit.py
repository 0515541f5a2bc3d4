"""The end of a build's process: what it has in memory is left to the system, where no object's end would do more than that.

Before Python ends it looks for cycles among all objects and takes them apart: with a library of 4,000 kernels for 4 GPUs a
tenth of what an edit costs. Files that are open still are written then, and whatever else people's objects do when they go:
where there is any such object, Python does as ever.
"""

from __future__ import annotations

import gc
import io

from SCons import dblite

_STANDARD = (0, 1, 2)  # descriptors of the streams that Python writes in any case


def skip_final_gc() -> None:
    """To be called when the process ends: what is in memory now is not looked at any more, unless somebody's end does more."""
    found = gc.get_objects()
    ending = {kind for kind in set(map(type, found)) if hasattr(kind, "__del__")}
    if not any(_has_finalizer(thing) for thing in found if type(thing) in ending):
        gc.freeze()


def _has_finalizer(thing: object) -> bool:
    """Whether the end of ``thing``, whose class says what it does then, could be seen."""
    if isinstance(thing, dblite._Dblite):
        return thing._needs_sync
    if not isinstance(thing, io.IOBase):
        return True
    return not thing.closed and thing.fileno() not in _STANDARD
