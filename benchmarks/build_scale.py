"""Scaling of builds of large kernel libraries, compared with plain SCons commands over the same graph in the same run.

    python benchmarks/build_scale.py [--kernels 1000] [--sm 90,100] [--jobs 2] [--cold 24] [--repeat 3] [--folder DIR]
    python benchmarks/build_scale.py --goals [--jobs 2] [--repeat 3] [--folder DIR]

The library is the example kernels, renamed and varied, with seeded artifacts (``generated_library.py``). A new ptxas, a new
libdevice, another option and one more target are dry runs: what they would build is counted, deciding it is timed.
``--cold`` kernels are built for real, with one job and with several, and compiled in one process; the CPU time of the scons process itself is what
SCons and the dispatch cost. Where ninja and NVIDIA's tileiras are installed, the same kernels and targets are built by
ninja with one tileiras command for each cubin: its first build is seeded as ours is. Rows that are *served* have a warm
server of their own, whose CPU time is part of theirs. Seconds are medians of wall and of CPU time (user + system, of all processes); on a machine
that others use read the CPU time, and ratios. Memory is the peak of the scons process.

``--goals`` measures what people wait for in the edit loop, beside the seconds of wall time that it is to take on two quiet
cores, for libraries of both sizes of GOALS; the plain commands, whose graph takes longer than all else, run once.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from generated_library import TEMPLATES, Library
from measure_build_runs import PACKAGE, Run, Server, adopt_orphans, find_peers, run_build, run_scons

from tileiras_build.core.terminal import table_text
from tileiras_build.libdevice import find_libdevice
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas


@dataclass(frozen=True)
class Goal:
    """A library, and the seconds from the edit of one kernel to its cubins, without a compile server and with one."""

    kernels: int
    sm: str
    edit: float
    served: float


GOALS = (Goal(1000, "90,100", 2.0, 0.8), Goal(4000, "80,90,100,120", 4.0, 1.5))
COMPILE = """
import sys
from pathlib import Path
from tileiras_build import driver
from tileiras_build.target.targets import parse_targets

for path in sorted(Path("kernels").glob("*.tilebc")):
    for target in parse_targets(sys.argv[1]):
        driver.compile(path.read_bytes(), target.name, name=path.name)
"""
# A build takes what it has made of the same source before.
_edits = zip(itertools.cycle(("transpose_f16", TEMPLATES[0])), itertools.count(int(time.time()) % 10**6 + 10**6))
ONE_KERNEL, ONE_KERNEL_SERVED = 0.5, 0.15  # seconds of one command


@dataclass
class Row:
    """One line of the result; ``goal`` is the wall time that it is to take, in seconds."""

    what: str
    runs: list[Run]
    goal: float | None = None

    @property
    def wall(self) -> float:
        """The median wall time, seconds."""
        return statistics.median(run.wall for run in self.runs)

    @property
    def cpu(self) -> float:
        """The median CPU time, seconds."""
        return statistics.median(run.cpu for run in self.runs)

    @property
    def own(self) -> float:
        """The median share of the scons process, seconds."""
        return statistics.median(run.own for run in self.runs)

    def table_cells(self, plain: Row | None) -> tuple[str, ...]:
        """What the table shows; the last cell is the ratio of CPU time to the plain commands' null build."""
        return (self.what, f"{self.wall:.2f}", *self._cost(), f"{self.cpu / plain.cpu:.2f}" if plain else "")

    def goal_cells(self) -> tuple[str, ...]:
        """The same with the goal beside the wall time."""
        return (self.what, f"{self.wall:.2f}", "" if self.goal is None else f"{self.goal:g}", *self._cost())

    def _cost(self) -> tuple[str, ...]:
        memory = f"{max(run.memory for run in self.runs):.0f}"
        return f"{self.cpu:.2f}", f"{self.own:.2f}", memory, str(self.runs[-1].steps)


def _timer(repeat: int) -> Callable[..., Row]:
    def times(what: str, run: Callable[[], Run], goal: float | None = None) -> Row:
        print(f"  {what} ...", file=sys.stderr, flush=True)
        return Row(what, [run() for _ in range(repeat)], goal)

    return times


def measure(library: Library, repeat: int) -> list[Row]:
    """The builds that look at every node of a seeded library."""
    times = _timer(repeat)
    library.scons("-Q")  # a first run settles what seeding left: it is not measured
    library.scons_plain("-Q")
    dry = ("-Q", "-n")
    plain = times("plain commands, nothing to do", lambda: library.scons_plain("-Q"))
    rows = [plain, times("nothing to do, every node checked", library.scons_in_full)]
    library.scons("-Q")
    rows.append(times("nothing to do, shortcut", lambda: library.scons("-Q")))
    rows.append(times("one kernel edited", lambda: edit(library, lambda: library.scons("-Q"))))
    rows.append(times("that kernel alone", library.alone))
    rows += measure_served(library, times)
    for what, options in (
        ("other option", ("opt=2",)),
        ("new ptxas", (f"ptxas={library.other('ptxas', find_ptxas(None))}",)),
        ("new libdevice", (f"libdevice={library.other('libdevice', find_libdevice(None))}",)),
    ):
        rows.append(times(f"{what} (dry run)", lambda options=options: library.scons(*dry, *options)))
    rows.append(times("one more target (dry run)", lambda: library.scons(*dry, f"sm={library.sm},120")))
    rows.append(times("lower, one kernel", library.lower))
    return rows + measure_peers(library, times)


