"""The command ``tileiras-build estimate``: reads cubins, launch manifests and the problem size, prints the estimate."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ...core.errors import InvalidInput, Location, suggest
from ...core.file_io import read_file
from ...manifest.launch_manifest import Launch as Manifest
from ...manifest.launch_manifest import parse_json, read_launch_manifest
from ...target.gpu_models import GpuModel, gpu_model
from .constant_bank_values import Launch
from .estimate_report import document, table
from .kernel_from_cubin import KernelModel, read_kernels
from .performance_model import Estimate, estimate
from .problem_size import (
    grid_in_ctas,
    launch_of_cubin,
    launch_of_tile_blocks,
    launched_kernel,
    order_of,
    read_extents,
    read_settings,
)
from .tile_order import ROW_MAJOR


def run(options: argparse.Namespace) -> None:
    """Print the estimate, with that of ``--against`` beside it. Raises the errors of reading and of ``estimate``."""
    ours = _estimate(options, options.file, options.kernel)
    theirs = None
    if options.against:
        theirs = _estimate(options, options.against, None, (ours, _manifest(options.file)))
    if options.json:
        found = document(ours) | ({} if theirs is None else {"against": document(theirs)})
        print(json.dumps(found, indent=2))
    else:
        print(table(ours, theirs))


def _estimate(
    options: argparse.Namespace,
    file: str,
    name: str | None,
    model: tuple[Estimate, Mapping[str, Manifest]] | None = None,
) -> Estimate:
    kernels = read_kernels(read_file(file), file)
    kernel = _choose(kernels, name or _launched_kernel(options, _manifest(file)), file)
    machine = _machine(options, kernel)
    launch = (
        _peer_launch(options, kernel, model[0].launch, _manifest(file), machine)
        if model
        else _launch(options, kernel, _manifest(file), machine)
    )
    trips = _trips(options.trips) if model is None else {}
    return estimate(kernel, launch, trips, machine)


def _machine(options: argparse.Namespace, kernel: KernelModel) -> GpuModel:
    found = gpu_model(kernel.target, options.gpu)
    if options.power is not None:
        found = found.limited(options.power)
    return found if options.clock is None else found.locked(options.clock)


def _choose(kernels: dict[str, KernelModel], name: str | None, file: str) -> KernelModel:
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        what = "cubin has several kernels" if name is None else f"no kernel {name!r} in this cubin"
        remedy = f"{suggest(name or '', kernels)}, with --kernel"
        raise InvalidInput("estimate-kernel", what, location=Location(file), remedy=remedy)
    return kernels[name]


def _launched_kernel(options: argparse.Namespace, manifest: Mapping[str, Manifest]) -> str | None:
    """The kernel of a launch manifest, or the variant that launchers take for these settings; None for several kernels."""
    kernels = [name for name, launch in manifest.items() if launch.variant_of is None]
    if len(kernels) != 1 or len(manifest) == 1:
        return None
    return launched_kernel(manifest, kernels[0], read_settings(options.settings), read_extents(options.grid, "grid"))


def _manifest(file: str) -> Mapping[str, Manifest]:
    """The kernels of the launch manifest next to a cubin; empty if the file does not exist."""
    path = Path(file).with_suffix(".json")
    if not path.is_file():
        return {}
    try:
        return read_launch_manifest(parse_json(read_file(path))).kernels
    except (ValueError, UnicodeDecodeError) as error:
        message = f"not a launch manifest: {error}"
        raise InvalidInput("report-manifest", message, location=Location(str(path))) from None


def _launch(
    options: argparse.Namespace, kernel: KernelModel, manifest: Mapping[str, Manifest], machine: GpuModel
) -> Launch:
    settings, grid = read_settings(options.settings), read_extents(options.grid, "grid")
    block = read_extents(options.block, "block") if options.block else None
    if kernel.name in manifest:
        return launch_of_tile_blocks(manifest[kernel.name], settings, grid, machine.sm_count)
    return launch_of_cubin(kernel, settings, grid, block)


def _peer_launch(
    options: argparse.Namespace,
    kernel: KernelModel,
    launch: Launch,
    manifest: Mapping[str, Manifest],
    machine: GpuModel,
) -> Launch:
    """The launch of another compiler's kernel: the same arguments, with its own block size and shared memory.

    A peer that is not persistent has a CTA, or a cluster of them, for each of the grid's tile blocks.
    """
    row = manifest.get(kernel.name)
    if row and row.grid.persistent:
        return _launch(options, kernel, manifest, machine)
    cluster = row.cluster if row else kernel.cluster
    grid = grid_in_ctas(read_extents(options.grid, "grid"), cluster)
    launch = replace(launch, grid=grid, cluster=cluster, tile_programs=0)
    if row:
        launch = replace(launch, order=order_of(row))
        return replace(launch, block=(row.threads_per_cta, 1, 1), shared_memory=row.shared_memory.dynamic)
    block = launch.block if kernel.threads is None else (kernel.threads, 1, 1)
    return replace(launch, block=block, shared_memory=0, order=ROW_MAJOR)


def _trips(texts: list[str]) -> dict[int, int]:
    found: dict[int, int] = {}
    for text in texts:
        address, sign, count = text.partition("=")
        try:
            found[int(address, 0)] = int(count, 0)
        except ValueError:
            sign = ""
        if not sign or int(count, 0) < 1:
            raise InvalidInput("estimate-trips", f"{text!r} is not ADDRESS=N", remedy="write 0x1a0=64")
    return found
