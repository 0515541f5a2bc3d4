"""A store in a folder, which may lie on a file system that several machines share.

``<folder>/<kind>/<first two digits>/<name>``: a record appears whole, since it is renamed into its place. What a
killed build leaves are hidden temporary files, which are no records.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from ...errors import TileirasError
from ...files import write_files
from .store import StoreError

TOUCH_AFTER = 3600.0  # seconds; a record's time is that of its last use, this coarsely


class FolderStore:
    """Records in ``folder``, which is made with the first one."""

    def __init__(self, folder: Path):
        self.folder, self.place = folder, str(folder)

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, None where there is none; raises StoreError."""
        path = self.path(kind, name)
        try:
            with open(path, "rb") as stream:
                found = os.fstat(stream.fileno())
                data = stream.read(min(limit, found.st_size) + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(error.strerror or str(error)) from None
        if time.time() - found.st_mtime > TOUCH_AFTER:
            # A folder that may only be read keeps the time of writing.
            with suppress(OSError):
                os.utime(path)
        return data

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Keep a record; raises StoreError."""
        try:
            write_files({self.path(kind, name): data})
        except TileirasError as error:
            raise StoreError(error.message) from None

    def path(self, kind: str, name: str) -> Path:
        """The file of a record."""
        return self.folder / kind / name[:2] / name
