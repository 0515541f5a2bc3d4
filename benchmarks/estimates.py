"""What the model of ``tileiras-build estimate`` says of the kernels of ``fast_path.py``, ours and tileiras'.

    python benchmarks/estimates.py [--sm 90,100] [--only PATTERN]... [--markdown]

Problems are the full ones of ``gpu/build.py``; a persistent kernel has as many clusters as run together. Where tileiras is not
installed its columns are empty. Nothing runs on a GPU: docs/estimate.md says what the numbers are worth.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("gpu")))

import build
import compile_speed

from tileiras_build import driver
from tileiras_build.bytecode.export import Case, export_kernels, load_cases
from tileiras_build.errors import TileirasError
from tileiras_build.estimate.kernels import Kernel, read_kernels
from tileiras_build.estimate.launch import Launch, Shape
from tileiras_build.estimate.machines import machine_of
from tileiras_build.estimate.model import Estimate, estimate
from tileiras_build.estimate.problem import launch_of_manifest
from tileiras_build.launch_manifest import Launch as Manifest
from tileiras_build.launch_manifest import read_launch_manifest
from tileiras_build.targets import Target, parse_targets
from tileiras_build.terminal import table_text

KERNELS = Path(__file__).with_name("fast_path_kernels.py")
HEADER = ("sm", "kernel", "ours us", "limit", "busy", "tileiras us", "limit", "busy", "ratio")


def main() -> int:
    """Print the table."""
    options = _options()
    rows = []
    for target in parse_targets(options.sm):
        for case, code in kernels(options.only or ["*"]):
            rows.append(row(case, code, target))
            print("\t".join(rows[-1]), file=sys.stderr, flush=True)
    print(_markdown(rows) if options.markdown else table_text(HEADER, rows))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sm", default="80,90,100,120", help="the targets (default: 80,90,100,120)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match, * for anything")
    parser.add_argument("--markdown", action="store_true", help="as docs/performance.md has it")
    return parser.parse_args()


def kernels(patterns: list[str]) -> Iterator[tuple[Case, bytes]]:
    """The cases whose names match, with their bytecode."""
    cases = {case.name: case for case in load_cases(KERNELS)}
    names = [name for name in cases if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    yield from ((cases[name], code) for name, code in export_kernels(KERNELS, names).items())


def row(case: Case, code: bytes, target: Target) -> tuple[str, ...]:
    """One kernel on one target; what a compiler refuses has no numbers."""
    head = (target.name, case.name)
    try:
        artifacts = driver.compile(code, target.name)
    except TileirasError as error:
        return (*head, "-", error.id, *["-"] * 5)
    [manifest] = read_launch_manifest(artifacts.manifest).kernels.values()
    launch = launch_of(case, manifest, target)
    [kernel] = read_kernels(artifacts.cubin).values()
    ours, theirs = estimate(kernel, launch), _estimate_peer(code, target, launch)
    ratio = "-" if theirs is None else f"{ours.clocks / theirs.clocks:.2f}"
    return (*head, *_cells(ours), *_cells(theirs), ratio)


def launch_of(case: Case, manifest: Manifest, target: Target) -> Launch:
    """The full problem of ``gpu/build.py``."""
    problem = build.problem(case, small=False)
    variant = problem["variants"]["full"]
    arrays = [argument.name for argument in manifest.arguments if argument.kind != "scalar"]
    scalars = [argument.name for argument in manifest.arguments if argument.kind == "scalar"]
    settings = {name: "x".join(map(str, shape)) for name, shape in zip(arrays, variant["shapes"], strict=True)}
    settings |= {name: str(value) for name, value in zip(scalars, variant["scalars"], strict=True)}
    return launch_of_manifest(manifest, settings, _grid(variant["grid"], problem["persistent"], manifest, target))


def _grid(grid: list[int], persistent: bool, manifest: Manifest, target: Target) -> Shape:
    if not persistent:
        return grid[0], grid[1], grid[2]
    x, y, z = manifest.cluster
    return min(grid[0], machine_of(target).multiprocessors // (x * y * z) * x), 1, 1


def _estimate_peer(code: bytes, target: Target, launch: Launch) -> Estimate | None:
    cubin = _peer_cubin(code, target)
    if cubin is None:
        return None
    [kernel] = read_kernels(cubin).values()
    return estimate(kernel, _peer_launch(kernel, launch))


def _peer_launch(kernel: Kernel, launch: Launch) -> Launch:
    threads = kernel.threads or launch.threads
    return replace(launch, block=(threads, 1, 1), cluster=kernel.cluster, shared_memory=0)


def _peer_cubin(code: bytes, target: Target) -> bytes | None:
    """tileiras' cubin; None where it is not installed or refuses the kernel."""
    program = compile_speed.find_peer()
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "k.tilebc"), Path(folder, "k.cubin")
        source.write_bytes(code)
        command = [program, f"--gpu-name={target.name}", "-O3", str(source), "-o", str(cubin)]
        subprocess.run(command, capture_output=True, check=False)
        return cubin.read_bytes() if cubin.exists() else None


def _cells(one: Estimate | None) -> tuple[str, str, str]:
    if one is None:
        return "-", "-", "-"
    return f"{one.microseconds:.1f}", one.limit, f"{one.resource} {one.reached:.0%}"


def _markdown(rows: list[tuple[str, ...]]) -> str:
    lines = (HEADER, ("---",) * len(HEADER), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
