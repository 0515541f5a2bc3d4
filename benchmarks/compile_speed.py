"""CPU time per kernel, from parse to cubin, of this compiler and, if installed, of NVIDIA's tileiras.

    python benchmarks/compile_speed.py [--sm 90] [--repeat 3] [--profile] [FILE.tilebc | FOLDER]...

Without files the kernels of the example library are exported and measured. Our time is user + system of a warm
process and of its children (ptxas); NVIDIA's is that of its process and children, which is how it is run: once per
kernel. Both write the same kind of cubin from the same bytes at the same optimization level.
"""

from __future__ import annotations

import argparse
import gc
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.core.terminal import table_text
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.simulate.estimate.constant_bank_values import Launch
from tileiras_build.simulate.estimate.kernel_from_cubin import KernelModel
from tileiras_build.simulate.estimate.tile_order import ROW_MAJOR
from tileiras_build.target.targets import Target, find_target

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "kernels"
CUBIN = "k.cubin"


def main() -> int:
    """Measure and print; returns 1 if a kernel failed in our compiler."""
    options = _options()
    target = find_target(options.sm)
    kernels = _read_kernels(options.files) if options.files else export_examples()
    other = find_peer()
    freeze()
    rows, profile, failures = _measure(kernels, target, options.repeat, other)
    _print_rows(rows, other)
    if options.profile and profile:
        _print_profile(profile)
    for name, error in failures.items():
        print(f"{name}: {error}", file=sys.stderr)
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--sm", default="90", help="the target (default: 90)")
    parser.add_argument("--repeat", type=int, default=3, help="the least of this many runs counts (default: 3)")
    parser.add_argument("--profile", action="store_true", help="show where our time goes, by stage")
    return parser.parse_args()


def _read_kernels(paths: list[Path]) -> dict[str, bytes]:
    files = [file for path in paths for file in (sorted(path.rglob("*.tilebc")) if path.is_dir() else [path])]
    return {file.stem: file.read_bytes() for file in files}


def export_examples() -> dict[str, bytes]:
    """The bytecode of the example library, by kernel."""
    from tileiras_build.frontend.cases_table_from_ast import is_helper
    from tileiras_build.frontend.export_cutile import export_kernels

    kernels: dict[str, bytes] = {}
    for path in sorted(path for path in EXAMPLES.glob("*.py") if not is_helper(path)):
        kernels |= export_kernels(path)
    return kernels


def freeze() -> None:
    """Keep what is loaded out of later collections, as a build's workers do (``workers/executor/preload.py``).

    Else a full collection of what the front end has imported for the export, 0.2 s where torch is installed, falls into
    the time of one kernel or another.
    """
    gc.collect()
    gc.freeze()


def find_peer() -> str | None:
    """Path of NVIDIA's tileiras, from its wheel or PATH."""
    return shutil.which("tileiras", path=_path_of_wheels()) or shutil.which("tileiras")


def peer_launch(launch: Launch, kernel: KernelModel) -> Launch:
    """Our launch as tileiras' kernel runs: with the threads and the cluster of its cubin, in the order of the grid."""
    block = (kernel.threads or launch.threads, 1, 1)
    return replace(launch, block=block, cluster=kernel.cluster, shared_memory=0, order=ROW_MAJOR)


def peer_cubin(code: bytes, target: str, seconds: float | None = None) -> bytes:
    """tileiras' cubin of bytecode. Raises FileNotFoundError where it is not installed, CalledProcessError where it refuses, TimeoutExpired after ``seconds``."""
    program = find_peer()
    if program is None:
        raise FileNotFoundError("tileiras is not installed")
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "k.tilebc"), Path(folder, "k.cubin")
        source.write_bytes(code)
        command = [program, f"--gpu-name={target}", "-O3", str(source), "-o", str(cubin)]
        subprocess.run(command, capture_output=True, check=True, timeout=seconds)
        return cubin.read_bytes()


