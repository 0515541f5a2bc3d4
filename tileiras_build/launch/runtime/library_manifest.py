"""The manifest of a kernel library: the file ``manifest.json`` next to its image.

    {"format": "tileiras-library", "version": 2, "name": "examples",
     "image": {"file": "examples.fatbin", "size": bytes, "sha256": hex},
     "kernels": {entry: [{"target": "sm_90a", "kind": "cubin", "offset": n, "size": n, "launch": {...},
                          "variants": {symbol: {...}}}, ...]}}

A row of ``kernels`` is one image of the kernel: ``offset`` and ``size`` are its bytes in the image file, ``launch`` the
kernel's part of its launch manifest (``launch_manifest.py``). An entry is the kernel's symbol, with its source's folder as a
prefix (``part/add``; ``./add`` for the project's own) if kernels of several folders have the same name. A row of kind "ptx"
is the fat binary that contains the PTX text: the driver finds the PTX and compiles it for its GPU. ``variants`` are launch
manifests, too: of kernels of the image that a launcher takes in place of the entry where the arguments satisfy their assumptions.
``docs/schemas/library-manifest-2.json`` is its JSON schema.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ...core.errors import InvalidInput, Location
from ...manifest.launch_manifest import Launch, ManifestStruct, check_launch, convert, parse_json
from ...manifest.variant_assumptions import takes_same_parameters
from ...target.targets import Target, find_target

FORMAT, VERSION, FILE_NAME = "tileiras-library", 2, "manifest.json"
CUBIN: Literal["cubin"] = "cubin"
PTX: Literal["ptx"] = "ptx"
Bytes = Annotated[int, msgspec.Meta(ge=0)]


class Image(msgspec.Struct, frozen=True, omit_defaults=True):
    """One image of a kernel: its ``offset`` and ``size`` in the image file in bytes, its ``launch`` manifest, and those of
    its variants by symbol.
    """

    target: str
    kind: Literal["cubin", "ptx"]
    offset: Bytes
    size: Bytes
    launch: Launch
    variants: dict[str, Launch] = {}

    @property
    def gpu(self) -> Target:
        """The target that the image was compiled for."""
        return find_target(self.target)

    @property
    def shared_memory(self) -> int:
        """Bytes of dynamic shared memory of a launch."""
        return self.launch.shared_memory.dynamic


class ImageFile(ManifestStruct, frozen=True):
    """The file with all images."""

    file: str
    size: Bytes
    sha256: str


class Document(ManifestStruct, frozen=True):
    """The manifest file."""

    format: Literal["tileiras-library"]
    version: Literal[2]
    name: str
    image: ImageFile
    kernels: dict[str, list[Image]]


class LibraryManifest(msgspec.Struct, frozen=True):
    """A library: the name and size of its image file, its SHA-256 (hex), and the images of each kernel by entry."""

    name: str
    image: str
    size: int
    sha256: str
    kernels: dict[str, tuple[Image, ...]]

    @property
    def targets(self) -> tuple[str, ...]:
        """The GPUs with a cubin of some kernel, ordered by compute capability."""
        found = {image.gpu for images in self.kernels.values() for image in images if image.kind == CUBIN}
        return tuple(target.name for target in sorted(found, key=lambda target: target.number))


def render(manifest: LibraryManifest) -> bytes:
    """The file's bytes: kernels sorted, one image a line, so that two versions can be compared."""
    head = {"format": FORMAT, "version": VERSION, "name": manifest.name}
    head["image"] = {"file": manifest.image, "size": manifest.size, "sha256": manifest.sha256}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    kernels = [
        f"  {json.dumps(entry)}: [\n"
        + ",\n".join(f"   {json.dumps(msgspec.to_builtins(image))}" for image in images)
        + "\n  ]"
        for entry, images in sorted(manifest.kernels.items())
    ]
    return "\n".join(["{", *lines, ' "kernels": {', ",\n".join(kernels), " }", "}", ""]).encode()


def read(path: Path) -> LibraryManifest:
    """The manifest at ``path``; raises InvalidInput[library-missing, library-manifest]."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"cannot read the kernel library: {error.strerror}"
        remedy = f"pass the folder with {FILE_NAME}"
        raise InvalidInput("library-missing", message, location=Location(str(path)), remedy=remedy) from None
    try:
        return _parse(parse_json(data))
    except (ValueError, InvalidInput) as error:
        message = f"not a kernel library manifest: {error}"
        remedy = "rebuild the package with this version"
        raise InvalidInput("library-manifest", message, location=Location(str(path)), remedy=remedy) from None


def _parse(content: object) -> LibraryManifest:
    found: Document = convert(content, Document, VERSION)
    kernels = {entry: tuple(images) for entry, images in found.kernels.items()}
    for image in {image.target: image for images in kernels.values() for image in images}.values():
        assert image.gpu
    held = found.image
    if held.file != Path(held.file).name or not held.file.isprintable():
        raise ValueError(f"image.file: {held.file!a} is not a file name")
    for entry, images in kernels.items():
        if not images:
            raise ValueError(f"kernels.{entry}: no images")
        if any(image.offset + image.size > held.size for image in images):
            raise ValueError(f"kernels.{entry}: an image exceeds the image file")
        for image in images:
            check_launch(image.launch, f"kernels.{entry}")
            for name, variant in image.variants.items():
                check_launch(variant, f"kernels.{entry}.variants.{name}")
                if not takes_same_parameters(image.launch, variant):
                    raise ValueError(f"kernels.{entry}.variants.{name}: its parameters are not the kernel's")
    return LibraryManifest(found.name, held.file, held.size, held.sha256, kernels)
