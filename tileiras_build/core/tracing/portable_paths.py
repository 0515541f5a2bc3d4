"""File names that are valid on every machine: relative to the project or the Python installation, else absolute."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cached_property

_PROJECT, _INSTALLATION = "#/", "python:/"


@dataclass(frozen=True)
class PortablePaths:
    """The folders that names are relative to: ``root`` of the project, ``prefix`` of the interpreter's environment."""

    root: str
    prefix: str = sys.prefix

    @cached_property
    def _rows(self) -> tuple[tuple[str, str], ...]:
        """(mark, folder), innermost folder first: an environment may be inside the project."""
        rows = ((_PROJECT, self.root), (_INSTALLATION, self.prefix))
        return tuple(sorted(((mark, os.path.normpath(folder)) for mark, folder in rows), key=lambda row: -len(row[1])))

    def name(self, path: str) -> str:
        """The name of an absolute path."""
        for mark, folder in self._rows:
            if path == folder:
                return mark
            if path.startswith(folder + os.sep):
                return mark + path[len(folder) + 1 :]
        return path

    def path(self, name: str) -> str:
        """The local path of ``name``."""
        for mark, folder in self._rows:
            if name.startswith(mark):
                return os.path.normpath(os.path.join(folder, name[len(mark) :]))
        return name

    def any_below(self, path: str) -> bool:
        """Whether one of the folders is ``path`` or below it: results do not depend on the location of a project."""
        return any(folder == path or folder.startswith(path.rstrip(os.sep) + os.sep) for _, folder in self._rows)
