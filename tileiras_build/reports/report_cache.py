"""The cache of a report in the build folder; entries are named by digests of their inputs."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path

from ..core.errors import InvalidInput
from ..core.file_io import read_stored, replace_files


class ReportCache:
    """A cache in a folder of its own; thread-safe."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._wanted: set[str] = set()

    def read(self, name: str) -> bytes | None:
        """The entry of this name; None if it is missing or damaged."""
        self.want(name)
        try:
            return zlib.decompress(read_stored(self.folder / name))
        except (InvalidInput, zlib.error):
            return None

    def want(self, name: str) -> None:
        """Mark an entry as used, so that it is kept."""
        self._wanted.add(name)

    def write(self, name: str, data: bytes) -> None:
        """Store an entry. Raises InvalidInput[write-failed]."""
        self.want(name)
        replace_files({self.folder / name: zlib.compress(data)})

    def remove_unwanted(self) -> None:
        """Remove the entries that were not used."""
        for path in self.folder.glob("*"):
            if path.name not in self._wanted:
                with suppress(OSError):
                    path.unlink()
