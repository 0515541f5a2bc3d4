"""Run every kernel on the strict driver (tests/strict_driver); exit status 1 if a result is wrong.

    python tools/strict_driver.py [--sm 80,90,100,120] [--by library,c,ptx,project,runner] [--bindings VERSION...]
                                  [--only PATTERN]... [--jobs 2]

All examples and benchmark kernels are compiled for all GPUs into one package; each is launched from it, executed in the
emulator, and compared with its reference. Who launches: "library" is ``runtime.Library``, once with each version of
cuda-bindings that ``--bindings`` names as tools/cuda_bindings_matrix.py does (default: the installed one); "c" a compiled C
program; "ptx" the Library with a package of nothing but PTX for sm_80, which the driver compiles, and which is to be
refused where it takes more shared memory than the GPU has. "project" is the Python package that SCons makes of
examples/project. "runner" is benchmarks/gpu: all its phases over the benchmark kernels at sizes for an emulator,
one of which hangs and one faults on purpose, with stand-ins for compute-sanitizer and ncu.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tileiras_build
from tests.launch.runtime.fake_libcuda import compiler, run
from tests.strict_driver import gpu_run, kernels, launch_case, packages
from tests.strict_driver.server import StrictDriver, build
from tileiras_build.launch.runtime.library_manifest import PTX
from tileiras_build.target.targets import find_target, parse_targets
from tools import cuda_bindings_matrix

PROJECT = ROOT / "examples" / "project"
CLIENTS = ROOT / "tests" / "strict_driver"
OLDEST = "sm_80"  # whose PTX runs on every GPU
LIBRARY, C, FROM_PTX, FROM_PROJECT, BY_RUNNER = CALLERS = ("library", "c", "ptx", "project", "runner")


@dataclass(frozen=True)
class Sweep:
    """Where things lie: artifacts by GPU, the packages made of them, and the cuda-bindings to import (empty: installed)."""

    folder: Path
    bindings: Mapping[str, str]

    def artifacts(self, sm: str) -> Path:
        """Of every kernel for one GPU."""
        return self.folder / sm

    @property
    def package(self) -> Path:
        """Every kernel for every GPU."""
        return self.folder / packages.NAME

    @property
    def ptx_package(self) -> Path:
        """Every kernel as PTX."""
        return self.folder / "ptx" / packages.NAME

    @property
    def object_file(self) -> Path:
        """The C launcher of the package, compiled once."""
        return self.folder / "launcher.o"


@dataclass(frozen=True)
class Launch:
    """One kernel on one GPU by one caller, with a version of cuda-bindings where the caller knows any."""

    name: str
    sm: str
    by: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.sm:7} {self.name:32} {' '.join(filter(None, [self.by, self.version])):16}"


# ---- launching -------------------------------------------------------------------------------------------------------
def library_command(sweep: Sweep, launch: Launch, folder: Path, driver: Path) -> list:
    """A launch from Python."""
    package = sweep.ptx_package if launch.by == FROM_PTX else sweep.package
    return [sys.executable, CLIENTS / "python_client.py", package, folder / "case"]


def c_command(sweep: Sweep, launch: Launch, folder: Path, driver: Path) -> list:
    """A launch from C; the program is compiled first."""
    source, program = folder / "main.c", folder / "main"
    source.write_text(launch_case.c_program(packages.NAME, folder / "case"))
    options = launch_case.c_options(driver, sweep.package)
    run([compiler("cc"), source, sweep.object_file, *options, "-o", program])
    return ["sh", "-c", f"cd {folder / 'case'} && {program} {sweep.package / packages.NAME}.fatbin"]


COMMANDS = {LIBRARY: library_command, C: c_command, FROM_PTX: library_command}


def compile_one(sweep: Sweep, name: str, sm: str) -> None:
    """Write what a kernel compiles to."""
    packages.write_artifacts(sweep.artifacts(sm), name, tileiras_build.compile(kernels.find(name).bytecode(), sm))


def faults(sweep: Sweep, launch: Launch) -> list[str]:
    """What is wrong with one launch; empty if nothing is."""
    name, kernel = launch.name, kernels.find(launch.name)
    values = kernel.inputs()
    driver, artifacts = sweep.folder / f"driver-{os.getpid()}", sweep.artifacts(launch.sm)
    if not driver.exists():
        shutil.copytree(sweep.folder / "driver", driver, symlinks=True)
    with tempfile.TemporaryDirectory() as scratch, StrictDriver(driver, launch.sm) as gpu:
        folder = Path(scratch)
        case = launch_case.write(folder / "case", name, kernel.grid(values), values)
        gpu.add((artifacts / f"{name}.cubin").read_bytes(), (artifacts / f"{name}.ptx").read_text())
        command = COMMANDS[launch.by](sweep, launch, folder, driver)
        done = gpu.run(command, python_path=[sweep.bindings.get(launch.version, "")])
        if launch.by == FROM_PTX and not _fits(sweep, launch):
            return gpu.refusals() or ([] if "[no-image]: " in done.stderr else [f"it was not refused: {done.stderr}"])
        if done.returncode or gpu.refusals() or gpu.launches != [name]:
            return gpu.refusals() or [done.stderr or f"launched: {gpu.launches}"]
        launch_case.fetch(case, values)
    return kernel.faults(values)


def _fits(sweep: Sweep, launch: Launch) -> bool:
    """Whether the PTX for the oldest GPU asks for no more shared memory than this one has."""
    manifest = json.loads((sweep.artifacts(OLDEST) / f"{launch.name}.json").read_text())
    taken = manifest["kernels"][launch.name]["shared_memory"]["dynamic"]
    return taken <= find_target(launch.sm).max_shared_memory


def launches(
    names: Sequence[str], sms: Sequence[str], callers: Sequence[str], versions: Sequence[str]
) -> Iterator[Launch]:
    """Every launch of single kernels."""
    with_versions = {LIBRARY: versions, FROM_PTX: versions[:1], C: [""]}
    for sm in sms:
        for name in names:
            for by in (by for by in callers if by in with_versions):
                yield from (Launch(name, sm, by, version) for version in with_versions[by])


def sweep_kernels(sweep: Sweep, names: Sequence[str], options: argparse.Namespace, sms: Sequence[str]) -> int:
    """Compile, pack and launch; how many launches are wrong."""
    jobs = list(launches(names, sms, options.by, list(sweep.bindings)))
    if not jobs:
        return 0
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        wanted = [(name, sm) for sm in sorted({*sms, OLDEST}) for name in names]
        list(pool.map(partial(compile_one, sweep), *zip(*wanted), chunksize=4))
        pack(sweep, names, sms)
        found = zip(jobs, pool.map(partial(faults, sweep), jobs))
        return sum(_say(launch, wrong) for launch, wrong in found)


def pack(sweep: Sweep, names: Sequence[str], sms: Sequence[str]) -> None:
    """The package of all cubins and that of PTX, and the former's C launcher as an object file."""
    packages.pack(sweep.folder, names, map(sweep.artifacts, sms))
    packages.pack(sweep.ptx_package.parent, names, [sweep.artifacts(OLDEST)], kind=PTX)
    source = sweep.package / f"src/{packages.NAME}.c"
    options = launch_case.c_options(sweep.folder / "driver", sweep.package)
    run([compiler("cc"), "-c", *options, source, "-o", sweep.object_file])


