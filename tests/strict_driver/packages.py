"""Packages for the strict driver: each kernel's images for all GPUs in one fat binary, as a build makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tileiras_build.core.file_io import write_files
from tileiras_build.launch.packages.package_library import KernelFiles, pack_kernel, pack_library
from tileiras_build.launch.runtime.library_manifest import CUBIN, PTX
from tileiras_build.pipeline.launch_manifest_json import render_manifest

NAME = "strict"


def build(folder: Path, name: str, artifacts, *, ptx: bool = False) -> Path:
    """The folder of package NAME with kernel ``name``: its cubin, or with ``ptx`` its PTX alone."""
    write_artifacts(folder, name, artifacts)
    return pack(folder, [name], [folder], kind=PTX if ptx else CUBIN)


def write_artifacts(folder: Path, name: str, artifacts) -> None:
    """Cubin, PTX and launch manifest of a kernel for one GPU, into that GPU's folder."""
    path = folder / name
    write_files(
        {
            path.with_suffix(".cubin"): artifacts.cubin,
            path.with_suffix(".ptx"): artifacts.ptx.encode(),
            path.with_suffix(".json"): render_manifest(artifacts.manifest),
        }
    )


def pack(folder: Path, names: Iterable[str], gpus: Iterable[Path], kind: str = CUBIN) -> Path:
    """The folder of package NAME: an image of each kernel from each folder of ``write_artifacts``."""
    folders = list(gpus)
    images = {name: tuple((kind, str(gpu / f"{name}.{kind}")) for gpu in folders) for name in names}
    return _pack(folder, images)


def _pack(folder: Path, images: Mapping[str, tuple[tuple[str, str], ...]]) -> Path:
    fatbins = {name: folder / f"{name}.fatbin" for name in images}
    write_files({fatbins[name]: pack_kernel(name, rows) for name, rows in images.items()})
    made = pack_library(NAME, [KernelFiles(name, str(fatbins[name]), rows) for name, rows in images.items()])
    write_files({folder / NAME / file: data for file, data in made.items()})
    return folder / NAME
