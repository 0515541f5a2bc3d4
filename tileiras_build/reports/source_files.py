"""The source files that debug information names, as far as a report may show them: texts in the project's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LARGEST = 1 << 20  # bytes


@dataclass(frozen=True)
class Source:
    """One file; ``text`` is None where it is not shown, ``is_newer`` says that it was changed after the bytecode was made."""

    name: str
    text: str | None
    is_newer: bool = False


class SourceFiles:
    """Reads each file once. Bytecode may come from elsewhere, so what it names outside of ``root`` is nobody's business."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        self._texts: dict[str, tuple[str, float] | None] = {}

    def read(self, name: str, bytecode: Path) -> Source:
        """The file of this name, relative to the root or absolute, that ``bytecode`` was made from."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        if (found := self._texts[name]) is None:
            return Source(name, None)
        return Source(name, found[0], bytecode.exists() and found[1] > bytecode.stat().st_mtime)

    def _read(self, name: str) -> tuple[str, float] | None:
        try:
            path = (self.root / name).resolve()
            state = path.stat()
            if not path.is_relative_to(self.root) or not path.is_file() or state.st_size > LARGEST:
                return None
            return path.read_text(encoding="utf-8"), state.st_mtime
        except (OSError, ValueError):
            return None
