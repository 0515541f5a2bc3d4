"""Ctrl-C and SIGTERM end a build at once, whatever it waits for: each wait here would take minutes."""

import os
import signal
import subprocess
import sys
import threading
from itertools import cycle, product

import pytest

from tests.build.test_build_session import ROOT, SCONSTRUCT, Project
from tests.workers.executor.cache.http_servers import answering

ENDS_SOON = 120  # seconds; far from the quarter of an hour that is waited for, and enough for a busy machine
PATIENT = """
from tileiras_build.workers.executor.cache import http_store
http_store.HttpStore.__init__.__defaults__ = (1000.0,)
"""
STUCK_FILES = """
import time
from tileiras_build.workers.executor.cache import folder_store
folder_store.FolderStore.read = lambda *_: print("asked", flush=True) or time.sleep(1000)
"""
STUCK_NAME = """
import socket, time
socket.getaddrinfo = lambda *_, **__: print("asked", flush=True) or time.sleep(1000)
"""
STUCK_START = """
import time
from tileiras_build.workers.executor import dask_connection
dask_connection.connect = lambda *_: print("asked", flush=True) or time.sleep(1000)
"""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def start(project: Project, *options: str, **environment: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "SCons", "sm=90", "ptxas=ptxas", "libdevice=libdevice.bc", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=project.folder, env=environment, preexec_fn=hear_interrupts, **pipes)


def hear_interrupts() -> None:
    """A shell's background jobs do not, nor do the programs that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def end(build: subprocess.Popen, number: int = signal.SIGINT) -> str:
    """Send the signal; what the build said on standard error."""
    assert build.poll() is None
    build.send_signal(number)
    _, errors = build.communicate(timeout=ENDS_SOON)
    assert build.returncode in (2, -number)
    assert "Traceback" not in errors
    return errors


class Server:
    """Answers GET and PUT as told; ``reached`` is set when the conversation that never ends has begun."""

    def __init__(self, get: bytes | None, put: bytes | None = None):
        self.reached, self._answers = threading.Event(), {b"GET": get, b"PUT": put}

    def serve(self, connection, ended):
        while request := connection.recv(1 << 20):
            answer = self._answers.get(request[:3], b"")
            if answer is None:
                self.reached.set()
                ended.wait(100)
                return
            connection.sendall(answer)
            while answer == DRIP and not ended.wait(0.05):
                self.reached.set()
                connection.sendall(b"A")


ABSENT = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
DRIP = b"HTTP/1.1 200 OK\r\nX: "
# What is waited for -> the answers to GET and PUT; None: there is none.
ANSWERS = {"a record": (None, None), "the end of a header": (DRIP, None), "an upload": (ABSENT, None)}


# Each signal ends a build in the same way, whatever it waits for.
WAITING = zip(product(ANSWERS, ["-j1", "-j2"]), cycle([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))


@pytest.mark.parametrize(("awaited", "jobs", "number"), [(*waiting, number) for waiting, number in WAITING])
def test_build_that_waits_for_a_server_ends(project, awaited, jobs, number):
    project.write("SConstruct", PATIENT + SCONSTRUCT)
    server = Server(*ANSWERS[awaited])
    with answering(server.serve) as address:
        build = start(project, jobs, f"cache={address}")
        assert server.reached.wait(60)
        errors = end(build, number)
    assert "interrupted" in errors and "cache-failed" not in errors
    assert not list((project.folder / "build/sm_90").glob("*.cubin"))


STUCK = {
    "a name": (PATIENT + STUCK_NAME, ["cache=http://somewhere"]),
    "a file system": (STUCK_FILES, ["cache=kept"]),
    "a scheduler": (STUCK_START, ["executor=tcp://somewhere:8786"]),
}


@pytest.mark.parametrize("what", STUCK)
def test_build_that_waits_for_what_cannot_be_interrupted_ends(project, what):
    script, options = STUCK[what]
    project.write("SConstruct", script + SCONSTRUCT)
    build = start(project, "-j2", *options)
    while "asked" not in build.stdout.readline():
        assert build.poll() is None
    assert "interrupted" in end(build)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_reading_of_build_scripts_ends(project, number):
    project.write("SConstruct", SCONSTRUCT + "\nimport time\nprint('read', flush=True)\ntime.sleep(1000)\n")
    build = start(project)
    while "read" not in build.stdout.readline().split():
        assert build.poll() is None
    end(build, number)


def test_exit_of_a_build_ends_without_a_trace(project):
    """The build is done, and its summary takes long."""
    slow = "\nfrom tileiras_build.build import build_session\nimport time\n"
    slow += "build_session.Progress.summarize = lambda *_: print('summary', flush=True) or time.sleep(1000)\n"
    project.write("SConstruct", slow + SCONSTRUCT)
    build = start(project)
    while "summary" not in build.stdout.readline():
        assert build.poll() is None
    build.send_signal(signal.SIGINT)
    _, errors = build.communicate(timeout=ENDS_SOON)
    assert "Traceback" not in errors and "KeyboardInterrupt" not in errors


def test_slow_server_costs_one_request_and_one_sentence(project):
    """Each wait of the server is short, so only a limit for the whole request ends it."""
    project.write("SConstruct", PATIENT.replace("1000.0", "0.5") + SCONSTRUCT)
    server = Server(DRIP)
    with answering(server.serve) as address:
        done = project.run("-j4", f"cache={address}", sm="90")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning[cache-failed]") == 1
    assert "timed out after 2 s; for the rest of this build caching is disabled" in done.stderr
    assert (project.folder / "build/sm_90/b.cubin").exists()
