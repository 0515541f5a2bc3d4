"""What a kernel library holds: the file ``manifest.json`` beside its image.

    {"format": "tileiras-library", "version": 1, "name": "examples",
     "image": {"file": "examples.fatbin", "size": bytes, "sha256": hex},
     "kernels": {entry: [{"target": "sm_90a", "kind": "cubin", "offset": n, "size": n, "launch": {...}}, ...]}}

A row of ``kernels`` is one image of the kernel: ``offset`` and ``size`` are its bytes in the image file, ``launch`` the
kernel's part of its launch manifest (``pipeline/manifest.py``). A row of kind "ptx" names the fat binary that holds the
PTX text: the driver finds it in there and compiles it for its GPU.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import InvalidInput, Location
from ..targets import Target, find_target

FORMAT, VERSION, FILE_NAME = "tileiras-library", 1, "manifest.json"
CUBIN, PTX = "cubin", "ptx"


@dataclass(frozen=True)
class Image:
    """One form of a kernel: ``kind`` is CUBIN or PTX, ``offset`` and ``size`` (bytes) its place in the image file.

    ``launch`` is the kernel's part of a launch manifest.
    """

    target: str
    kind: str
    offset: int
    size: int
    launch: Mapping = field(hash=False)

    def __post_init__(self):
        if self.kind not in (CUBIN, PTX) or min(self.offset, self.size) < 0:
            raise ValueError(f"kind {self.kind}, {self.size} bytes at {self.offset}")

    @property
    def gpu(self) -> Target:
        """The row of TARGETS that the image was made for."""
        return find_target(self.target)

    @property
    def shared_memory(self) -> int:
        """Bytes of dynamic shared memory that a launch asks for."""
        return self.launch["shared_memory"]["dynamic"]


@dataclass(frozen=True)
class LibraryManifest:
    """A library: the name and size of its image file, its SHA-256 (hex), and the images of each kernel by entry."""

    name: str
    image: str
    size: int
    sha256: str
    kernels: dict[str, tuple[Image, ...]]

    @property
    def targets(self) -> tuple[str, ...]:
        """The GPUs that some kernel has a cubin for, in the order of their numbers."""
        found = {image.gpu for images in self.kernels.values() for image in images if image.kind == CUBIN}
        return tuple(target.name for target in sorted(found, key=lambda target: target.number))


def render(manifest: LibraryManifest) -> bytes:
    """The file's bytes: kernels sorted, one image a line, so that two versions can be compared."""
    head = {"format": FORMAT, "version": VERSION, "name": manifest.name}
    head["image"] = {"file": manifest.image, "size": manifest.size, "sha256": manifest.sha256}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    kernels = [
        f"  {json.dumps(entry)}: [\n" + ",\n".join(f"   {json.dumps(asdict(image))}" for image in images) + "\n  ]"
        for entry, images in sorted(manifest.kernels.items())
    ]
    return "\n".join(["{", *lines, ' "kernels": {', ",\n".join(kernels), " }", "}", ""]).encode()


def read(path: Path) -> LibraryManifest:
    """The manifest at ``path``; raises InvalidInput[library-missing, library-manifest]."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"this kernel library cannot be read: {error.strerror}"
        remedy = f"give the folder that holds {FILE_NAME}"
        raise InvalidInput("library-missing", message, location=Location(str(path)), remedy=remedy) from None
    try:
        return _parse(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput) as error:
        message = f"this is not the manifest of a kernel library: {error}"
        remedy = "build the package again with this version"
        raise InvalidInput("library-manifest", message, location=Location(str(path)), remedy=remedy) from None


def _parse(content: dict) -> LibraryManifest:
    if (content["format"], content["version"]) != (FORMAT, VERSION):
        raise ValueError(f"{content['format']} version {content['version']}, expected {FORMAT} version {VERSION}")
    kernels = {entry: tuple(Image(**row) for row in rows) for entry, rows in content["kernels"].items()}
    for image in {image.target: image for images in kernels.values() for image in images}.values():
        assert image.gpu
    held = content["image"]
    return LibraryManifest(content["name"], held["file"], held["size"], held["sha256"], kernels)
