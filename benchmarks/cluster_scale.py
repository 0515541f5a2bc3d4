"""What a step costs, on a worker, in the build and in Dask's scheduler; and how long a large library then takes.

    python benchmarks/cluster_scale.py [--sm 90,100] [--every 3] [--machines 1,4,10,30,100] [--cores 16]

Everything is measured in CPU seconds, which other work on the machine hardly changes: every n-th example kernel is
lowered stage by stage from its files, as the nodes of a build are; then two real builds of different size run on a
Dask cluster of two workers on this machine, and the difference between them says what one step more costs the build
and the scheduler. The estimate is the largest of what the workers, the build, the scheduler and the network need.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tileiras_build.bytecode.export import export_file
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.targets import parse_targets

SCONSTRUCT = """
from tileiras_build import scons_tool
env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=[scons_tool.generate])
Default(env.KernelLibrary("kernels", Glob("*.tilebc")))
"""
NETWORK = 1e9 / 8  # bytes a second into and out of the machine of the build: one gigabit


@dataclass
class Costs:
    """Of one kernel for one target: CPU seconds of each stage, bytes that travel; and per step, build and scheduler."""

    stages: dict[str, float]
    bytes: float
    build: float = 0.0
    scheduler: float = 0.0


def main() -> None:
    """Measure, and print two tables."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="tileiras-scale-") as name:
        folder = Path(name)
        kernels = _export(folder, options.every)
        costs = measure_stages(kernels, parse_targets(options.sm))
        costs.build, costs.scheduler = measure_build(folder, kernels)
    total = sum(costs.stages.values())
    print(f"{len(kernels)} kernels x sm={options.sm}: mean CPU time of each stage, from file to file")
    for stage, seconds in costs.stages.items():
        print(f"  {stage:8} {seconds * 1e3:8.1f} ms  {100 * seconds / total:5.1f} %")
    print(f"  together {total * 1e3:8.1f} ms; {costs.bytes / 1e3:.0f} kB travel to the workers and back")
    print(f"one step: {costs.build * 1e3:.2f} ms of the build, {costs.scheduler * 1e3:.2f} ms of the scheduler\n")
    print_estimate(costs, options)


def measure_stages(kernels: list[Path], targets) -> Costs:
    """The mean costs of ``kernels`` for ``targets``."""
    seconds, travelled = defaultdict(list), []
    for path in kernels:
        for target in targets:
            data, moved = path.read_bytes(), 0
            for source, stage in itertools.pairwise(STAGES):
                start = _cpu()
                files = lower(data, source.suffix, stage.suffix, Job(target), path.name)
                seconds[stage.name].append(_cpu() - start)
                moved += len(data) + sum(map(len, files.values()))
                data = files[stage.suffix]
            travelled.append(moved)
    # The first call of each stage imports it.
    return Costs({name: statistics.mean(values[1:]) for name, values in seconds.items()}, statistics.mean(travelled))


def measure_build(folder: Path, kernels: list[Path]) -> tuple[float, float]:
    """CPU seconds that one more step costs the build's process, and the scheduler's."""
    scheduler, workers, address = _start_cluster(folder)
    try:
        build = [_build(folder / "warm", kernels[:2], address)]
        scheduled = []
        for size in (len(kernels) // 4, len(kernels)):
            before = _cpu_of(scheduler.pid)
            build.append(_build(folder / str(size), kernels[:size], address))
            scheduled.append(_cpu_of(scheduler.pid) - before)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
    steps = (len(kernels) - len(kernels) // 4) * (len(STAGES) - 1)
    return (build[2] - build[1]) / steps, (scheduled[1] - scheduled[0]) / steps


def print_estimate(costs: Costs, options) -> None:
    """A row for each number of machines: what each part needs at least, and the largest."""
    pairs = options.kernels * options.targets
    steps = pairs * len(costs.stages)
    work, build, scheduler = pairs * sum(costs.stages.values()), steps * costs.build, steps * costs.scheduler
    network = pairs * costs.bytes / NETWORK
    print(f"{options.kernels} kernels x {options.targets} targets = {steps} steps, {work / 3600:.1f} CPU hours")
    print("machines  cores   workers     build  scheduler   network   longest")
    for machines in map(int, options.machines.split(",")):
        cores = machines * options.cores
        parts = (work / cores, build, scheduler, network)
        texts = [f"{part / 60:.1f} min" for part in (*parts, max(parts))]
        print(f"{machines:8} {cores:6} " + " ".join(f"{text:>9}" for text in texts))
    for shards in (4, 12):
        print(f"{shards} builds at once, each with its scheduler: build {build / shards / 60:.1f} min")


def _export(folder: Path, every: int) -> list[Path]:
    target = folder / "bytecode"
    target.mkdir()
    for path in sorted((ROOT / "examples/kernels").glob("[!_]*.py")):
        export_file(path, target)
    return sorted(target.glob("*.tilebc"))[::every]


def _build(folder: Path, kernels: list[Path], address: str) -> float:
    """CPU seconds of a build of ``kernels`` on the cluster."""
    folder.mkdir()
    for path in kernels:
        shutil.copy(path, folder)
    (folder / "SConstruct").write_text(SCONSTRUCT)
    command = [sys.executable, "-m", "SCons", "-j32", "sm=90", f"executor={address}"]
    before = _cpu(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=_environment(), stdout=subprocess.DEVNULL, check=True)
    return _cpu(resource.RUSAGE_CHILDREN) - before


def _start_cluster(folder: Path):
    file = folder / "scheduler.json"

    def start(*arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1", "--no-dashboard"]
        with open(folder / "log", "ab") as log:
            return subprocess.Popen(command, env=_environment(), stdout=log, stderr=log, cwd=folder)

    scheduler = start("scheduler", "--port", "0", "--scheduler-file", str(file))
    while not (file.exists() and file.read_text()):
        time.sleep(0.1)
    address = json.loads(file.read_text())["address"]
    return scheduler, [start("worker", address, "--nthreads", "1", "--no-nanny") for _ in range(2)], address


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def _cpu(whose: int | None = None) -> float:
    """CPU seconds of this process and its ended children (ptxas), or only of ``whose``."""
    used = [
        resource.getrusage(who)
        for who in ([resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN] if whose is None else [whose])
    ]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sm", default="90,100", help="targets whose costs are measured")
    parser.add_argument("--every", type=int, default=3, help="measure every n-th example kernel")
    parser.add_argument("--kernels", type=int, default=4000)
    parser.add_argument("--targets", type=int, default=12)
    parser.add_argument("--machines", default="1,4,10,30,100")
    parser.add_argument("--cores", type=int, default=16, help="of one machine")
    return parser.parse_args()


if __name__ == "__main__":
    main()
