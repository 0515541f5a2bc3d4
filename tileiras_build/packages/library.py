"""A library's package: one image file of all kernels for all GPUs, its manifest, and the ways into it.

    <name>/__init__.py          import <name>; <name>.library["kernel"].launch(...)
    <name>/manifest.json        runtime/library_manifest.py
    <name>/<name>.fatbin        the kernels' fat binaries, end to end
    <name>/include/<name>.h     a launch function per kernel, for C and C++
    <name>/include/<name>.hpp   the same for C++17, with types
    <name>/src/<name>.c         their bodies
    <name>/src/<name>_image.c   the image as an array, where it is to be embedded
    <name>/cmake/<name>-config.cmake, <name>/lib/pkgconfig/<name>.pc    how builds find them

It is a Python package as it stands: copied below a project's source folder it goes into the project's wheel.
"""

from __future__ import annotations

import hashlib
import json
import keyword
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidInput, Location
from ..files import read_file
from ..launch_manifest import LaunchManifest, read_launch_manifest
from ..names import KERNEL, check_names
from ..pipeline.ll_to_ptx.metadata import manifest_of_ptx
from ..runtime.library_manifest import CUBIN, FILE_NAME, PTX, Image, LibraryManifest, render
from . import build_files, c_source
from .cpp_source import render_cpp_header
from .fatbin import Part, locate, make_fatbin

_INIT = '''"""Kernels built by tileiras_build: ``{name}.library["{example}"].launch(grid, *arguments, stream=stream)``."""

from pathlib import Path

try:
    from tileiras_build_runtime import Library
except ModuleNotFoundError:  # the compiler has it too
    from tileiras_build.runtime import Library

library = Library(Path(__file__).parent)
'''


@dataclass(frozen=True)
class KernelFiles:
    """What is packed of one kernel file: paths of its fat binary and of the artifacts in it.

    ``images`` are (kind, path) with kind CUBIN or PTX; beside a cubin lies its launch manifest (``.json``).
    """

    name: str
    fatbin: str
    images: tuple[tuple[str, str], ...]


def file_names(name: str, *, embed: bool = False) -> list[str]:
    """The files of package ``name``, relative to its folder; raises InvalidInput[package-name]."""
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
        message = f"{name!r} cannot be the name of a package"
        raise InvalidInput(
            "package-name", message, remedy="use letters, digits and underscores: C and Python import it"
        )
    image = [f"src/{name}_image.c"] if embed else []
    headers, builds = (
        [f"include/{name}.h", f"include/{name}.hpp"],
        [f"cmake/{name}-config.cmake", f"lib/pkgconfig/{name}.pc"],
    )
    return ["__init__.py", FILE_NAME, f"{name}.fatbin", *headers, f"src/{name}.c", *builds, *image]


def read_parts(images: Iterable[tuple[str, str]]) -> list[tuple[Part, LaunchManifest]]:
    """Each image with its launch manifest; raises InvalidInput naming a file that is missing or damaged."""
    return [_read_part(kind, Path(path)) for kind, path in images]


def _read_part(kind: str, path: Path) -> tuple[Part, LaunchManifest]:
    data = read_file(path)
    path = path if kind == PTX else path.with_suffix(".json")
    try:
        manifest = _read_manifest(manifest_of_ptx(data.decode()) if kind == PTX else json.loads(read_file(path)))
    except ValueError as error:
        message = f"this is not a launch manifest: {error}"
        raise InvalidInput("package-manifest", message, location=Location(str(path)), remedy="build it again") from None
    check_names((KERNEL, entry, lambda: Location(str(path))) for entry in manifest.kernels)
    return Part(kind, manifest.target, data), manifest


def _read_manifest(content: object) -> LaunchManifest:
    if not isinstance(content, dict) or not content.get("kernels"):
        raise ValueError("it says of no kernel how it is launched")
    return read_launch_manifest(content)


def pack_kernel(name: str, images: tuple[tuple[str, str], ...], fatbinary: str | None = None) -> bytes:
    """The fat binary of one kernel file; ``images`` as in KernelFiles."""
    return make_fatbin(name, tuple(part for part, _ in read_parts(images)), fatbinary)


def pack_library(name: str, files: Iterable[KernelFiles], *, embed: bool = False) -> dict[str, bytes]:
    """The files of a package by ``file_names``.

    Raises InvalidInput[package-entry] where two files hold kernels of one name: a launch could not tell them apart.
    """
    image = bytearray()
    kernels: dict[str, tuple[Image, ...]] = {}
    owners: dict[str, str] = {}
    for file in files:
        fatbin = read_file(file.fatbin)
        for entry, found in _images(file, fatbin, len(image)):
            if owners.setdefault(entry, file.name) != file.name:
                message = f"kernel {entry} is in {owners[entry]} and in {file.name}"
                raise InvalidInput("package-entry", message, remedy="rename one, or pack them apart")
            kernels[entry] = (*kernels.get(entry, ()), found)
        image += fatbin
    digest = hashlib.sha256(image).hexdigest()
    manifest = LibraryManifest(name, f"{name}.fatbin", len(image), digest, kernels)
    contents = [
        _INIT.format(name=name, example=min(kernels, default="kernel")).encode(),
        render(manifest),
        bytes(image),
        c_source.render_header(manifest).encode(),
        render_cpp_header(manifest).encode(),
        c_source.render_source(manifest).encode(),
        build_files.render_cmake(manifest, embed=embed).encode(),
        build_files.render_pc(manifest, embed=embed).encode(),
    ]
    contents += [c_source.render_image(manifest, bytes(image)).encode()] if embed else []
    return dict(zip(file_names(name, embed=embed), contents, strict=True))


def _images(file: KernelFiles, fatbin: bytes, base: int):
    """(entry, image) for every kernel of every image; PTX is found by the driver in the fat binary."""
    for part, manifest in read_parts(file.images):
        offset, size = locate(fatbin, part) if part.kind == CUBIN else (0, len(fatbin))
        for entry, launch in manifest.kernels.items():
            yield entry, Image(part.target, PTX if part.kind == PTX else CUBIN, base + offset, size, launch)
