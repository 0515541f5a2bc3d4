"""Real Dask clusters on this machine: a scheduler and workers, each a process of its own.

A worker under a nanny is started by a command, as users start all of them; the others are forks (``tests/forked_dask.py``).
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from tests import forked_dask
from tileiras_build.workers.executor.tls_certificates import Certificates

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 300.0  # on a machine that does much else
# Dask watches itself many times a second: each idle process of a cluster takes 2 % of a core for it, and 0.3 % with these.
_SELDOM = {
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "10s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
Process = subprocess.Popen | forked_dask.Process


class Cluster:
    """A scheduler and its workers; ``folder`` holds their logs. ``certificates`` are shown by all of them."""

    def __init__(self, folder: Path, certificates: Certificates | None = None):
        self.folder, self.processes, self._certificates = folder, [], certificates
        file = str(folder / "scheduler.json")
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", file, *self._protocol())
        self.address = _wait(self._read_address, self.scheduler)

    def add_worker(
        self, *, code: Path = ROOT, nanny: bool = False, threads: int = 1, compiles: bool = False
    ) -> Process:
        """Start a worker that imports from ``code``, and wait until the scheduler knows it.

        One that ``compiles`` has imported the compiler before its first step; others have what the stages of tests need.
        """
        name = f"worker-{len(self.processes)}"
        options = ["--nthreads", str(threads), "--name", name, "--local-directory", str(self.folder)]
        options += [] if compiles else ["--preload", "tests.workers.executor.fake_stages_preload"]
        process = self._start("worker", self.address, *options, "--nanny" if nanny else "--no-nanny", code=code)
        with self._client() as client:
            _wait(lambda: name in {info["name"] for info in _workers(client).values()}, process)
        return process

    def workers(self) -> dict:
        """What the scheduler knows of each worker, by address."""
        with self._client() as client:
            return _workers(client)

    def tasks(self) -> int:
        """As ``tasks_done``."""
        with self._client() as client:
            return tasks_done(client)

    def _client(self):
        """Each opens connections and a thread: one for all looks of a wait."""
        import distributed

        own = self._certificates or Certificates()
        security = distributed.Security(tls_ca_file=own.ca, tls_client_cert=own.cert) if own.ca else None
        options = {"set_as_default": False, "timeout": START_SECONDS, "security": security}
        return distributed.Client(self.address, **options)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def _protocol(self) -> list[str]:
        return ["--protocol", "tls"] if self._certificates else []

    def _start(self, *arguments: str, code: Path = ROOT) -> Process:
        words = [*arguments, "--host", "127.0.0.1", "--no-dashboard"]
        if self._certificates:
            words += ["--tls-ca-file", self._certificates.ca, "--tls-cert", self._certificates.cert]
        environment = os.environ | _SELDOM | {"PYTHONPATH": f"{code}{os.pathsep}{ROOT}"}
        process = (_by_command if "--nanny" in words else forked_dask.Process)(
            words, environment, self.folder, self.folder / "log"
        )
        self.processes.append(process)
        return process

    def _read_address(self) -> str | None:
        try:
            return json.loads((self.folder / "scheduler.json").read_text())["address"]
        except (OSError, ValueError):
            return None


def _by_command(words: list[str], environment: dict[str, str], folder: Path, log: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "dask", *words]
    with open(log, "ab") as stream:
        return subprocess.Popen(command, env=environment, stdout=stream, stderr=stream, cwd=folder)


def _workers(client) -> dict:
    return client.scheduler_info(n_workers=-1)["workers"]


def tasks_done(client) -> int:
    """How many calls of ``lower_all`` the workers have done since this was asked first; what is done the scheduler forgets."""

    def count(dask_scheduler):
        from distributed import SchedulerPlugin

        class Counting(SchedulerPlugin):
            done = 0

            def transition(self, key, start, finish, *args, **kwargs):
                self.done += finish == "memory" and str(key).startswith("lower_all")

        if "counting" not in dask_scheduler.plugins:
            dask_scheduler.add_plugin(Counting(), name="counting")
        return dask_scheduler.plugins["counting"].done

    return client.run_on_scheduler(count)


def kill(process: Process) -> None:
    """As a machine that loses its power."""
    process.send_signal(signal.SIGKILL)
    process.wait()


@contextmanager
def cluster(folder: Path, certificates: Certificates | None = None):
    """A cluster without workers, until the end of the block."""
    made = Cluster(folder, certificates)
    try:
        yield made
    finally:
        made.close()


def _wait(ready, process: Process):
    deadline = time.monotonic() + START_SECONDS
    while not (value := ready()):
        assert process.poll() is None and time.monotonic() < deadline, "Dask does not start"
        time.sleep(0.1)
    return value
