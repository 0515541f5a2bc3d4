"""The files of the package that a function depends on, and their digest, which keys derived results.

The dependencies of a module are its file, what it imports at any level of indentation, modules that it names in a
string of its own, and non-Python files next to any of these. A package's ``__init__`` counts only if it is named
itself: its imports for other modules are irrelevant here. Import statements are found by text search, in a tenth of the
time of parsing syntax trees: a build does this at each start. A false match costs a rebuild at most.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
NAME = PACKAGE.name
TABLE_FILES = frozenset(("__init__.py", "pipeline/pass_verifiers.py", "pipeline/stages.py"))
"""Files that name modules for others to import: they count themselves; the named modules count only if imported."""

_NAMED = re.compile(rf"[\"']{NAME}((?:\.\w+)+)".encode())
_COMMENT = re.compile(r"#.*")
_NAMES = f"{NAME}.".encode()
# The tracer replaces the function of ``os`` by one that reports reads (``core/tracing/audit_hooks.py``), in twice the
# time.
_stat = os.stat
_DATA = (".bc", ".css", ".html", ".jinja", ".js", ".ll")


class PackageSources:
    """The files of the package in ``root``, each read once; paths are relative to it, with slashes."""

    def __init__(self, root: Path = PACKAGE):
        self.root = str(root)
        self._contents: dict[str, bytes] = {}
        self._states: list[tuple] = []
        self._needed: dict[str, frozenset[str]] = {}

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of code or package data."""
        found: set[str] = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != "__pycache__"]
            inner = os.path.relpath(folder, self.root).replace(os.sep, "/")
            found.update(_join(inner, name) for name in names if name.endswith((".py", *_DATA)))
        return frozenset(found)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths of ``files``."""
        return tuple(os.path.join(self.root, path) for path in sorted(self.files))

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder with one of ``files``."""
        return frozenset(path.rpartition("/")[0] for path in self.files)

    def read(self, path: str) -> bytes:
        """The contents of a file."""
        if path not in self._contents:
            self.note()
            with open(os.path.join(self.root, path), "rb") as stream:
                self._contents[path] = stream.read()
        return self._contents[path]

    def note(self) -> None:
        """Record the stat of all files before anything is read: later changes are detected."""
        self._states = self._states or self._current_states()

    def is_as_read(self) -> bool:
        """Whether the files are unchanged since they were read, by their stat."""
        return not self._states or self._states == self._current_states()

    def code_of(self, modules: Iterable[str]) -> frozenset[str]:
        """The files of the code of ``modules``, dotted names with or without a function (``module:function``)."""
        seen: set[str] = set()
        waiting = [path for module in modules if (path := self._file_of(module.partition(":")[0]))]
        while waiting:
            path = waiting.pop()
            if path not in seen:
                seen.add(path)
                waiting += self._needed_by(path)
        return frozenset(seen | self._data_beside(seen))

    def digest(self, paths: Iterable[str]) -> bytes:
        """SHA-256 over the names and contents of files."""
        import hashlib  # loads OpenSSL, which a command on one kernel does not need

        digest = hashlib.sha256()
        for path in sorted(paths):
            digest.update(f"{path}\0".encode() + self.read(path) + b"\0")
        return digest.digest()

    def _current_states(self) -> list[tuple]:
        return list(map(_state, self.paths))

    def _data_beside(self, paths: set[str]) -> set[str]:
        folders = {path.rpartition("/")[0] for path in paths} - {""}
        return {path for path in self.files if path.endswith(_DATA) and path.rpartition("/")[0] in folders}

    def _needed_by(self, path: str) -> frozenset[str]:
        if path not in self._needed:
            modules = () if path in TABLE_FILES else _modules_in(self.read(path), path)
            self._needed[path] = frozenset(filter(None, map(self._file_of, modules)))
        return self._needed[path]

    def _file_of(self, module: str) -> str | None:
        """The file of a module; None for names outside of this package."""
        if not module.startswith(NAME):
            return None
        inner = module[len(NAME) + 1 :].replace(".", "/")
        if f"{inner}.py" in self.files:
            return f"{inner}.py"
        path = _join(inner, "__init__.py")
        return path if path in self.files else None


@cache
def installed() -> PackageSources:
    """The running package."""
    return PackageSources()


@cache
def code_digest(*modules: str) -> str:
    """SHA-256 (hex) over the code of ``modules`` of the running package."""
    package = installed()
    return package.digest(package.code_of(modules)).hex()


def library_version(name: str) -> str:
    """The installed version of distribution ``name``, "none" if it is absent; of "python", major and minor."""
    if name == "python":
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    # Importing this takes as long as a quarter of a no-op build, which does not need it.
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def _state(path: str) -> tuple:
    try:
        found = _stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _join(folder: str, name: str) -> str:
    return name if folder in ("", ".") else f"{folder}/{name}"


def _modules_in(text: bytes, path: str) -> set[str]:
    """The possible imports of the file at ``path``: modules, and names in modules that may be modules."""
    named = _NAMED.findall(text) if _NAMES in text else ()
    found = {NAME + name.decode() for name in named}
    for statement in _import_statements(text):
        found.update(_imported(statement, path))
    return found


def _import_statements(text: bytes) -> Iterator[str]:
    """``from x import (a, b)`` and ``import x``, each in one line."""
    position = text.find(b"import")
    while position >= 0:
        start = text.rfind(b"\n", 0, position) + 1
        end = text.find(b"\n", position)
        end = len(text) if end < 0 else end
        if text[start:end].lstrip().startswith((b"from ", b"import ")):
            opened = text.find(b"(", position, end)
            end = text.find(b")", opened) if opened >= 0 else end
            statement = text[start:end].decode(errors="replace")
            yield _COMMENT.sub("", statement).replace("(", " ").strip()
        position = text.find(b"import", max(end, position + 1))


def _imported(statement: str, path: str) -> Iterator[str]:
    names = [part.split(None, 1)[0] for part in statement.partition("import ")[2].split(",") if part.strip()]
    if statement.startswith("import "):
        yield from names
        return
    base = _absolute(statement.split()[1], path)
    yield base
    yield from (f"{base}.{name}" for name in names)


def _absolute(module: str, path: str) -> str:
    """The absolute name of ``module`` in the file at ``path``: "..errors" is relative."""
    name = module.lstrip(".")
    level = len(module) - len(name)
    if not level:
        return module
    folder = [NAME, *path.split("/")[:-1]]
    return ".".join([*folder[: len(folder) - level + 1], *([name] if name else [])])
