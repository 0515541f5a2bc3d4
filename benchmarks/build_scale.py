"""How builds of large kernel libraries scale, against plain SCons commands over the same graph, in the same run.

    python benchmarks/build_scale.py [--kernels 1000] [--sm 90,100] [--jobs 2] [--cold 24] [--repeat 3] [--folder DIR]

The library is the example kernels, renamed and varied. For the builds that look at every node its artifacts are seeded:
each example is compiled once per target, and the others' files are its files with the name replaced, so that a library
of thousands of kernels is there in minutes. What is measured is the real tool on the real graph. A new ptxas, a new
libdevice, another option and one more target are dry runs: what they would build is counted, deciding it is timed.
``--cold`` kernels are built for real, with one job and with several; the CPU time of the scons process itself is what
SCons and the dispatch cost. Where ninja and NVIDIA's tileiras are installed, the same kernels and targets are built by
ninja with one tileiras command for each cubin: its first build is seeded as ours is. Rows that are *served* have a warm
server of their own, whose CPU time is part of theirs. Seconds are medians of wall and of CPU time (user + system, of all processes); on a machine
that others use read the CPU time, and ratios. Memory is the peak of the scons process.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from build_runs import PACKAGE, ROOT, Run, Server, adopt_orphans, find_peers, program, run_build, run_scons

from tileiras_build import driver
from tileiras_build.bytecode.export import list_cases
from tileiras_build.executor.forked import ForkedExecutor
from tileiras_build.libdevice import find_libdevice
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.libdevice_request import asks_libdevice
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.pipeline.stages import LIBDEVICE, STAGES
from tileiras_build.targets import parse_targets
from tileiras_build.terminal import table_text

EXAMPLES = ROOT / "examples" / "kernels"
TEMPLATES = ("vector_add_f32", "softmax_f32", "gelu_tanh_f32", "gelu_erf_f32", "transpose_f16", "matmul_f16_nt")

TOOL = """
from tileiras_build import scons_tool
variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=[scons_tool.generate])
env.Default(env.KernelLibrary("kernels", env.Glob("kernels/*.tilebc")))
"""

SEED = """
from build_scale import Seeds
from tileiras_build import scons_tool
variables = scons_tool.variables(ARGUMENTS)
tool = lambda env: scons_tool.generate(env, executor=Seeds("seeds"))
env = Environment(variables=variables, tools=[tool])
Default(env.KernelLibrary("kernels", Glob("kernels/*.tilebc")))
"""

PLAIN = """
import os
from tileiras_build.pipeline.stages import STAGES

env = Environment(tools=[], ENV={"PATH": os.environ["PATH"]})
if "seed" in ARGUMENTS:
    from build_scale import copy_artifacts
    env["SPAWN"] = copy_artifacts(ARGUMENTS["seed"])
ptxas, libdevice = File(ARGUMENTS["ptxas"]), File(ARGUMENTS["libdevice"])
math, last = set(ARGUMENTS["math"].split(",")), []
for source in Glob("kernels/*.tilebc"):
    name = source.name.removesuffix(".tilebc")
    for sm in ARGUMENTS["sm"].split(","):
        node = source
        for stage in STAGES[1:]:
            targets = [f"build/sm_{sm}/{name}{suffix}" for suffix in (stage.suffix, *stage.side_products)]
            command = f"tileiras-build lower $SOURCE --to {stage.name} --sm {sm} -o $TARGET"
            made = env.Command(targets, node, command)
            if stage.name == "cubin":
                Depends(made, ptxas)
            if stage.name == "ptx" and name.partition("_")[2] in math:
                Depends(made, libdevice)
            node = made[0]
        last.append(node)
Default(Alias("kernels", last))
"""


NINJA = """rule cubin
  command = tileiras --gpu-name sm_$sm $in -o $out
