"""Packages of single kernels for the strict driver: cubin and PTX in one image file, as a build makes them."""

from __future__ import annotations

from pathlib import Path

from tileiras_build.files import write_files
from tileiras_build.packages.library import KernelFiles, pack_kernel, pack_library
from tileiras_build.pipeline.manifest import render_manifest
from tileiras_build.runtime.library_manifest import CUBIN, PTX

NAME = "strict"


def build(folder: Path, name: str, artifacts, *, ptx: bool = False) -> Path:
    """The folder of package NAME with kernel ``name``: its cubin, or with ``ptx`` its PTX alone."""
    path = folder / f"{name}.{PTX if ptx else CUBIN}"
    data = artifacts.ptx.encode() if ptx else artifacts.cubin
    write_files({path: data, path.with_suffix(".json"): render_manifest(artifacts.manifest)})
    images = ((PTX if ptx else CUBIN, str(path)),)
    fatbin = folder / f"{name}.fatbin"
    write_files({fatbin: pack_kernel(name, images)})
    made = pack_library(NAME, [KernelFiles(name, str(fatbin), images)])
    write_files({folder / NAME / file: data for file, data in made.items()})
    return folder / NAME