def _say(launch: Launch, wrong: Sequence[str]) -> bool:
    print(launch, "; ".join(wrong) or "right", flush=True)
    return bool(wrong)


# ---- the example project ---------------------------------------------------------------------------------------------
def sweep_project(sweep: Sweep, sms: Sequence[str]) -> int:
    """How many GPUs the example project's package is wrong on, with any version of cuda-bindings."""
    folder, site = sweep.folder / "project", sweep.folder / "site"
    shutil.copytree(PROJECT, folder)
    targets = f"sm={','.join(sm.removeprefix('sm_') for sm in sms)}"
    environment = cuda_bindings_matrix.path_with(ROOT, os.environ)
    words = [sys.executable, "-m", "SCons", "-Q", "-j2", targets, "install", f"prefix={site}"]
    run(words, cwd=folder, env=environment)
    pairs = [(sm, version) for sm in sms for version in sweep.bindings]
    return sum(
        _say(Launch("*", sm, FROM_PROJECT, version), _project_faults(sweep, sm, version)) for sm, version in pairs
    )


def _project_faults(sweep: Sweep, sm: str, version: str) -> list[str]:
    with StrictDriver(sweep.folder / "driver", sm) as gpu:
        gpu.add_folder(sweep.folder / "project" / "build" / sm)
        command = [sys.executable, CLIENTS / "project_client.py"]
        done = gpu.run(command, python_path=[sweep.bindings[version], str(sweep.folder / "site")])
        return gpu.refusals() or ([done.stderr] if done.returncode else [])