"""

# What stands for tileiras while the ninja build is seeded: any file is a result.
STAND_IN = """#!/bin/sh
for last; do :; done
echo seeded > "$last"
"""


class Seeds:
    """An executor whose artifacts are those of an example kernel with the name replaced."""

    def __init__(self, folder: str):
        self.folder = Path(folder)

    def run(
        self, function: str, data: bytes, source: str, suffix: str, job: Job, path: str, *rest, timeout=None
    ) -> dict:
        """The files of the stage ``suffix``, as ``driver.lower`` returns them; what few kernels share is made."""
        if suffix == LIBDEVICE.suffix:
            return driver.lower(data, source, suffix, job, path, *rest)
        name = Path(path).name.partition(".")[0]
        template, entry = name.partition("_")[2], (self.folder / f"{name.partition('_')[2]}.entry").read_text()
        files = self.folder.glob(f"{template}-{job.target.name}*")
        stage = next(stage for stage in STAGES if stage.suffix == suffix)
        wanted = (suffix, *stage.side_products)
        return {
            file.suffix: file.read_bytes().replace(entry.encode(), _entry(name, entry).encode())
            for file in files
            if file.suffix in wanted
        }

    def close(self) -> None:
        """Nothing to end."""


def copy_artifacts(built: str):
    """SCons' SPAWN that makes a command's targets by copying the files of the library in the folder ``built``."""

    def spawn(shell, escape, command, arguments, environment) -> int:
        target = arguments[-1].strip('"')
        for path in (target, target.removesuffix(".cubin") + ".json") if target.endswith(".cubin") else (target,):
            shutil.copyfile(Path(built) / path, path)
        return 0

    return spawn


def _entry(kernel: str, entry: str) -> str:
    """A name for the entry of ``kernel`` ("k00012_softmax_f32") that is as long as ``entry``."""
    return f"k{int(kernel[1:].partition('_')[0]):0{len(entry) - 1}d}"


@dataclass
class Library:
    """One generated library with its seeds, and beside it the same graph of plain commands."""

    folder: Path
    kernels: int
    sm: str
    jobs: int

    @property
    def plain(self) -> Path:
        """The folder of the plain SConstruct."""
        return self.folder / "plain"

    @property
    def ninja(self) -> Path:
        """The folder of the ninja build."""
        return self.folder / "ninja"

    def generate(self) -> None:
        """Write the kernels and the build scripts, compile the templates and seed the build folders."""
        for folder in (self.folder / "kernels", self.folder / "seeds", self.plain):
            folder.mkdir(parents=True)
        self._compile_templates()
        for number in range(self.kernels):
            self.write_kernel(number)
        (self.folder / "SConstruct").write_text(TOOL)
        (self.folder / "seed.scons").write_text(SEED)
        (self.plain / "SConstruct").write_text(PLAIN)
        os.symlink("../kernels", self.plain / "kernels")
        self.scons("-Q", "-s", "-f", "seed.scons")
        self.scons_plain("-Q", "-s", f"seed={self.folder}")
        if find_peers():
            self._generate_ninja()

    def _generate_ninja(self) -> None:
        self.ninja.mkdir()
        os.symlink("../kernels", self.ninja / "kernels")
        names = sorted(path.name for path in (self.folder / "kernels").iterdir())
        self.write_ninja(self.ninja, names)
        stand_in = self.folder / "stand-in" / "tileiras"
        stand_in.parent.mkdir()
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        self.run_ninja(self.ninja, f"-j{self.jobs}", first=stand_in.parent)

    def write_ninja(self, folder: Path, names: list[str]) -> None:
        """Write the build.ninja of the kernels ``names``."""
        edges = [
            f"build build/sm_{sm}/{name.removesuffix('.tilebc')}.cubin: cubin kernels/{name}\n  sm = {sm}\n"
            for name in names
            for sm in self.sm.split(",")
        ]
        (folder / "build.ninja").write_text(NINJA + "".join(edges))

    def run_ninja(self, folder: Path, *arguments: str, first: Path | None = None) -> Run:
        """Run ninja in ``folder``; ``first`` is looked through for tileiras before anything else."""
        ninja, tileiras = find_peers()
        path = os.pathsep.join(map(str, filter(None, (first, tileiras.parent, os.environ["PATH"]))))
        return run_build([ninja, *arguments], folder, {"PATH": path})

    def _compile_templates(self) -> None:
        # In a child: the memory of this process would count as that of the scons processes that it starts.
        with ForkedExecutor() as executor:
            executor.run(f"{Path(__file__).stem}:compile_templates", str(self.folder / "seeds"), self.sm)

    def write_kernel(self, number: int) -> None:
        """Write the bytecode of kernel ``number``."""
        name = TEMPLATES[number % len(TEMPLATES)]
        (self.folder / "kernels" / f"k{number:05}_{name}.tilebc").write_bytes(self.kernel(number, name))

    def kernel(self, number: int, template: str) -> bytes:
        """The bytecode of kernel ``number`` if its body is that of the example ``template``."""
        entry = (self.folder / "seeds" / f"{template}.entry").read_text()
        data = (self.folder / "seeds" / f"{template}.tilebc").read_bytes()
        return data.replace(entry.encode(), _entry(f"k{number:05}_", entry).encode())

    def alone(self) -> Run:
        """Kernel 0 built cold in a folder of its own, with the same tool."""
        folder = self.folder / "alone"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "kernels").mkdir(parents=True)
        shutil.copy(self.folder / "kernels" / f"k00000_{TEMPLATES[0]}.tilebc", folder / "kernels")
        shutil.copy(self.folder / "SConstruct", folder)
        return self.scons("-Q", folder=folder)

    def other(self, name: str, path) -> Path:
        """A file like the one at ``path`` with other bytes; it is never run."""
        made = self.folder / f"other-{name}"
        shutil.copy(path, made)
        with open(made, "ab") as stream:
            stream.write(b"\0")
        return made

    def scons(self, *arguments: str, folder: Path | None = None, server: Server | None = None) -> Run:
        """Run our SConstruct."""
        return run_scons(folder or self.folder, f"sm={self.sm}", f"-j{self.jobs}", *arguments, server=server)

    def lower(self, server: Server | None = None) -> Run:
        """One kernel by a command, for the first target."""
        target = parse_targets(self.sm)[0].number
        words = ("--sm", str(target), "--to", "cubin", "-o", str(self.folder / "lowered.cubin"))
        return self._command("lower", f"seeds/{TEMPLATES[0]}.tilebc", *words, server=server)

    def tileiras(self) -> Run:
        """The same by NVIDIA's program."""
        _, tileiras = find_peers()
        name = parse_targets(self.sm)[0].name
        words = [f"seeds/{TEMPLATES[0]}.tilebc", f"--gpu-name={name}", "-o", str(self.folder / "peer.cubin")]
        return run_build([str(tileiras), *words], self.folder, {})

    def _command(self, *words: str, server: Server | None) -> Run:
        return run_build([program("tileiras-build"), *words], self.folder, PACKAGE, server=server)

    def scons_in_full(self) -> Run:
        """Run our SConstruct without the record that the shortcut reads."""
        for path in (self.folder / "build").glob(".up_to_date-*"):
            path.unlink()
        return self.scons("-Q")

    def scons_plain(self, *arguments: str) -> Run:
        """Run the plain SConstruct."""
        inputs = (f"ptxas={find_ptxas(None)}", f"libdevice={find_libdevice(None)}", f"math={self._math()}")
        return run_scons(self.plain, f"sm={self.sm}", f"-j{self.jobs}", *inputs, *arguments)

    def _math(self) -> str:
        """The examples that ask for libdevice, with commas: the plain graph has the same edges as ours."""
        target = parse_targets(self.sm)[0].name
        return ",".join(
            name for name in TEMPLATES if asks_libdevice((self.folder / f"seeds/{name}-{target}.ll").read_bytes())
        )


