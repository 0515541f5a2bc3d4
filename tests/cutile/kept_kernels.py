"""Where the strict driver finds the PTX of cubins that its client compiles as it goes: in the client's cache on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.strict_driver.server import StrictDriver
from tileiras_build.executor.cache.action_result import decode


def ptx_of(cubin_digest: str, folder: Path) -> str | None:
    """The PTX that a cubin of this SHA-256 (hex) was assembled from, if the cache in ``folder`` has it."""
    for record in (folder / "ac").rglob("*"):
        if record.is_file():
            files = decode(record.name, record.read_bytes())
            if "kernel.cubin" in files and files["kernel.cubin"].hash == cubin_digest:
                digest = files["kernel.ptx"].hash
                return (folder / "cas" / digest[:2] / digest).read_text()
    return None


class CachedDriver(StrictDriver):
    """A strict driver whose clients compile with their cache in ``kept``."""

    def __init__(self, folder: Path, sm: str, kept: Path):
        super().__init__(folder, sm)
        self.kept = kept

    def environment(self, python_path=()) -> dict[str, str]:
        return super().environment(python_path) | {"TILEIRAS_CUTILE_CACHE": str(self.kept)}

    def _launch(self, words, body):
        size = int(words[-3])
        digest = hashlib.sha256(body[:size])
        if digest.digest() not in self.images and (ptx := ptx_of(digest.hexdigest(), self.kept)):
            self.images[digest.digest()] = ptx
        return super()._launch(words, body)
