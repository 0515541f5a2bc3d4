"""Kills builds at random moments and checks that the next build is right, byte for byte.

    python tools/kill_builds.py [--kills 100] [--seed 0] [--kernels 6] [--folder DIR]

Each round changes the project at random (edits and reverts kernels, swaps ptxas and libdevice, changes an option), starts
a build, kills it with SIGKILL after a random time, sometimes runs a second one beside it, and builds to the end. Every
artifact must then have the bytes that its stages make of the sources: they are computed here, without SCons. The
stages are those of tests/fake_stages.py, so that a round takes seconds; what is tested is what runs them. No process
of a killed build may be left. Prints one line per round; the exit status is 1 at the first difference.
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
from tileiras_build.pipeline.job import Job
from tileiras_build.targets import parse_targets

TARGETS = "90,100"
SCONSTRUCT = """
from tileiras_build import scons_tool
from tests import fake_stages
from tileiras_build.scons_tool import records

records.INTERVAL = 0.2  # so that kills also fall between and into the writes of SCons' records
variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=[lambda env: scons_tool.generate(env, fake_stages.TABLE)])
env.Default(env.KernelLibrary("kernels", env.Glob("*.tilebc")))
"""
BODIES = ("", "edited\n", "other!\n", "ptx: libdevice\n", "tileas: nap\n", "ll: nap\n")


class Killed:
    """A project that is changed, built, killed and built again."""

    def __init__(self, folder: Path, seed: int, kernels: int):
        self.folder, self.random = folder, random.Random(seed)
        self.names = [f"k{number}" for number in range(kernels)]
        self.opt, self.span = 3, 3.0
        self._write("SConstruct", SCONSTRUCT)
        self._write("ptxas", "ptxas 1")
        self._write("libdevice.bc", "libdevice 1")
        for name in self.names:
            self._write(f"{name}.tilebc", f"kernel {name}\n")

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

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
            self._write(f"{name}.tilebc", f"kernel {name}\n{self.random.choice(BODIES)}")
        if self.random.random() < 0.3:
            self._write("ptxas", f"ptxas {self.random.randint(1, 3)}")
        if self.random.random() < 0.3:
            self._write("libdevice.bc", f"libdevice {self.random.randint(1, 3)}")
        self.opt = self.random.choice((2, 3))

    def _start(self) -> subprocess.Popen:
        options = [f"sm={TARGETS}", f"opt={self.opt}", "ptxas=ptxas", "libdevice=libdevice.bc"]
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
        job = Job(target, self.opt, ptxas=str(self.folder / "ptxas"), libdevice=str(self.folder / "libdevice.bc"))
        made, table = {}, fake_stages.TABLE
        for before, stage in pairwise(table):
            files = lower(data, before.name, stage.name, job, table=table)
            made |= files
            data = files[stage.suffix]
        return made

    def _check_processes(self, killed: int) -> None:
        deadline = time.monotonic() + 120
        while (left := _processes_in(self.folder)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left, f"processes of the killed build {killed} are left: {left}"


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
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        project = Killed(folder, options.seed, options.kernels)
        for number in range(1, options.kills + 1):
            try:
                print(f"{number:4} of {options.kills}: {project.round()}", flush=True)
            except AssertionError as error:
                print(f"{number:4} of {options.kills}, seed {options.seed}: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