# ---- the GPU runner --------------------------------------------------------------------------------------------------
def runner_wrong(sm: str, patterns: Sequence[str], driver: Path) -> int:
    """How many cases of the GPU runner end otherwise than they should; it prints the table."""
    only = [f"--only={pattern}" for pattern in patterns]
    with tempfile.TemporaryDirectory() as scratch, StrictDriver(driver, sm) as gpu:
        plan = Path(scratch)
        run([sys.executable, gpu_run.RUNNER / "plan.py", plan, "--sm", sm, "--small", "--no-peer", *only])
        gpu_run.write_tools(plan)
        gpu_run.add_images(gpu, plan)
        start = time.monotonic()
        done = gpu_run.run(gpu, plan)
        wrong = gpu_run.unexpected(gpu_run.rows(plan))
        print((plan / "results" / "table.md").read_text(), done.stderr)
        print(
            f"{sm}: all phases in {time.monotonic() - start:.0f} s; unexpected: {', '.join(wrong) or 'none'}",
            flush=True,
        )
        return len(wrong)


def main(words: Sequence[str] | None = None) -> int:
    options = _options(words)
    sms = [target.name for target in parse_targets(options.sm)]
    names = [
        name for name in kernels.names() if any(fnmatch.fnmatch(name, pattern) for pattern in options.only or ["*"])
    ]
    with tempfile.TemporaryDirectory(prefix="strict-") as scratch:
        folder = Path(scratch)
        (folder / "driver").mkdir()
        build(folder / "driver")
        sweep = Sweep(folder, _bindings(options, folder))
        wrong = sweep_kernels(sweep, names, options, sms)
        wrong += sweep_project(sweep, sms) if FROM_PROJECT in options.by else 0
        for sm in sms if BY_RUNNER in options.by else ():
            wrong += runner_wrong(sm, options.only or [], folder / "driver")
    print(f"{wrong} wrong")
    return int(wrong > 0)


def _bindings(options: argparse.Namespace, scratch: Path) -> dict[str, str]:
    """The folder of each version of cuda-bindings; of the installed one none."""
    found = {}
    for version in options.bindings:
        folder = cuda_bindings_matrix.install(version, options.folder or scratch / "bindings")
        found[cuda_bindings_matrix.installed_version(cuda_bindings_matrix.path_with(folder, os.environ))] = str(folder)
    return found or {"": ""}


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sm", default="80,90,100,120")
    parser.add_argument("--by", type=_callers, default=CALLERS, help="who launches (default: all)")
    parser.add_argument("--bindings", nargs="+", default=(), metavar="VERSION", help="such as 12.9.* 13.0.* '<14'")
    parser.add_argument("--folder", type=Path, help="where cuda-bindings are installed, and found the next time")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="launches at a time")
    return parser.parse_args(words)


def _callers(text: str) -> list[str]:
    unknown = set(found := text.split(",")) - set(CALLERS)
    if unknown:
        raise argparse.ArgumentTypeError(f"{min(unknown)} launches nothing here; known: {', '.join(CALLERS)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
