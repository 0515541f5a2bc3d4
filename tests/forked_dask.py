"""Dask's schedulers and workers as forks of one process, which has imported Dask and nothing of this project.

Importing Dask takes longer than what most tests do with a cluster. Each fork has its own folder, environment and modules of
the project, as ``python -m dask`` has.
"""

from __future__ import annotations

import atexit
import importlib
import os
import runpy
import signal
import subprocess
import sys
import threading
from functools import cache
from importlib.metadata import entry_points
from multiprocessing.connection import Connection, Pipe
from pathlib import Path


def processor_seconds() -> float:
    """User and system time of all forks that have ended."""
    return _source().spent if _source.cache_info().currsize else 0.0


class Process:
    """A fork, with what tests use of ``subprocess.Popen``."""

    def __init__(self, arguments: list[str], environment: dict[str, str], folder: Path, log: Path):
        self.pid = _source().start(arguments, environment, str(folder), str(log))
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self) -> int | None:
        return self._ended(0)

    def _ended(self, options: int) -> int | None:
        if self.returncode is None:
            self.returncode = _source().wait(self.pid, options)
        return self.returncode


class Source:
    """The process that forks, and what its forks have cost."""

    def __init__(self) -> None:
        self._requests, theirs = Pipe()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [sys.executable, __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, cwd="/")
        theirs.close()
        self._asking = threading.Lock()
        self.spent = 0.0
        atexit.register(self._end)

    def _end(self) -> None:
        self._requests.close()
        self._process.wait()

    def start(self, *arguments) -> int:
        """The process that runs Dask now."""
        return self._ask("start", arguments)

    def wait(self, process: int, options: int) -> int | None:
        """How a process has ended, as ``Popen.returncode`` says it; None where it goes on."""
        status, seconds = self._ask("wait", (process, options))
        self.spent += seconds
        return status

    def _ask(self, what: str, arguments: tuple):
        with self._asking:
            self._requests.send((what, arguments))
            return self._requests.recv()


@cache
def _source() -> Source:
    return Source()


# ---- the process that forks ----------------------------------------------------------------------------------------
def serve(requests: Connection, folders: list[str]) -> None:
    """Answer until the tests end; forks return from here as well, each when Dask has ended in it."""
    while True:
        try:
            what, arguments = requests.recv()
        except EOFError:
            return
        if what == "wait":
            pid, status, usage = os.wait4(*arguments)
            ended = (os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
            requests.send(ended if pid else (None, 0.0))
            continue
        pid = os.fork()
        if pid == 0:
            requests.close()
            run_dask(*arguments, folders)
            return
        requests.send(pid)


def run_dask(words: list[str], environment: dict[str, str], folder: str, log: str, folders: list[str]) -> None:
    """What ``python -m dask`` does; ``folders`` are those where every Python looks for modules."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(file, number)
    os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = [folder, *environment["PYTHONPATH"].split(os.pathsep), *folders]
    sys.path_importer_cache.clear()
    sys.argv[1:] = words
    importlib.import_module("dask.config").refresh()  # reads the environment
    runpy.run_module("dask", run_name="__main__", alter_sys=True)


def import_dask() -> None:
    """Import the commands of ``python -m dask``, and what a scheduler and a worker import when they start."""
    for command in entry_points(group="dask_cli"):
        command.load()
    for part in ("scheduler", "worker"):
        for module in importlib.import_module("dask.config").get(f"distributed.{part}.http.routes"):
            importlib.import_module(module)


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder
    import_dask()
    serve(Connection(int(sys.argv[1])), list(sys.path))
