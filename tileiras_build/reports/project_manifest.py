"""The libraries of a project as ``scons report`` records them in the build folder: their kernels and bytecode files.

    {"version": 1, "libraries": [{"name": "kernels", "folder": "build", "bytecode": {"sm_90/add_f32": "build/tilebc/add_f32.tilebc"}}]}

Paths are relative to the project's folder, in which SCons runs. A build folder without this file is one unnamed library.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..core.errors import InvalidInput, Location
from ..core.file_io import read_stored, write_files
from .report_paths import cubins_of, project_path

VERSION = 1


@dataclass
class Library:
    """One library in its build folder: the paths of its kernels' bytecode by "GPU/name"."""

    name: str
    folder: str
    bytecode: dict[str, str]


@dataclass(frozen=True)
class _Document:
    version: int
    libraries: list[Library]


@dataclass(frozen=True)
class Member:
    """A cubin, its library ("" if unknown), and the bytecode that it was compiled from."""

    library: str
    cubin: Path
    bytecode: Path


def write_project(build_dir: Path, libraries: Iterable[Library]) -> None:
    """Record the libraries for reports on ``build_dir``. Raises InvalidInput[write-failed]."""
    write_files({project_path(build_dir): msgspec.json.encode(_Document(VERSION, list(libraries)))})


def read_members(build_dir: Path) -> list[Member]:
    """The cubins of ``build_dir`` and of the folders of the project's other libraries. Raises InvalidInput[report-project]."""
    libraries = _read_libraries(project_path(build_dir))
    root = _root(build_dir, libraries)
    folders = {one.folder: root / one.folder for one in libraries[1:]} | {
        one.folder: build_dir for one in libraries[:1]
    }
    owners = {(one.folder, key): one for one in libraries for key in one.bytecode}
    namesakes = _by_name(libraries)
    found = []
    for name, folder in (folders or {"": build_dir}).items():
        for cubin in cubins_of(folder):
            key = f"{cubin.parent.name}/{cubin.stem}"
            owner = owners.get((name, key)) or namesakes.get((name, cubin.stem))
            noted = root / owner.bytecode[key] if owner and key in owner.bytecode else None
            found.append(Member(owner.name if owner else "", cubin, _bytecode(cubin, noted)))
    return found


def _by_name(libraries: Iterable[Library]) -> dict[tuple[str, str], Library | None]:
    """The library of a kernel by folder and name, for GPUs that the last run did not build too; None if ambiguous."""
    found: dict[tuple[str, str], Library | None] = {}
    for one in libraries:
        for name in {key.partition("/")[2] for key in one.bytecode}:
            found[one.folder, name] = None if (one.folder, name) in found else one
    return found


def project_root(build_dir: Path) -> Path:
    """The project's folder if the build folder records it, else the current one. Raises InvalidInput[report-project]."""
    return _root(build_dir, _read_libraries(project_path(build_dir)))


def _root(build_dir: Path, libraries: list[Library]) -> Path:
    """The folder relative to which the first library's folder is ``build_dir``; a relative path if it is the current one."""
    parts, found = Path(libraries[0].folder).parts if libraries else (), build_dir.resolve()
    if not parts or found.parts[-len(parts) :] != parts:
        return Path()
    root = Path(*found.parts[: -len(parts)])
    return Path() if root == Path.cwd() else root


def _bytecode(cubin: Path, noted: Path | None) -> Path:
    """The recorded path, or else where a build writes it: next to the cubin (C++), or one file for all GPUs."""
    own, shared = cubin.with_suffix(".tilebc"), cubin.parent.parent / "tilebc" / f"{cubin.stem}.tilebc"
    return next((path for path in (noted, own) if path and path.exists()), shared)


def _read_libraries(path: Path) -> list[Library]:
    if not path.exists():
        return []
    try:
        document = msgspec.json.decode(read_stored(path), type=_Document)
        if document.version != VERSION:
            raise ValueError(f"version {document.version}, expected {VERSION}")
        return document.libraries
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"corrupt project record: {error}"
        raise InvalidInput("report-project", message, location=Location(str(path)), remedy="delete it") from None
