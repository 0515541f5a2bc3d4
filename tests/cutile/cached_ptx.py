"""Where the strict driver finds the PTX of cubins that its client compiles as it goes: in the client's cache on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.strict_driver.server import MEMORY_SIZE, StrictDriver
from tileiras_build.workers.executor.cache.action_result import DamagedRecord, decode


class KeptKernels:
    """The kernels that the cache in a folder has; each of its records is read once."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._seen: set[Path] = set()
        self._ptx: dict[str, str] = {}  # digests of PTX by those of cubins

    def ptx_of(self, cubin_digest: str) -> str | None:
        """The PTX that a cubin of this SHA-256 (hex) was assembled from, if the cache has it."""
        if cubin_digest not in self._ptx:
            self._read_new()
        digest = self._ptx.get(cubin_digest)
        return None if digest is None else (self._folder / "cas" / digest[:2] / digest).read_text()

    def _read_new(self) -> None:
        for record in (self._folder / "ac").rglob("*"):
            if record in self._seen or not record.is_file():
                continue
            try:
                files = decode(record.name, record.read_bytes())
            except (DamagedRecord, FileNotFoundError):
                continue  # one that is being written
            self._seen.add(record)
            if "kernel.cubin" in files:
                self._ptx[files["kernel.cubin"].hash] = files["kernel.ptx"].hash


class CachedDriver(StrictDriver):
    """A strict driver whose clients compile with their cache in ``kept``."""

    def __init__(self, folder: Path, sm: str, kept: Path, size: int = MEMORY_SIZE):
        super().__init__(folder, sm, size)
        self.kept, self._kernels = kept, KeptKernels(kept)

    def environment(self, python_path=()) -> dict[str, str]:
        return super().environment(python_path) | {"TILEIRAS_CUTILE_CACHE": str(self.kept)}

    def _launch(self, words, body):
        size = int(words[-3])
        digest = hashlib.sha256(body[:size])
        if digest.digest() not in self.images and (ptx := self._kernels.ptx_of(digest.hexdigest())):
            self.images[digest.digest()] = ptx
        return super()._launch(words, body)
