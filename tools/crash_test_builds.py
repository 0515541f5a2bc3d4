"""Kill builds at random moments, and check that the next build is identical, byte for byte.

    python tools/crash_test_builds.py [--kills 100] [--seed 0] [--kernels 6] [--real] [--folder DIR]

Each round changes the project at random (edits and reverts kernels, swaps ptxas and libdevice, changes an option), starts
a build, kills it with SIGKILL after a random time, sometimes runs a second one beside it, and builds to the end. Every
artifact must then have the bytes that its stages make of the sources: they are computed here, without SCons. The
stages are those of tests/fake_stages.py, so that a round takes seconds; what is tested is what runs them. ``--real``
takes the real stages and example kernels. No process of a killed build may be left. Prints one line per round; the exit status is 1 at the first difference.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import fake_stages
from tileiras_build.driver import lower
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.target.targets import parse_targets

TARGETS = "90,100"
SCONSTRUCT = """
from tileiras_build import scons_tool
from {module} import {table} as TABLE
from tileiras_build.build import sconsign_writer

sconsign_writer.WRITE_INTERVAL = 0.2  # so that kills also fall between and into the writes of SCons' records
variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=[lambda env: scons_tool.generate(env, TABLE)])
env.Default(env.KernelLibrary("kernels", env.Glob("*.tilebc")))
"""
BODIES = ("", "edited\n", "other!\n", "ptx: libdevice\n", "tileas: nap\n", "ll: nap\n")
EXAMPLES = ("vector_add", "gelu", "transpose")


class Killed:
    """A project that is changed, built, killed and built again."""

    def __init__(self, folder: Path, seed: int, kernels: int):
        self.folder, self.random = folder, random.Random(seed)
        self.names = [f"k{number}" for number in range(kernels)]
        self.opt, self.span = 3, 3.0
        self._prepare()
        for name in self.names:
            self._write(f"{name}.tilebc", self._bodies(name)[0])

    def _prepare(self) -> None:
        """Write what is not a kernel."""
        self.table, self.options = fake_stages.TABLE, ("ptxas=ptxas", "libdevice=libdevice.bc")
        self._write("SConstruct", SCONSTRUCT.format(module="tests.fake_stages", table="TABLE").encode())
        self._swap_inputs(1)

    def _bodies(self, name: str) -> list[bytes]:
        """The sources that a kernel may have."""
        return [f"kernel {name}\n{body}".encode() for body in BODIES]

    def _swap_inputs(self, number: int) -> None:
        self._write("ptxas", f"ptxas {number}".encode())
        self._write("libdevice.bc", f"libdevice {number}".encode())

    def _write(self, name: str, data: bytes) -> None:
        (self.folder / name).write_bytes(data)

    def round(self) -> str:
        """One round; returns what was done. Raises AssertionError where the build is wrong."""
        self._change()
        moment = self.random.uniform(0.1, 1.0) * self.span
        build = self._start()
        beside = self._start() if self.random.random() < 0.2 else None
        time.sleep(moment)
        running = build.poll() is None
        build.kill()
        build.wait()
        if beside is not None:
            assert beside.wait(timeout=300) == 0, beside.stderr.read()
        self._check_processes(build.pid)
        start = time.monotonic()
        done = self._start()
        _, errors = done.communicate(timeout=300)
        assert done.returncode == 0, errors
        self.span = max(1.0, 0.7 * self.span + 0.3 * (time.monotonic() - start))
        self._check_bytes()
        return f"{'killed' if running else 'ended'} after {moment:.2f} s{', one beside it' if beside else ''}"

    def _change(self) -> None:
        for name in self.random.sample(self.names, self.random.randint(1, len(self.names))):
            self._write(f"{name}.tilebc", self.random.choice(self._bodies(name)))
        if self.random.random() < 0.3:
            self._swap_inputs(self.random.randint(1, 3))
        self.opt = self.random.choice((2, 3))

    def _start(self) -> subprocess.Popen:
        options = [f"sm={TARGETS}", f"opt={self.opt}", *self.options]
        return subprocess.Popen(
            [sys.executable, "-m", "SCons", "-Q", "-j2", *options],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _check_bytes(self) -> None:
        for name in self.names:
            source = (self.folder / f"{name}.tilebc").read_bytes()
            for target in parse_targets(TARGETS):
                for suffix, data in self._expected(source, target).items():
                    path = self.folder / "build" / target.name / (name + suffix)
                    assert path.read_bytes() == data, f"{path} differs from what its source makes"
        left = [path for path in (self.folder / "build").rglob(".k*")]
        assert len(left) <= 2, f"half-written files pile up: {left}"
        for path in left:
            path.unlink()

    def _expected(self, data: bytes, target) -> dict[str, bytes]:
        """Every artifact of one kernel, made here, stage by stage."""
        inputs = {name: str(self.folder / path) for name, _, path in (text.partition("=") for text in self.options)}
        job, made = Job(target, self.opt, **inputs), {}
        for before, stage in pairwise(self.table):
            files = lower(data, before.name, stage.name, job, table=self.table)
            made |= files
            data = files[stage.suffix]
        return made

    def _check_processes(self, killed: int) -> None:
        deadline = time.monotonic() + 120
        while (left := _processes_in(self.folder)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left, f"processes of the killed build {killed} are left: {left}"


class KilledReal(Killed):
    """The same with the real stages over example kernels, and copies of ptxas that differ in nothing that counts."""

    def _prepare(self) -> None:
        self.table, self.options = STAGES, ("ptxas=ptxas",)
        self._known: dict[tuple, dict[str, bytes]] = {}
        self._kernels = [
            data for name in EXAMPLES for data in export_kernels(ROOT / f"examples/kernels/{name}.py").values()
        ]
        self._write("SConstruct", SCONSTRUCT.format(module="tileiras_build.pipeline.stages", table="STAGES").encode())
        self._swap_inputs(1)

    def _bodies(self, name: str) -> list[bytes]:
        return self._kernels

    def _swap_inputs(self, number: int) -> None:
        self._write("ptxas", Path(find_ptxas(None)).read_bytes() + b"\0" * number)
        (self.folder / "ptxas").chmod(0o755)

    def _expected(self, data: bytes, target) -> dict[str, bytes]:
        key = data, target.name, self.opt
        if key not in self._known:
            self._known[key] = super()._expected(data, target)
        return self._known[key]


def _processes_in(folder: Path) -> list[int]:
    """The processes whose working folder is ``folder``."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(folder):
                found.append(int(entry.name))
        except OSError:
            # It has ended, or belongs to someone else.
            continue
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the rounds; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", type=int, default=6)
    parser.add_argument("--real", action="store_true", help="use the real stages and example kernels")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        project = (KilledReal if options.real else Killed)(folder, options.seed, options.kernels)
        for number in range(1, options.kills + 1):
            try:
                print(f"{number:4} of {options.kills}: {project.round()}", flush=True)
            except AssertionError as error:
                print(f"{number:4} of {options.kills}, seed {options.seed}: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