def _path_of_wheels() -> str:
    """Where pip puts the programs of NVIDIA's wheels."""
    return ":".join(str(folder) for entry in sys.path for folder in Path(entry).glob("nvidia/cu*/bin"))


def _measure(kernels: dict[str, bytes], target: Target, repeat: int, other: str | None):
    rows, profile, failures = [], defaultdict(list), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, bytecode in kernels.items():
            try:
                # The first run warms imports, LLVM and libdevice, as in a worker that has compiled before.
                driver.compile(bytecode, target.name)
                runs = [run_ours(bytecode, target) for _ in range(repeat)]
            except TileirasError as error:
                failures[name] = error
                continue
            ours, seconds = min(runs, key=lambda run: run[0])
            for stage, spent in seconds.items():
                profile[stage].append(spent)
            theirs = min(run_theirs(other, bytecode, target, Path(folder)) for _ in range(repeat)) if other else None
            rows.append((name, ours, theirs))
    return rows, profile, failures


def run_ours(bytecode: bytes, target: Target) -> tuple[float, dict[str, float]]:
    """CPU seconds of our compiler, and wall seconds by stage."""
    seconds: dict[str, float] = {}
    spent = _cpu_time(lambda: seconds.update(driver.compile(bytecode, target.name).seconds))
    return spent, seconds


def run_theirs(program: str, bytecode: bytes, target: Target, folder: Path) -> float:
    """CPU seconds of NVIDIA's compiler, which writes ``CUBIN`` in the folder; infinite if it refuses the kernel."""
    source = folder / "k.tilebc"
    source.write_bytes(bytecode)
    command = [program, f"--gpu-name={target.name}", "-O3", str(source), "-o", str(folder / CUBIN)]
    status: list[int] = []
    spent = _cpu_time(lambda: status.append(subprocess.run(command, capture_output=True, check=False).returncode))
    return spent if status == [0] else float("inf")


def _cpu_time(work: Callable[[], object]) -> float:
    """User and system seconds that ``work`` takes in this process and in the children that it waits for."""
    before = usage()
    work()
    return usage() - before


def usage() -> float:
    """User and system seconds of this process and of the children that it has waited for."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _print_rows(rows: list[tuple[str, float, float | None]], other: str | None) -> None:
    if not rows:
        return
    compared = [(ours, theirs) for _, ours, theirs in rows if theirs not in (None, float("inf"))]
    cells = [(name, _ms(ours), _ms(theirs), _ratio(ours, theirs)) for name, ours, theirs in rows]
    print(table_text(("kernel", "ours ms", "tileiras ms", "ratio"), cells))
    print(f"\nmedian of {len(rows)} kernels: {_ms(statistics.median(ours for _, ours, _ in rows))} ms")
    if not other:
        print("tileiras is not installed (pip install nvidia-cuda-tileiras): nothing to compare with")
    elif compared:
        median = statistics.median(theirs for _, theirs in compared)
        ratio = statistics.median(ours / theirs for ours, theirs in compared)
        print(f"tileiras, {len(compared)} kernels: {_ms(median)} ms; median ratio {ratio:.2f}")


def _print_profile(profile: dict[str, list[float]]) -> None:
    """Wall time, since ptxas runs outside this process; stages run one after another."""
    total = sum(map(sum, profile.values()))
    rows = []
    for stage in STAGES:
        spent = profile.get(stage.name, [0.0])
        step = "parse" if stage is STAGES[0] else f"-> {stage.suffix}"
        rows.append((step, _ms(statistics.median(spent)), f"{100 * sum(spent) / total:.0f}%"))
    print("\n" + table_text(("step", "median ms", "share"), rows))


def _ms(seconds: float | None) -> str:
    return "-" if seconds in (None, float("inf")) else f"{seconds * 1e3:.1f}"


def _ratio(ours: float, theirs: float | None) -> str:
    return "-" if theirs in (None, float("inf")) else f"{ours / theirs:.2f}"


if __name__ == "__main__":
    sys.exit(main())
