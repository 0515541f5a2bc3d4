"""A store in a folder, which may be on a file system that several machines share.

``<folder>/<kind>/<first two digits>/<name>``: a record is created atomically. On file systems without anonymous files, a
killed build may leave hidden temporary files, which are not records.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from ....core.errors import TileirasError
from ....core.file_io import replace_files
from .store import StoreError

# No record, or another kind of file on its path: a loop of links, a file in place of a folder, a socket.
_NO_FILE = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG)
TOUCH_AFTER = 3600.0  # seconds; resolution of the time of last use of a record


class FolderStore:
    """Records in ``folder``, which is created with the first one."""

    def __init__(self, folder: Path):
        self.folder, self.location = folder, str(folder)

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, None if there is none; raises StoreError."""
        path = self.path(kind, name)
        try:
            return read_record(path, limit)
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise StoreError(error.strerror or str(error)) from None

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Store a record; raises StoreError."""
        try:
            replace_files({self.path(kind, name): data})
        except TileirasError as error:
            raise StoreError(error.message) from None

    def interrupt(self) -> None:
        """Do nothing: a file system that does not respond blocks the whole process."""

    def path(self, kind: str, name: str) -> Path:
        """The file of a record."""
        return self.folder / kind / name[:2] / name


def read_record(path: Path, limit: int) -> bytes | None:
    """The first ``limit`` + 1 bytes of a regular file; None for anything else of this name. Raises OSError.

    Anybody who can write to the folder may put a device or a pipe there, which may block, or a link to one.
    """
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return None
    # It may have been replaced since.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        data = stream.read(min(limit, found.st_size) + 1)
        if time.time() - found.st_mtime > TOUCH_AFTER:
            # A read-only folder keeps the time of writing.
            with suppress(OSError):
                os.utime(descriptor)
    return data
