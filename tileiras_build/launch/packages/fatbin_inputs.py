"""The inputs of fat binaries: images of a build with their launch manifests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ...core.errors import InvalidInput, Location
from ...core.file_io import read_file
from ...core.symbols.check_symbol_names import KERNEL, check_names
from ...manifest.launch_manifest import LaunchManifest, read_launch_manifest
from ...manifest.ptx_manifest import manifest_of_ptx
from ..runtime.library_manifest import PTX
from .fatbin import FatbinImage


def read_images(images: Iterable[tuple[str, str]]) -> list[tuple[FatbinImage, LaunchManifest]]:
    """Each image with its launch manifest; raises InvalidInput naming a file that is missing or damaged."""
    return [_read_image(kind, Path(path)) for kind, path in images]


def _read_image(kind: str, path: Path) -> tuple[FatbinImage, LaunchManifest]:
    data = read_file(path)
    path = path if kind == PTX else path.with_suffix(".json")
    try:
        manifest = _read_manifest(manifest_of_ptx(data.decode()) if kind == PTX else json.loads(read_file(path)))
    except ValueError as error:
        message = f"not a launch manifest: {error}"
        raise InvalidInput("package-manifest", message, location=Location(str(path)), remedy="rebuild it") from None
    check_names((KERNEL, entry, lambda: Location(str(path))) for entry in manifest.kernels)
    return FatbinImage(kind, manifest.target, data), manifest


def _read_manifest(content: object) -> LaunchManifest:
    if not isinstance(content, dict) or not content.get("kernels"):
        raise ValueError("no launch manifest with kernels")
    return read_launch_manifest(content)
