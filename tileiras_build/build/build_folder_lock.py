"""The lock of a build folder: one build at a time."""

from __future__ import annotations

import fcntl
import os
import sys

_lock: int | None = None  # the descriptor of the locked folder


def lock_folder(folder: str) -> bool:
    """Wait until no other build runs in ``folder``; True if there was one. The lock is held until this process ends."""
    global _lock
    if _lock is not None:
        return False
    _lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("scons: another build is running in this folder; waiting for it to finish", file=sys.stderr)
    except OSError:
        # A file system without locks.
        return False
    else:
        return False
    fcntl.flock(_lock, fcntl.LOCK_EX)
    return True
