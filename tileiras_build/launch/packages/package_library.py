"""The package of a library: one image file with all kernels for all GPUs, its manifest, and its C, C++ and Python interfaces.

    <name>/__init__.py          import <name>; <name>.library["kernel"].launch(...)
    <name>/torch_ops.py         import <name>.torch_ops; torch.ops.<name>.kernel(...)
    <name>/manifest.json        launch/runtime/library_manifest.py
    <name>/<name>.fatbin        the kernels' fat binaries, end to end
    <name>/include/<name>.h     a launch function per kernel, for C and C++
    <name>/include/<name>.hpp   the same for C++17, with types
    <name>/src/<name>.c         their bodies
    <name>/src/<name>_image.c   the image as an array, where it is to be embedded
    <name>/cmake/<name>-config.cmake, <name>/lib/pkgconfig/<name>.pc    how builds find them

The folder is a Python package: copied into a project's source folder it becomes part of the project's wheel.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...core.errors import InvalidInput
from ...core.file_io import read_file
from ...core.symbols.c_identifiers import c_identifiers
from ...manifest.variant_assumptions import variants_of
from ..runtime.library_manifest import CUBIN, FILE_NAME, PTX, Image, LibraryManifest
from ..runtime.library_manifest import render as render_manifest
from .fatbin import locate, make_fatbin
from .fatbin_inputs import read_images
from .generate_c_launcher import render_cpp_header, render_header, render_image, render_source
from .package_name import check_package_name
from .render_templates import render

# Folder names that need no quoting in any generated language.
_FOLDER = re.compile(r"(\w|[-+.@ ])+(/(\w|[-+.@ ])+)*")


@dataclass(frozen=True)
class KernelFiles:
    """The packaged files of one kernel file: paths of its fat binary and of the artifacts in it.

    ``images`` are (kind, path) with kind CUBIN or PTX; the launch manifest of a cubin is the ``.json`` next to it. ``name`` is
    its name in messages; two files may share one. ``folder`` is the folder of its source ("" if unknown), which
    distinguishes kernels of the same name.
    """

    name: str
    fatbin: str
    images: tuple[tuple[str, str], ...]
    folder: str = ""


def file_names(name: str, *, embed: bool = False) -> list[str]:
    """The files of package ``name``, relative to its folder; raises InvalidInput[package-name]."""
    check_package_name(name)
    image = [f"src/{name}_image.c"] if embed else []
    headers, builds = (
        [f"include/{name}.h", f"include/{name}.hpp"],
        [f"cmake/{name}-config.cmake", f"lib/pkgconfig/{name}.pc"],
    )
    return ["__init__.py", FILE_NAME, f"{name}.fatbin", "torch_ops.py", *headers, f"src/{name}.c", *builds, *image]


def pack_kernel(name: str, images: tuple[tuple[str, str], ...], fatbinary: str | None = None) -> bytes:
    """The fat binary of one kernel file; ``images`` as in KernelFiles."""
    return make_fatbin(name, tuple(part for part, _ in read_images(images)), fatbinary)


def pack_library(name: str, files: Iterable[KernelFiles], *, embed: bool = False) -> dict[str, bytes]:
    """The files of a package by ``file_names``.

    Kernels with the same name get their source's folder as a prefix. Raises InvalidInput[package-entry] if two files of one
    folder define kernels with the same name.
    """
    image = bytearray()
    found: dict[str, dict[KernelFiles, tuple[Image, ...]]] = {}
    for file in files:
        fatbin = read_file(file.fatbin)
        for symbol, one in _images(file, fatbin, len(image)):
            of_file = found.setdefault(symbol, {})
            of_file[file] = (*of_file.get(file, ()), one)
        image += fatbin
    kernels = {entry: images for symbol, owners in found.items() for entry, images in _entries(symbol, owners)}
    digest = hashlib.sha256(image).hexdigest()
    manifest = LibraryManifest(name, f"{name}.fatbin", len(image), digest, kernels)
    contents = [text.encode() for text in render_texts(manifest, embed=embed)]
    contents[1:1] = [render_manifest(manifest), bytes(image)]
    contents += [render_image(manifest, bytes(image)).encode()] if embed else []
    return dict(zip(file_names(name, embed=embed), contents, strict=True))


def _entries(symbol: str, owners: dict[KernelFiles, tuple[Image, ...]]) -> Iterator[tuple[str, tuple[Image, ...]]]:
    """The kernels with one name, with their folder as a prefix if there are several."""
    files = list(owners)
    for file, images in owners.items():
        is_named = _FOLDER.fullmatch(file.folder) is not None
        alike = [other for other in files if other is not file and (other.folder == file.folder or not is_named)]
        if alike:
            raise _two_of_one_name(symbol, *sorted((file, alike[0]), key=files.index))
        yield (f"{file.folder}/{symbol}" if len(files) > 1 else symbol), images


def _two_of_one_name(entry: str, one: KernelFiles, other: KernelFiles) -> InvalidInput:
    names = (one.name, other.name) if one.name != other.name else (one.fatbin, other.fatbin)
    message = f"kernel {entry} is defined in both {names[0]} and {names[1]}"
    return InvalidInput("package-entry", message, remedy="rename one, or use separate packages")


def render_texts(manifest: LibraryManifest, *, embed: bool) -> list[str]:
    """The text files of a package, in the order of ``file_names``."""
    example = min(manifest.kernels, default="kernel")
    sources = [f"src/{manifest.name}.c"] + ([f"src/{manifest.name}_image.c"] if embed else [])
    return [
        render("package_init.py", manifest, example=example),
        render("package_torch_ops.py", manifest, example=c_identifiers(manifest.kernels).get(example, example)),
        render_header(manifest),
        render_cpp_header(manifest),
        render_source(manifest),
        render("cmake_config.cmake", manifest, sources=sources),
        render("package.pc", manifest, sources=sources),
    ]


def _images(file: KernelFiles, fatbin: bytes, base: int):
    """(entry, image) for every kernel of every image; for PTX, the image is the whole fat binary."""
    for part, manifest in read_images(file.images):
        offset, size = locate(fatbin, part) if part.kind == CUBIN else (0, len(fatbin))
        kind = PTX if part.kind == PTX else CUBIN
        for entry, launch in manifest.kernels.items():
            if launch.variant_of is None:
                variants = variants_of(entry, manifest.kernels)
                yield entry, Image(part.target, kind, base + offset, size, launch, variants)