def measure_peers(library: Library, times: Callable[..., Row], size: str = "") -> list[Row]:
    """The rows of ninja and NVIDIA's tileiras, where they are installed."""
    if not find_peers():
        return []
    ninja = lambda: library.run_ninja(library.ninja)
    ninja()  # what seeding changed after its start
    return [
        times(f"{size}ninja with tileiras, nothing to do", ninja),
        times(f"{size}ninja, one kernel edited", lambda: edit(library, ninja)),
        times("tileiras, one kernel", library.tileiras),
    ]


def measure_served(library: Library, times: Callable[..., Row], size: str = "", goal: float | None = None) -> list[Row]:
    """Rows with a compile server."""
    with Server(library.folder) as server:
        built = lambda: library.scons("-Q", server=server)
        for _ in range(2):  # the first one starts it, and its environment is new
            edit(library, built)
            server.wait()
        return [
            times(f"{size}one kernel edited, served", lambda: edit(library, built), goal),
            times("lower, one kernel, served", lambda: library.lower(server), ONE_KERNEL_SERVED),
            times("as, one kernel, served", lambda: library.compile_as_tileiras(server), ONE_KERNEL_SERVED),
        ]


def measure_goal(goal: Goal, library: Library, repeat: int) -> list[Row]:
    """What one waits for in a library, and for one command."""
    times, size = _timer(repeat), f"{goal.kernels} x {len(goal.sm.split(','))}: "
    built = lambda: library.scons("-Q")
    built()  # a first run settles what seeding left: it is not measured
    return [
        times(f"{size}nothing to do", built),
        times(f"{size}one kernel edited", lambda: edit(library, built), goal.edit),
        *measure_served(library, times, size, goal.served),
        times("lower, one kernel", library.lower, ONE_KERNEL),
        times("as, one kernel", library.compile_as_tileiras, ONE_KERNEL),
        *measure_peers(library, times, size),
        *measure_plain(library, size),
    ]


def measure_plain(library: Library, size: str) -> list[Row]:
    """The rows of plain commands, of one run each."""
    once = _timer(1)
    built = lambda: library.scons_plain("-Q")
    built()  # the kernel that other rows have edited, and what seeding left
    return [
        once(f"{size}plain commands, nothing to do", built),
        once(f"{size}plain commands, one kernel edited", lambda: edit(library, built)),
    ]


def edit(library: Library, build: Callable[[], Run]) -> Run:
    """Swap the body of kernel 0 for another example's, under a name that no build has seen, and ``build``."""
    path = library.folder / "kernels" / f"k00000_{TEMPLATES[0]}.tilebc"
    body, number = next(_edits)
    path.write_bytes(library.kernel(number, body))
    return build()


def measure_cold(library: Library, kernels: int) -> list[Row]:
    """A part of the library built for real, with one job and with several, and compiled in one process without files."""
    names = sorted(path.name for path in (library.folder / "kernels").iterdir())[:kernels]
    rows = []
    for jobs in (1, library.jobs):
        folder = _part(library, names, f"cold{jobs}")
        shutil.copy(library.folder / "SConstruct", folder)
        run = run_scons(folder, f"sm={library.sm}", f"-j{jobs}", "-Q")
        rows.append(Row(f"cold, {kernels} kernels, -j{jobs}", [run]))
    folder = _part(library, names, "cold-process")
    run = run_build([sys.executable, "-c", COMPILE, library.sm], folder, PACKAGE)
    rows.append(Row("cold, compiled in one process", [run]))
    if find_peers():
        folder = _part(library, names, "cold-ninja")
        library.write_ninja(folder, names)
        run = library.run_ninja(folder, f"-j{library.jobs}")
        rows.append(Row(f"cold, ninja with tileiras, -j{library.jobs}", [run]))
    return rows


def _part(library: Library, names: list[str], name: str) -> Path:
    """A folder with some of the library's kernels."""
    print(f"  {name} ...", file=sys.stderr, flush=True)
    folder = library.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "kernels").mkdir(parents=True)
    for kernel in names:
        shutil.copy(library.folder / "kernels" / kernel, folder / "kernels")
    return folder


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--sm", default="90,100")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cold", type=int, default=24, help="kernels that are built for real (default: 24; 0: none)")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the library here; it is used again if it is there")
    parser.add_argument(
        "--goals",
        action="store_true",
        help="the edit loop alone, beside its goals; libraries in folders below --folder",
    )
    return parser.parse_args()


def _library(folder: Path, kernels: int, sm: str, jobs: int) -> Library:
    """The seeded library in ``folder``."""
    library = Library(folder, kernels, sm, jobs)
    if not folder.exists():
        print(f"  seeding {kernels} kernels for sm={sm} ...", file=sys.stderr, flush=True)
        library.generate()
    return library


def _goals(folder: Path, options: argparse.Namespace) -> str:
    rows = []
    for goal in GOALS:
        below = folder / f"{goal.kernels}"
        rows += measure_goal(goal, _library(below, goal.kernels, goal.sm, options.jobs), options.repeat)
    return table_text(("", "wall s", "goal s", "CPU s", "scons", "MiB", "steps"), [row.goal_cells() for row in rows])


def _scale(folder: Path, options: argparse.Namespace) -> str:
    library = _library(folder, options.kernels, options.sm, options.jobs)
    rows = measure(library, options.repeat)
    plain = rows[0]
    rows += measure_cold(library, options.cold) if options.cold else []
    head = ("build", "wall s", "CPU s", "scons", "MiB", "steps", "of plain")
    return table_text(head, [row.table_cells(plain if "cold" not in row.what else None) for row in rows])


def main() -> int:
    """Generate, measure, print."""
    options = _options()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary) / "library").resolve()
        print(_goals(folder, options) if options.goals else _scale(folder, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
