"""The paths that a program has created: reading them is not a dependency."""

from __future__ import annotations

import os


class CreatedPaths:
    """Absolute paths of files and folders; a path is contained if it, or an ancestor of it, was created."""

    def __init__(self) -> None:
        self._paths: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._paths)

    def __contains__(self, path: str) -> bool:
        return path in self._paths or any(path.startswith(f"{folder}{os.sep}") for folder in self._paths)

    def add(self, path: str) -> None:
        """Record that ``path`` was created."""
        self._paths.add(path)

    def has_exactly(self, path: str) -> bool:
        """Whether ``path`` itself was created, rather than an ancestor of it."""
        return path in self._paths
