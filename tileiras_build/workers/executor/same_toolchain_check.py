"""The digest of everything that makes artifacts from bytecode: a cluster's worker is used only if its digest is the same.

Versions are not enough: an edited checkout or library keeps its version. So the digest covers files: of this package as it was
loaded, and of the installed libraries. Not covered are ptxas and libdevice, whose contents are sent with each call, and Dask
itself.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from ...core.code_digest import PACKAGE as PACKAGE_FOLDER
from ...core.code_digest import installed, library_version
from ...core.file_io import file_digest
from ...pipeline.stages import LIBDEVICE, STAGES, source_files

PACKAGE = "tileiras-build"
_STAGES = (*STAGES[1:], LIBDEVICE)
# Needs of a step besides the sources of its stage.
_OWN = (
    "tileiras_build.workers.executor.dask_worker",
    "tileiras_build.workers.executor.preload",
    "tileiras_build.workers.executor.worker",
)


@dataclass(frozen=True)
class Component:
    """A part of the toolchain: its version, and SHA-256 (hex) over its files, "" if none are known."""

    version: str
    digest: str

    def __str__(self) -> str:
        return f"{self.version} (files {self.digest[:8]})" if self.digest else self.version


@cache
def components() -> dict[str, Component]:
    """All of them by name: Python, the libraries of the stages, this package."""
    libraries = sorted({name for stage in _STAGES for name in stage.libraries} - {"python"})
    with ThreadPoolExecutor(4) as threads:  # hashlib releases the GIL
        found = dict(zip(libraries, threads.map(_library, libraries), strict=True))
    return {"Python": Component(library_version("python"), "")} | found | {PACKAGE: _package()}


def digest_of(of: dict[str, Component]) -> str:
    """SHA-256 (hex) over ``of``."""
    lines = [f"{name} {part.version} {part.digest}" for name, part in sorted(of.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def difference(theirs: dict[str, Component], ours: dict[str, Component]) -> str:
    """The most relevant difference between their components and this build's, in words; "" if there is none."""
    none = Component("none", "")
    for name in (PACKAGE, *ours, *theirs):
        if theirs.get(name) != ours.get(name):
            return f"has {name} {theirs.get(name, none)}, this build has {name} {ours.get(name, none)}"
    return ""


def _package() -> Component:
    files = {path.relative_to(PACKAGE_FOLDER).as_posix() for stage in _STAGES for path in source_files(stage)}
    digest = installed().digest(files | installed().code_of(_OWN))
    return Component(library_version(PACKAGE), digest.hex())


def _library(name: str) -> Component:
    try:
        files = metadata.distribution(name).files
    except metadata.PackageNotFoundError:
        return Component("none", "")
    return Component(library_version(name), _digest(_of_the_library(files or ())))


def _of_the_library(files: Iterable[metadata.PackagePath]) -> Iterator[tuple[str, str]]:
    """(name, path) of the files that are the same in every installation: no scripts, no records of pip."""
    for file in files:
        path = str(file.locate())
        is_own = not {"..", "__pycache__"}.intersection(file.parts) and not file.parts[0].endswith(".dist-info")
        if is_own and os.path.isfile(path):
            yield file.as_posix(), path


def _digest(files: Iterable[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    for name, path in sorted(files):
        digest.update(f"{name} {file_digest(path)}\n".encode())
    return digest.hexdigest()
