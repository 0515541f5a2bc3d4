"""The modules of artifacts that this process has just written, for the step that reads one of them next.

A worker of a build runs one stage at a time, from file to file. Parsing a text costs more than most stages, and the worker
that wrote it still has its module. Only bytes that are equal to the written ones find it: what an editor or a cache has put
in place is parsed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

MOST = 2  # modules of one worker: builds with as many jobs as workers rarely need more
_written: deque[tuple[str, bytes, ModuleOp]] = deque(maxlen=0)


def keep_written() -> None:
    """From now on this process keeps the modules of the last artifacts that it has written."""
    global _written
    _written = deque(maxlen=MOST)


def put(suffix: str, data: bytes, module: ModuleOp) -> None:
    """``module`` was written as ``data`` to the artifact ``suffix``; its owner no longer uses it."""
    _written.append((suffix, data, module))


def take(suffix: str, data: bytes) -> ModuleOp | None:
    """The module whose artifact ``suffix`` is ``data``, once: the caller may change it."""
    for entry in _written:
        if entry[:2] == (suffix, data):
            _written.remove(entry)
            return entry[2]
    return None
