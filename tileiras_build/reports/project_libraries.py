"""The libraries of a project, which ``scons report`` notes in the build folder: whose kernels there are, and their bytecode.

    {"version": 1, "libraries": [{"name": "kernels", "folder": "build", "bytecode": {"sm_90/add_f32": "build/tilebc/add_f32.tilebc"}}]}

Paths are seen from the project's folder, in which SCons runs. A build folder without this file is one library without a name.
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
    """The kernels of one library in its build folder: the path of their bytecode by "GPU/name"."""

    name: str
    folder: str
    bytecode: dict[str, str]


@dataclass(frozen=True)
class _Document:
    version: int
    libraries: list[Library]


@dataclass(frozen=True)
class Member:
    """A cubin, the library that it is of, "" where the folder does not say, and the bytecode that it is made from."""

    library: str
    cubin: Path
    bytecode: Path


def write_project(build_dir: Path, libraries: Iterable[Library]) -> None:
    """Note the libraries for reports on ``build_dir``. Raises InvalidInput[write-failed]."""
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
    """By folder and name the library of a kernel, also on GPUs that the last run has not asked for; None where there are several."""
    found: dict[tuple[str, str], Library | None] = {}
    for one in libraries:
        for name in {key.partition("/")[2] for key in one.bytecode}:
            found[one.folder, name] = None if (one.folder, name) in found else one
    return found


def project_root(build_dir: Path) -> Path:
    """The project's folder, where the build folder says which one that is, else this one. Raises InvalidInput[report-project]."""
    return _root(build_dir, _read_libraries(project_path(build_dir)))


def _root(build_dir: Path, libraries: list[Library]) -> Path:
    """The folder from which the first library's is ``build_dir``; a relative path where it is this one."""
    parts, found = Path(libraries[0].folder).parts if libraries else (), build_dir.resolve()
    if not parts or found.parts[-len(parts) :] != parts:
        return Path()
    root = Path(*found.parts[: -len(parts)])
    return Path() if root == Path.cwd() else root


def _bytecode(cubin: Path, noted: Path | None) -> Path:
    """Where it was, or else where a build leaves it: once for all GPUs, or that of C++ beside what is made of it."""
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
        message = f"this is not what a build notes of its libraries: {error}"
        raise InvalidInput("report-project", message, location=Location(str(path)), remedy="delete it") from None