def compile_templates(seeds: str, sm: str) -> None:
    """Write the bytecode and all artifacts of each of TEMPLATES for each target to the folder ``seeds``."""
    from tileiras_build.bytecode.case_table import is_helper
    from tileiras_build.bytecode.export import export_kernels

    made: dict[str, bytes] = {}
    for path in sorted(path for path in EXAMPLES.glob("*.py") if not is_helper(path)):
        if any(name in TEMPLATES for name in list_cases(path)):
            made |= export_kernels(path)
    for name in TEMPLATES:
        Path(seeds, f"{name}.tilebc").write_bytes(made[name])
        for target in parse_targets(sm):
            _compile_template(Path(seeds), name, made[name], target)


def _compile_template(seeds: Path, name: str, data: bytes, target) -> None:
    for before, stage in pairwise(STAGES):
        files = driver.lower(data, before.name, stage.name, Job(target), name)
        for suffix, content in files.items():
            (seeds / f"{name}-{target.name}{suffix}").write_bytes(content)
        data = files[stage.suffix]
    (entry,) = re.findall(rb"\.entry (\w+)", (seeds / f"{name}-{target.name}.ptx").read_bytes())
    (seeds / f"{name}.entry").write_bytes(entry)


@dataclass
class Row:
    """One line of the result."""

    what: str
    runs: list[Run]

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

    def cells(self, plain: Row | None) -> tuple[str, ...]:
        """What the table shows; the last cell is the ratio of CPU time to the plain commands' null build."""
        ratio = f"{self.cpu / plain.cpu:.2f}" if plain else ""
        memory = f"{max(run.memory for run in self.runs):.0f}"
        return (
            self.what,
            f"{self.wall:.2f}",
            f"{self.cpu:.2f}",
            f"{self.own:.2f}",
            memory,
            str(self.runs[-1].steps),
            ratio,
        )


