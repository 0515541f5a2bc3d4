"""The source files named by debug information that a report may show: text files in the project's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MAX_SOURCE_BYTES = 1 << 20


@dataclass(frozen=True)
class Source:
    """One file; ``text`` is None if it is not shown; ``is_newer``: it changed after the bytecode was written."""

    name: str
    text: str | None
    is_newer: bool = False


class SourceFiles:
    """Reads each file once. Bytecode is untrusted: files outside of ``root`` are not read."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        self._texts: dict[str, tuple[str, float] | None] = {}

    def read(self, name: str, bytecode: Path) -> Source:
        """The source file of ``bytecode`` with this name, relative to the root or absolute."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        if (found := self._texts[name]) is None:
            return Source(name, None)
        return Source(name, found[0], bytecode.exists() and found[1] > bytecode.stat().st_mtime)

    def _read(self, name: str) -> tuple[str, float] | None:
        try:
            path = (self.root / name).resolve()
            state = path.stat()
            if not path.is_relative_to(self.root) or not path.is_file() or state.st_size > MAX_SOURCE_BYTES:
                return None
            return path.read_text(encoding="utf-8"), state.st_mtime
        except (OSError, ValueError):
            return None
