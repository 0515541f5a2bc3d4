"""The libraries of a project, which ``scons report`` notes in the build folder: whose kernels there are, and their bytecode.

    {"version": 1, "libraries": [{"name": "kernels", "folder": "build", "bytecode": {"sm_90/add_f32": "build/tilebc/add_f32.tilebc"}}]}

Paths are those of the folder that SCons runs in. A build folder without this file is one library without a name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..errors import InvalidInput, Location
from ..files import read_file, write_files
from .folder import cubins_of, project_path

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
    # The first library's folder is this one, wherever the report is read from.
    folders = {one.folder: Path(one.folder) for one in libraries[1:]} | {one.folder: build_dir for one in libraries[:1]}
    owners = {(one.folder, key): one for one in libraries for key in one.bytecode}
    found = []
    for name, folder in (folders or {"": build_dir}).items():
        for cubin in cubins_of(folder):
            key = f"{cubin.parent.name}/{cubin.stem}"
            owner = owners.get((name, key))
            found.append(
                Member(owner.name if owner else "", cubin, _bytecode(cubin, owner.bytecode[key] if owner else None))
            )
    return found


def _bytecode(cubin: Path, noted: str | None) -> Path:
    """Where it was, or else where a build leaves it: once for all GPUs, or that of C++ beside what is made of it."""
    own, shared = cubin.with_suffix(".tilebc"), cubin.parent.parent / "tilebc" / f"{cubin.stem}.tilebc"
    return next((path for path in (noted and Path(noted), own) if path and path.exists()), shared)


def _read_libraries(path: Path) -> list[Library]:
    if not path.exists():
        return []
    try:
        document = msgspec.json.decode(read_file(path), type=_Document)
        if document.version != VERSION:
            raise ValueError(f"version {document.version}, expected {VERSION}")
        return document.libraries
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"this is not what a build notes of its libraries: {error}"
        raise InvalidInput("report-project", message, location=Location(str(path)), remedy="delete it") from None
