"""Speed-up of a cold build of a large library on several Dask workers of this machine over one.

    python benchmarks/cluster_build.py [--kernels 400] [--sm 80,90,100,120] [--workers 4] [--kill] [--folder DIR]

The library is the example kernels, renamed. It is built by one worker, by ``--workers``, and with ``--kill`` by as
many of which one is killed when a third of the cubins are there; each worker is a process of ``dask worker`` with one
thread, and all builds must give the same bytes. A machine may have fewer cores than that, so there are three ratios:

- "replayed", the one that counts: the wall time of a build by one worker over that of a build by all. The steps of these
  builds are as long as the CPU time that each took a worker in a real build (``dask_preload_replay.py``), but the workers sleep
  in the meantime, as if each had a core of its own, and give back what the step gave. All else is real: SCons, the
  scheduler, Dask in the workers, what travels, who waits for whom. One core or two are enough for that; other work on
  the machine lengthens both times, the shorter one more.
- "all at once" and "one after the other", of the CPU time of the processes of the real builds, without what Dask's
  processes take by the clock when nothing is asked of them (a sample): a build takes at least as long as its longest
  process (the ``scons`` process, the scheduler, the busiest worker with its compilers), and at most as long as these
  one after the other. Where workers share cores, one of them may get more to do than it would on a core of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from types import MappingProxyType

from dask_preload_replay import NOTE, REPLAY, collect, cpu_below, tree
from generated_library import EXAMPLES, TEMPLATES, TOOL
from measure_build_runs import PACKAGE, program

from tileiras_build.core.terminal import table_text
from tileiras_build.frontend.cases_table_from_ast import is_helper
from tileiras_build.frontend.export_cutile import export_kernels, list_cases
from tileiras_build.target.targets import parse_targets

_LOOK = 0.1  # seconds
_IDLE = 10.0  # seconds for which the idle cluster is watched, when the build is done
_PATIENCE = 120.0  # seconds for a process of Dask to be there
_KILLED_AFTER = 1 / 3  # of the cubins


@dataclass
class Build:
    """What a cold build has cost: seconds by the clock, and CPU seconds of the scons process, the scheduler and each worker."""

    title: str
    wall: float
    scons: float
    scheduler: float
    workers: list[float]
    digest: str

    @property
    def least(self) -> float:
        """Seconds with a core for each process, where all of them work at once."""
        return max(self.scons, self.scheduler, *self.workers)

    @property
    def most(self) -> float:
        """The same where none works while another one does, but for the workers among themselves."""
        return self.scons + self.scheduler + max(self.workers)

    def cells(self, one: Build) -> tuple[str, ...]:
        """A row of the table, with ratios to the build by ``one`` worker."""
        workers = " ".join(f"{seconds:.0f}" for seconds in self.workers)
        times = [f"{seconds:.1f}" for seconds in (self.wall, self.scons, self.scheduler)]
        ratios = [f"{mine:.0f} ({its / mine:.2f}x)" for mine, its in ((self.least, one.least), (self.most, one.most))]
        return (self.title, *times, workers, *ratios)

    def replayed_cells(self, one: Build) -> tuple[str, ...]:
        """A row of the table of builds whose workers sleep, with the ratio to that by ``one`` worker."""
        times = [f"{seconds:.1f}" for seconds in (self.wall, self.scons, self.scheduler)]
        return (self.title, *times, f"{one.wall / self.wall:.2f}x")


class Cluster:
    """A scheduler and ``workers`` workers with one thread each; ends with the block.

    ``notes`` are for the workers: which variable of their environment names which file (``dask_preload_replay.py``).
    """

    def __init__(self, folder: Path, workers: int, notes: Mapping[str, str]):
        self._notes = notes
        self._folder, self._lost = folder, list[float]()
        folder.mkdir()
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(file))
        _wait(lambda: file.exists() and file.read_text())
        self.address = json.loads(file.read_text())["address"]
        options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
        options += ["--preload", collect.__module__] if notes else []
        self.workers = [self._start("worker", self.address, *options) for _ in range(workers)]
        self._await_workers(workers)
        self._since, self._before = time.perf_counter(), self._used()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exception):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def kill_one(self) -> None:
        """As a machine that loses its power; its CPU time counts."""
        victim = self.workers.pop()
        self._lost = [cpu_below(victim.pid)]
        for process in list(tree(victim.pid)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        victim.wait()

    def seconds(self) -> list[float]:
        """CPU seconds since all were there: of the scheduler, and of each worker with all that it has started."""
        clock, used = time.perf_counter() - self._since, self._used()
        time.sleep(_IDLE)
        # Who was killed is idle no more.
        idle = [(later - now) / _IDLE for now, later in zip(used, self._used())]
        return [now - start - rate * clock for start, now, rate in zip(self._before, used, idle)]

    def keep_notes(self, path: str) -> None:
        """Write what the one worker has noted."""
        from distributed import Client

        with Client(self.address, set_as_default=False, timeout=_PATIENCE) as client:
            Path(path).write_bytes(*client.run(collect).values())

    def _used(self) -> list[float]:
        return [cpu_below(process.pid) for process in (self.scheduler, *self.workers)] + self._lost

    def _await_workers(self, number: int) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False, timeout=_PATIENCE) as client:
            client.wait_for_workers(number, timeout=_PATIENCE)

    def _start(self, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1", "--no-dashboard"]
        with open(self._folder / "log", "ab") as log:
            return subprocess.Popen(
                command, env=os.environ | PACKAGE | self._notes, stdout=log, stderr=log, cwd=self._folder
            )


def main() -> int:
    """Build four or five times, and print two tables."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="tileiras-cluster-") as scratch:
        folder = Path(options.folder or scratch)
        kernels = generate(folder / "kernels", options.kernels)
        notes = str(folder / "notes")
        builds = [build(folder, kernels, options.sm, workers=1, notes={NOTE: notes})]
        builds += [
            build(folder, kernels, options.sm, workers=options.workers, kills=kills)
            for kills in (False, True)[: 1 + options.kill]
        ]
        replayed = [
            build(folder, kernels, options.sm, workers=number, notes={REPLAY: notes}) for number in (1, options.workers)
        ]
    head = ("build", "wall s", "scons CPU s", "scheduler CPU s", "workers CPU s", "all at once", "one after the other")
    print(f"{options.kernels} kernels x sm={options.sm}, cold; {os.cpu_count()} cores")
    print(table_text(head, [one.cells(builds[0]) for one in builds]))
    head = ("replayed", "wall s", "scons CPU s", "scheduler CPU s", "ratio")
    print(table_text(head, [one.replayed_cells(replayed[0]) for one in replayed]))
    same = len({one.digest for one in builds + replayed}) == 1
    print("all builds have made the same bytes" if same else "the builds have made different bytes")
    return int(not same)