def measure(library: Library, repeat: int) -> list[Row]:
    """The builds that look at every node of a seeded library."""

    def times(what: str, run: Callable[[], Run]) -> Row:
        print(f"  {what} ...", file=sys.stderr, flush=True)
        return Row(what, [run() for _ in range(repeat)])

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
    if find_peers():
        library.run_ninja(library.ninja)  # what seeding changed after its start
        rows.append(times("ninja with tileiras, nothing to do", ninja := lambda: library.run_ninja(library.ninja)))
        rows.append(times("ninja, one kernel edited", lambda: edit(library, ninja)))
        rows.append(times("tileiras, one kernel", library.tileiras))
    return rows


def measure_served(library: Library, times: Callable) -> list[Row]:
    """Rows with a warm server."""
    with Server(library.folder) as server:
        for _ in range(2):  # the first one starts it, and its environment is new
            edit(library, lambda: library.scons("-Q", server=server))
            server.wait()
        return [
            times("one kernel edited, served", lambda: edit(library, lambda: library.scons("-Q", server=server))),
            times("lower, one kernel, served", lambda: library.lower(server)),
        ]


def edit(library: Library, build: Callable[[], Run]) -> Run:
    """Swap the body of kernel 0 for another example's, and ``build``."""
    bodies = ("transpose_f16", TEMPLATES[0])
    current = library.kernel(0, bodies[0])
    path = library.folder / "kernels" / f"k00000_{TEMPLATES[0]}.tilebc"
    path.write_bytes(library.kernel(0, bodies[1]) if path.read_bytes() == current else current)
    return build()


def measure_cold(library: Library, kernels: int) -> list[Row]:
    """A part of the library built for real, with one job and with several."""
    names = sorted(path.name for path in (library.folder / "kernels").iterdir())[:kernels]
    rows = []
    for jobs in (1, library.jobs):
        folder = _part(library, names, f"cold{jobs}")
        shutil.copy(library.folder / "SConstruct", folder)
        run = run_scons(folder, f"sm={library.sm}", f"-j{jobs}", "-Q")
        rows.append(Row(f"cold, {kernels} kernels, -j{jobs}", [run]))
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
    return parser.parse_args()


def main() -> int:
    """Generate, measure, print."""
    options = _options()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary) / "library").resolve()
        library = Library(folder, options.kernels, options.sm, options.jobs)
        if not folder.exists():
            print(f"  seeding {options.kernels} kernels for sm={options.sm} ...", file=sys.stderr, flush=True)
            library.generate()
        rows = measure(library, options.repeat)
        plain = rows[0]
        rows += measure_cold(library, options.cold) if options.cold else []
    head = ("build", "wall s", "CPU s", "scons", "MiB", "steps", "of plain")
    print(table_text(head, [row.cells(plain if "cold" not in row.what else None) for row in rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
