"""The cost of a step on a worker, in SCons, in Dask and in its scheduler; and the resulting build time of a large library.

    python benchmarks/cluster_scale.py [--sm 90,100] [--every 3] [--machines 1,4,10,30,100] [--cores 16]

Everything is measured in CPU seconds, which other work on the machine hardly changes. Workers: every n-th example
kernel is lowered stage by stage from its files, as the nodes of a build are. The rest is measured with stages that do
nothing: in SCons the difference between two builds of 100 and 500 kernels, in Dask many calls at once on a cluster of
two workers on this machine. The estimate is the largest of what the workers, the build, the scheduler and the network
need.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from tileiras_build.driver import lower
from tileiras_build.frontend.cases_table_from_ast import is_helper
from tileiras_build.frontend.export_cutile import export_file
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import STAGES, Stage
from tileiras_build.target.targets import find_target, parse_targets
from tileiras_build.workers.executor.dask_executor import DaskExecutor
from tileiras_build.workers.executor.in_process_executor import InProcessExecutor

SCONSTRUCT = """
import sys
sys.path.insert(0, {benchmarks!r})
import cluster_scale
from tileiras_build import scons_tool
from tileiras_build.workers.executor.in_process_executor import InProcessExecutor
tool = lambda env: scons_tool.generate(env, cluster_scale.NOTHING, InProcessExecutor())
env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=[tool])
Default(env.KernelLibrary("kernels", Glob("*.tilebc")))
"""
NOTHING = tuple(Stage(stage.suffix, "copies its source", "cluster_scale:copy_source") for stage in STAGES)
NETWORK = 1e9 / 8  # bytes a second into and out of the machine of the build: one gigabit


@dataclass
class Costs:
    """Of one kernel for one target: CPU seconds of each stage, bytes that travel; and per step, build and scheduler."""

    stages: dict[str, float]
    bytes: float
    scons: float = 0.0
    dask: float = 0.0
    scheduler: float = 0.0


def copy_source(text: str, job: Job) -> str:
    """The edge of a stage that costs nothing."""
    return text


def main() -> None:
    """Measure, and print two tables."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="tileiras-scale-") as name:
        folder = Path(name)
        kernels = _export(folder, options.every)
        costs = measure_stages(kernels, parse_targets(options.sm))
        costs.scons = measure_scons(folder)
        costs.dask, costs.scheduler = measure_dask(folder)
    total = sum(costs.stages.values())
    print(f"{len(kernels)} kernels x sm={options.sm}: mean CPU time of each stage, from file to file")
    for stage, seconds in costs.stages.items():
        print(f"  {stage:8} {seconds * 1e3:8.1f} ms  {100 * seconds / total:5.1f} %")
    print(f"  together {total * 1e3:8.1f} ms; {costs.bytes / 1e3:.0f} kB travel to the workers and back")
    print(
        f"one step: {costs.scons * 1e3:.2f} ms of SCons, {costs.dask * 1e3:.2f} ms of Dask in the build, "
        f"{costs.scheduler * 1e3:.2f} ms of the scheduler\n"
    )
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


def measure_scons(folder: Path) -> float:
    """CPU seconds that one more step costs SCons."""
    few, many = (_build(folder / str(size), size) for size in (100, 500))
    return (many - few) / (400 * (len(STAGES) - 1))


def measure_dask(folder: Path, calls: int = 2000) -> tuple[float, float]:
    """CPU seconds that one call of many costs the build's process, and the scheduler's."""
    scheduler, workers, address = _start_cluster(folder)
    job, text = Job(find_target("90")), b"x" * 20_000
    try:
        with DaskExecutor(address, InProcessExecutor, jobs=64) as executor, ThreadPoolExecutor(64) as threads:

            def call(number: int) -> None:
                data = text + str(number).encode()
                executor.run("tileiras_build.driver:lower", data, ".ll", ".ptx", job, "k.ll", NOTHING[3:5])

            list(threads.map(call, range(calls // 4)))
            before, before_there = time.process_time(), _cpu_of(scheduler.pid)
            list(threads.map(call, range(calls)))
            return (time.process_time() - before) / calls, (_cpu_of(scheduler.pid) - before_there) / calls
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def print_estimate(costs: Costs, options) -> None:
    """A row for each number of machines: what each part needs at least, and the largest."""
    pairs = options.kernels * options.targets
    steps = pairs * len(costs.stages)
    work, build, scheduler = (
        pairs * sum(costs.stages.values()),
        steps * (costs.scons + costs.dask),
        steps * costs.scheduler,
    )
    network = pairs * costs.bytes / NETWORK
    print(f"{options.kernels} kernels x {options.targets} targets = {steps} steps, {work / 3600:.1f} CPU hours")
    print("machines  cores   workers     build  scheduler   network   longest")
    for machines in map(int, options.machines.split(",")):
        cores = machines * options.cores
        parts = (work / cores, build, scheduler, network)
        texts = [f"{part / 60:.1f} min" for part in (*parts, max(parts))]
        print(f"{machines:8} {cores:6} " + " ".join(f"{text:>9}" for text in texts))
    alone = steps * costs.scons
    print("one build per machine, each with its share of the kernels and targets, and a cache between them:")
    for machines in map(int, options.machines.split(",")):
        parts = (work / (machines * options.cores), alone / machines)
        print(f"{machines:8} {machines * options.cores:6} " + " ".join(f"{part / 60:>5.1f} min" for part in parts))


def _export(folder: Path, every: int) -> list[Path]:
    target = folder / "bytecode"
    target.mkdir()
    for path in sorted(path for path in (ROOT / "examples/kernels").glob("*.py") if not is_helper(path)):
        export_file(path, target)
    return sorted(target.glob("*.tilebc"))[::every]


def _build(folder: Path, kernels: int) -> float:
    """CPU seconds of a build of ``kernels`` kernels with stages that do nothing."""
    folder.mkdir()
    for number in range(kernels):
        (folder / f"k{number}.tilebc").write_bytes(b"x" * 20_000 + str(number).encode())
    (folder / "SConstruct").write_text(SCONSTRUCT.format(benchmarks=str(ROOT / "benchmarks")))
    command = [sys.executable, "-m", "SCons", "-j2", "-s", "sm=90"]
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
    return os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'benchmarks'}"}


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
