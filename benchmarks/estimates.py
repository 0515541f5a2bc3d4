"""Estimates of ``tileiras-build estimate`` for the kernels of ``compare_sass.py``, of tileiras and of Triton.

    python benchmarks/estimates.py [--set norms] [--sm 90,100] [--only PATTERN]... [--tune NAME=N]... [--triton] [--markdown]

The set ``norms`` are kernels that DRAM alone should limit (``norm_kernels.py``): its columns are how many of DRAM's clocks the
issue slots and a block's latency take. Problems are the full ones of ``gpu/variants.py``; a persistent kernel
has as many clusters as run together. Where tileiras is not
installed its columns are empty. ``--triton`` adds the best of a few configurations of Triton programs for the same problems
(``triton_peer.py``), which takes minutes; ``--tune`` is an option of our build (``pipeline/tuning_parameters.py``). Nothing runs on a GPU: docs/report.md says how accurate they are.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

sys.path.insert(0, str(Path(__file__).with_name("gpu")))

import compile_speed
import triton_peer
import variants
from result_table import result_table

from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.frontend.export_cutile import Case, export_with_variants, load_cases
from tileiras_build.manifest.launch_manifest import Launch as Manifest
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.manifest.variant_assumptions import variants_of
from tileiras_build.pipeline.tuning_parameters import BY_NAME
from tileiras_build.simulate.estimate.constant_bank_values import Launch
from tileiras_build.simulate.estimate.kernel_from_cubin import KernelModel, read_kernels
from tileiras_build.simulate.estimate.occupancy_waves import occupancy_waves
from tileiras_build.simulate.estimate.performance_model import LATENCY, Estimate, estimate
from tileiras_build.simulate.estimate.problem_size import fits_variant, launch_of_manifest
from tileiras_build.target.gpu_models import gpu_model
from tileiras_build.target.targets import Target, parse_targets

NOTHING: Mapping[str, int] = MappingProxyType({})
HEADS = ("sm", "kernel")


@dataclass(frozen=True)
class KernelSet:
    """Kernels, and the columns that say of one estimate what matters for them."""

    kernels: str
    columns: tuple[str, ...]
    cells: Callable[[Estimate], tuple[str, ...]]

    @property
    def path(self) -> Path:
        """The module of the kernels."""
        return Path(__file__).with_name(self.kernels)

    def header(self, triton: bool) -> tuple[str, ...]:
        """Of the table: ours, tileiras', and the ratio of both; then Triton's, if asked for."""
        peers = ("tileiras", "Triton") if triton else ("tileiras",)
        return (
            *HEADS,
            "ours us",
            *self.columns,
            *(cell for peer in peers for cell in (f"{peer} us", *self.columns, "ratio")),
        )

    def described(self, one: Estimate | None) -> tuple[str, ...]:
        """The cells of one estimate; dashes where there is none."""
        if one is None:
            return ("-",) * (len(self.columns) + 1)
        return (f"{one.microseconds:.1f}", *self.cells(one))


def _limit(one: Estimate) -> tuple[str, ...]:
    return one.limit, f"{one.resource} {one.reached:.0%}"


def _against_dram(one: Estimate) -> tuple[str, ...]:
    return one.limit, *(f"{one.bounds[name] / one.bounds['DRAM']:.0%}" for name in ("issue slots", LATENCY))


SETS = {
    "fast-path": KernelSet("key_kernels.py", ("limit", "busy"), _limit),
    "norms": KernelSet("norm_kernels.py", ("limit", "issue/DRAM", "latency/DRAM"), _against_dram),
}


def main() -> int:
    """Print the table."""
    options = _options()
    rows, chosen = [], SETS[options.set]
    for target in parse_targets(options.sm):
        for case, code in kernels(options.only or ["*"], chosen.path):
            rows.append(row(case, code, target, chosen, options.triton, dict(options.tune)))
            print("\t".join(rows[-1]), file=sys.stderr, flush=True)
    header = chosen.header(options.triton)
    print(result_table(header, rows, options.markdown))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="fast-path", help="which kernels (default: fast-path)")
    parser.add_argument("--sm", default="80,90,100,120", help="the targets (default: 80,90,100,120)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match, * for anything")
    parser.add_argument("--tune", action="append", type=_tuning, default=[], metavar="NAME=N", help="of our build")
    parser.add_argument("--triton", action="store_true", help="ask about Triton's code, too")
    parser.add_argument("--markdown", action="store_true", help="as docs/measurements.md has it")
    return parser.parse_args()


def _tuning(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    return name, BY_NAME[name].read(value)


def kernels(patterns: list[str], path: Path = SETS["fast-path"].path) -> Iterator[tuple[Case, bytes]]:
    """The cases of a module whose names match, with their bytecode as a build exports it."""
    cases = {case.name: case for case in load_cases(path)}
    names = [name for name in cases if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    yield from ((cases[name], code) for name, code in export_with_variants(path, names).items())


def row(
    case: Case,
    code: bytes,
    target: Target,
    chosen: KernelSet,
    triton: bool = False,
    tuning: Mapping[str, int] = NOTHING,
) -> tuple[str, ...]:
    """One kernel on one target, compiled with ``tuning``; what a compiler refuses has no estimate."""
    head = (target.name, case.name)
    try:
        artifacts = driver.compile(code, target.name, **tuning)
    except TileirasError as error:
        return (*head, "-", error.id, *["-"] * (len(chosen.header(triton)) - len(HEADS) - 2))
    problem = variants.problem(case, small=False)
    own = ours(artifacts, problem, target)
    peers = [_estimate_peer(code, target, _of_grid(_asked(artifacts, problem, target), problem), problem["persistent"])]
    if triton:
        peers.append(triton_peer.best(case, problem["variants"]["full"], target, launched))
    return (*head, *chosen.described(own), *(cell for peer in peers for cell in _beside(own, peer, chosen)))


def ours(artifacts: driver.Artifacts, problem: dict[str, Any], target: Target) -> Estimate:
    """What the model says of a kernel's full problem, by the variant that launchers take for it."""
    name, manifest = _taken(artifacts, problem)
    asked, kernel = _programs(manifest, problem, target), read_kernels(artifacts.cubin)[name]
    if asked.tile_programs:
        return estimate(kernel, asked)
    return estimate(kernel, launched(kernel, _of_grid(asked, problem), problem["persistent"], manifest.grid.cluster))


