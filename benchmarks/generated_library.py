"""Libraries of thousands of kernels, generated from the examples: renamed and varied, with their artifacts.

Each example is compiled once per target, and the others' files are its files with the name replaced, so that a library of
thousands of kernels is there in minutes. What builds then look at is the real tool on the real graph.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from measure_build_runs import PACKAGE, ROOT, Run, Server, find_peers, program, run_build, run_scons

from tileiras_build import driver
from tileiras_build.frontend.export_cutile import list_cases
from tileiras_build.libdevice import find_libdevice
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.libdevice_request import needs_libdevice
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.pipeline.stages import LIBDEVICE, STAGES
from tileiras_build.target.targets import parse_targets
from tileiras_build.workers.executor.forked_executor import ForkedExecutor

EXAMPLES = ROOT / "examples" / "kernels"
TEMPLATES = ("vector_add_f32", "softmax_f32", "gelu_tanh_f32", "gelu_erf_f32", "transpose_f16", "matmul_f16_nt")

TOOL = """
from tileiras_build import scons_tool
variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=[scons_tool.generate])
env.Default(env.KernelLibrary("kernels", env.Glob("kernels/*.tilebc")))
"""

SEED = """
from generated_library import Seeds
from tileiras_build import scons_tool
variables = scons_tool.variables(ARGUMENTS)
tool = lambda env: scons_tool.generate(env, executor=Seeds("seeds"))
env = Environment(variables=variables, tools=[tool])
Default(env.KernelLibrary("kernels", Glob("kernels/*.tilebc")))
"""

PLAIN = """
import os
from tileiras_build.pipeline.stages import STAGES

env = Environment(tools=[], ENV={name: os.environ[name] for name in ("PATH", "TILEIRAS_SERVER")})
if "seed" in ARGUMENTS:
    from generated_library import copy_artifacts
    env["SPAWN"] = copy_artifacts(ARGUMENTS["seed"])
ptxas, libdevice = File(ARGUMENTS["ptxas"]), File(ARGUMENTS["libdevice"])
math, last = set(ARGUMENTS["math"].split(",")), []
for source in Glob("kernels/*.tilebc"):
    name = source.name.removesuffix(".tilebc")
    for sm in ARGUMENTS["sm"].split(","):
        node = source
        for stage in STAGES[1:]:
            targets = [f"build/sm_{sm}/{name}{suffix}" for suffix in (stage.suffix, *stage.side_outputs)]
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
        self,
        function: str,
        data: bytes,
        source: str,
        suffix: str,
        job: Job,
        path: str,
        *rest,
        timeout=None,
        lookahead=None,
    ) -> dict:
        """The files of the stage ``suffix``, as ``driver.lower`` returns them; what few kernels share is made."""
        if suffix == LIBDEVICE.suffix:
            return driver.lower(data, source, suffix, job, path, *rest)
        name = Path(path).name.partition(".")[0]
        template, entry = name.partition("_")[2], (self.folder / f"{name.partition('_')[2]}.entry").read_text()
        files = self.folder.glob(f"{template}-{job.target.name}*")
        stage = next(stage for stage in STAGES if stage.suffix == suffix)
        wanted = (suffix, *stage.side_outputs)
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
        for folder in (self.folder / "kernels", self.folder / "seeds"):
            folder.mkdir(parents=True)
        self._compile_templates()
        for number in range(self.kernels):
            self.write_kernel(number)
        (self.folder / "SConstruct").write_text(TOOL)
        (self.folder / "seed.scons").write_text(SEED)
        self.scons("-Q", "-s", "-f", "seed.scons")
        self._generate_plain()
        if find_peers():
            self._generate_ninja()

    def _generate_plain(self) -> None:
        self.plain.mkdir()
        (self.plain / "SConstruct").write_text(PLAIN)
        os.symlink("../kernels", self.plain / "kernels")
        self.scons_plain("-Q", "-s", f"seed={self.folder}")

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

    def compile_as_tileiras(self, server: Server | None = None) -> Run:
        """The same by the command with the options of NVIDIA's program."""
        return self._command("as", *self._words_of_tileiras("as.cubin"), server=server)

    def tileiras(self) -> Run:
        """The same by NVIDIA's program."""
        _, tileiras = find_peers()
        return run_build([str(tileiras), *self._words_of_tileiras("peer.cubin")], self.folder, {})

    def _words_of_tileiras(self, made: str) -> list[str]:
        name = parse_targets(self.sm)[0].name
        return [f"seeds/{TEMPLATES[0]}.tilebc", f"--gpu-name={name}", "-o", str(self.folder / made)]

    def _command(self, *words: str, server: Server | None) -> Run:
        return run_build([program("tileiras-build"), *words], self.folder, PACKAGE, server=server)

    def scons_in_full(self) -> Run:
        """Run our SConstruct without the record that the shortcut reads."""
        for path in (self.folder / "build").glob(".build_record-*"):
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
            name for name in TEMPLATES if needs_libdevice((self.folder / f"seeds/{name}-{target}.ll").read_bytes())
        )


def compile_templates(seeds: str, sm: str) -> None:
    """Write the bytecode and all artifacts of each of TEMPLATES for each target to the folder ``seeds``."""
    from tileiras_build.frontend.cases_table_from_ast import is_helper
    from tileiras_build.frontend.export_cutile import export_kernels

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
