"""Run builds and commands, and measure all of their processes, including those of a compile server."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from compile_speed import find_peer

from tileiras_build.workers.server.list_servers import ServerInfo, find_servers
from tileiras_build.workers.server.prefork import MAX_PREFORKED

_PR_SET_CHILD_SUBREAPER = 36  # Linux, prctl(2)
_TICK, _REST, _PATIENCE = 0.01, 0.3, 60.0  # seconds; a server that is asked often does little else
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = {"PYTHONPATH": f"{ROOT}:{ROOT / 'benchmarks'}"}  # the variables with which programs find this package


@dataclass
class Run:
    """One run: wall and CPU seconds (of its own process, and of all), peak memory in MiB, what it printed."""

    wall: float
    own: float
    cpu: float
    memory: float
    text: str
    status: int

    @property
    def steps(self) -> int:
        """How many steps it ran, or would run."""
        return sum(line.startswith("[") for line in self.text.splitlines())


class Server:
    """A compile server of its own for the runs that are given it, in a folder; it ends with the block."""

    def __init__(self, folder: Path):
        self._folder = folder / "run"
        self._seconds: dict[int, float] = {}  # by process: a server that is out of date is followed by another one
        self.environment = {"XDG_RUNTIME_DIR": str(self._folder), "TILEIRAS_SERVER": "1"}

    def __enter__(self) -> Server:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return self

    def wait(self) -> None:
        """Until the server that a run has started has begun; raises SystemExit where it does not."""
        until = time.monotonic() + _PATIENCE
        while not self._found("status"):
            if time.monotonic() > until:
                raise SystemExit("no compile server has begun")
            time.sleep(_TICK)

    def seconds(self) -> float:
        """CPU seconds that servers have taken here by now, with all that they have forked: it has ended, or waits for the
        next request."""
        living = self._found("status")
        for process in {*self._seconds, *(found.process for found in living)}:
            with suppress(FileNotFoundError):
                spares = self._wait_for_spares(process)
                self._seconds[process] = sum(map(_cpu, (process, *spares)))
        return sum(self._seconds.values())

    def _wait_for_spares(self, process: int) -> tuple[int, ...]:
        """The forks of a server that wait. While there are all of them nothing else runs: none is made before, and each
        request takes one. A server that is out of date has none, and goes."""
        until = time.monotonic() + _PATIENCE
        while _lives(process) and time.monotonic() < until:
            time.sleep(_REST)
            ready = [found.spares for found in self._found("status") if found.process == process]
            if ready and len(ready[0]) == MAX_PREFORKED:
                return ready[0]
        return ()

    def __exit__(self, *exception):
        self._found("stop")
        _wait_for_orphans()

    def _found(self, what: str) -> list[ServerInfo]:
        with patch.dict(os.environ, self.environment):
            return find_servers(what)


def _lives(process: int) -> bool:
    return Path(f"/proc/{process}/exe").exists()


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def find_peers() -> tuple[str, Path] | None:
    """The programs ninja and tileiras; None where one is missing."""
    ninja, tileiras = shutil.which("ninja"), find_peer()
    return (ninja, Path(tileiras)) if ninja and tileiras else None


def program(name: str) -> str:
    """The path of a program of this environment."""
    return str(Path(sys.executable).with_name(name))


def run_scons(folder: Path, *arguments: str, check: bool = True, server: Server | None = None) -> Run:
    """Run scons in ``folder`` and measure it."""
    return run_build([program("scons"), *arguments], folder, PACKAGE, check=check, server=server)


def run_build(
    command: list[str], folder: Path, more: dict[str, str], *, check: bool = True, server: Server | None = None
) -> Run:
    """Run a command in ``folder``, with ``more`` in its environment, and measure it; without a ``server`` it has none."""
    # A server that is not ours would live on, and the orphans of this build are waited for.
    environment = os.environ | {"TILEIRAS_SERVER": "0"} | (server.environment if server else {}) | more
    # Without compiled modules every program would compile them anew; an installed package has them.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = server.seconds() if server else 0.0
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if check and process.returncode:
        raise SystemExit(f"{' '.join(command)} failed in {folder}:\n{text[-2000:]}")
    own = usage.ru_utime + usage.ru_stime
    others = server.seconds() - before if server else _wait_for_orphans()
    return Run(wall, own, own + others, usage.ru_maxrss / 1024, text, process.returncode)


def adopt_orphans() -> None:
    """The workers of a build are no children of scons; let them become ours, so that their time can be read."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait_for_orphans() -> float:
    """CPU seconds of the processes that the last scons process has left to us."""
    seconds = 0.0
    with suppress(ChildProcessError):
        while True:
            _, _, usage = os.wait4(-1, 0)
            seconds += usage.ru_utime + usage.ru_stime
    return seconds