def _taken(artifacts: driver.Artifacts, problem: dict[str, Any]) -> tuple[str, Manifest]:
    """The kernel that launchers take for the full problem."""
    manifests = read_launch_manifest(artifacts.manifest).kernels
    [general] = (name for name, row in manifests.items() if row.variant_of is None)
    settings, grid = _settings(manifests[general], problem), tuple(problem["variants"]["full"]["grid"])
    variants = variants_of(general, manifests).items()
    return next(
        ((name, row) for name, row in variants if fits_variant(manifests[general], row, settings, grid)),
        (general, manifests[general]),
    )


def _asked(artifacts: driver.Artifacts, problem: dict[str, Any], target: Target) -> Launch:
    manifests = read_launch_manifest(artifacts.manifest).kernels.values()
    [manifest] = (row for row in manifests if row.variant_of is None)
    return _programs(manifest, problem, target)


def _of_grid(asked: Launch, problem: dict[str, Any]) -> Launch:
    return replace(asked, grid=tuple(problem["variants"]["full"]["grid"]), tile_programs=0)


def _beside(ours: Estimate, peer: Estimate | None, chosen: KernelSet) -> tuple[str, ...]:
    """A peer's cells and the ratio of our time to its."""
    return (*chosen.described(peer), "-" if peer is None else f"{ours.microseconds / peer.microseconds:.2f}")


def _programs(manifest: Manifest, problem: dict[str, Any], target: Target) -> Launch:
    """The full problem of ``gpu/variants.py``, with a grid of tile programs, or of the CTAs that loop over them (``--tune persistent=1``)."""
    grid = tuple(problem["variants"]["full"]["grid"])
    return launch_of_manifest(manifest, _settings(manifest, problem), grid, gpu_model(target).sm_count)


def _settings(manifest: Manifest, problem: dict[str, Any]) -> dict[str, str]:
    """The arguments of the full problem by name."""
    variant = problem["variants"]["full"]
    arrays = [argument.name for argument in manifest.arguments if argument.kind != "scalar"]
    scalars = [argument.name for argument in manifest.arguments if argument.kind == "scalar"]
    settings = {name: "x".join(map(str, shape)) for name, shape in zip(arrays, variant["shapes"], strict=True)}
    return settings | {name: str(value) for name, value in zip(scalars, variant["scalars"], strict=True)}


def launched(kernel: KernelModel, programs: Launch, persistent: bool, neighbours: int = 1) -> Launch:
    """A cluster for each tile program, or for so many ``neighbours``; of a persistent kernel no more of them than run together."""
    blocks = programs.cluster_blocks // neighbours
    x, y, z = programs.grid
    if persistent:
        machine, used = gpu_model(kernel.target), kernel.resources
        fits = occupancy_waves(kernel.target, machine, programs, used.registers, used.shared + programs.shared_memory)
        x = min(x, machine.sm_count * fits.resident // blocks)
    return replace(programs, grid=(x * blocks, y, z))


def _estimate_peer(code: bytes, target: Target, programs: Launch, persistent: bool) -> Estimate | None:
    cubin = _peer_cubin(code, target)
    if cubin is None:
        return None
    [kernel] = read_kernels(cubin).values()
    return estimate(kernel, launched(kernel, compile_speed.peer_launch(programs, kernel), persistent))


def _peer_cubin(code: bytes, target: Target) -> bytes | None:
    """tileiras' cubin; None where it is not installed or refuses the kernel."""
    try:
        return compile_speed.peer_cubin(code, target.name)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    sys.exit(main())
