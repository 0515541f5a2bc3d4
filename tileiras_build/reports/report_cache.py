"""Contents that a report keeps in the build folder for the next one, by names that are digests of what they were made from."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path

from ..core.errors import InvalidInput
from ..core.file_io import read_stored, replace_files


class ReportCache:
    """The files of a folder of its own; may be asked from several threads at once."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._wanted: set[str] = set()

    def read(self, name: str) -> bytes | None:
        """What was kept by this name; None where nothing is, or it is damaged."""
        self.want(name)
        try:
            return zlib.decompress(read_stored(self.folder / name))
        except (InvalidInput, zlib.error):
            return None

    def want(self, name: str) -> None:
        """A later report will ask for this name."""
        self._wanted.add(name)

    def write(self, name: str, data: bytes) -> None:
        """Keep it. Raises InvalidInput[write-failed]."""
        self.want(name)
        replace_files({self.folder / name: zlib.compress(data)})

    def remove_unwanted(self) -> None:
        """Remove what nobody has asked for."""
        for path in self.folder.glob("*"):
            if path.name not in self._wanted:
                with suppress(OSError):
                    path.unlink()