def generate(folder: Path, number: int) -> dict[str, bytes]:
    """The bytecode of ``number`` kernels by file name: the examples, each with a name of its own."""
    made: dict[str, bytes] = {}
    for path in sorted(path for path in EXAMPLES.glob("*.py") if not is_helper(path)):
        if any(name in TEMPLATES for name in list_cases(path)):
            made |= export_kernels(path)
    kernels = {}
    for index, name in enumerate(islice(cycle(TEMPLATES), number)):
        entry = f"k{index:0{len(name) - 1}d}"
        kernels[f"k{index:05}_{name}.tilebc"] = made[name].replace(name.encode(), entry.encode())
    return kernels


def build(
    folder: Path,
    kernels: dict[str, bytes],
    sm: str,
    *,
    workers: int,
    kills: bool = False,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> Build:
    """One cold build by a cluster of its own; ``kills`` one of the workers in its middle, ``notes`` are those of Cluster."""
    project = folder / f"by-{workers}{'-killed' * kills}{'-replayed' * (REPLAY in notes)}"
    (project / "kernels").mkdir(parents=True)
    for name, data in kernels.items():
        (project / "kernels" / name).write_bytes(data)
    (project / "SConstruct").write_text(TOOL)
    cubins = len(kernels) * len(parse_targets(sm))
    title = f"{workers} worker{'s' * (workers > 1)}{', one is killed' * kills}"
    with Cluster(project / "dask", workers, notes) as cluster:
        command = [program("scons"), "-Q", f"sm={sm}", f"-j{2 * workers}", f"executor={cluster.address}", "server=0"]
        start = time.perf_counter()
        with open(project / "log", "wb") as log:
            scons = subprocess.Popen(command, cwd=project, env=os.environ | PACKAGE, stdout=log, stderr=log)
        if kills:
            threading.Thread(target=_kill_in_the_middle, args=(cluster, project, cubins), daemon=True).start()
        _, status, usage = os.wait4(scons.pid, 0)
        wall = time.perf_counter() - start
        if status:
            raise SystemExit(f"the build by {title} failed:\n{(project / 'log').read_text()[-2000:]}")
        scheduler, *busy = cluster.seconds()
        if NOTE in notes:
            cluster.keep_notes(notes[NOTE])
    return Build(title, wall, usage.ru_utime + usage.ru_stime, scheduler, busy, _digest(project, cubins))


def _kill_in_the_middle(cluster: Cluster, project: Path, cubins: int) -> None:
    _wait(lambda: len(list((project / "build").glob("sm_*/*.cubin"))) > cubins * _KILLED_AFTER, patience=float("inf"))
    cluster.kill_one()


def _digest(project: Path, cubins: int) -> str:
    """Of all cubins, by their names."""
    found = sorted((project / "build").glob("sm_*/*.cubin"))
    if len(found) != cubins:
        raise SystemExit(f"the build made {len(found)} of {cubins} cubins")
    parts = (f"{path.parent.name}/{path.name}".encode() + hashlib.sha256(path.read_bytes()).digest() for path in found)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _wait(ready: Callable[[], object], patience: float = _PATIENCE) -> None:
    until = time.monotonic() + patience
    while not ready():
        if time.monotonic() > until:
            raise SystemExit("Dask does not start")
        time.sleep(_LOOK)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernels", type=int, default=400)
    parser.add_argument("--sm", default="80,90,100,120")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kill", action="store_true", help="build once more, and kill a worker")
    parser.add_argument("--folder", help="where the builds are made, and stay")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
