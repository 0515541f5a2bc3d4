"""Nothing stays in the temporary folder: after builds that end well or not, that are interrupted or killed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.build.test_build_session import IMPATIENT, PYTHON, ROOT, SCONSTRUCT, Project
from tests.build.test_caching_executor import real_project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def temporary():
    """With a short name: it holds a socket, whose path has at most 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def held(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def start(project: Project, temporary: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "SCons", "-j2", "sm=90", "ptxas=ptxas", "libdevice=libdevice.bc", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "TILEIRAS_DUMP": ""}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=project.folder, env=environment, **pipes)


KERNELS = {"well": "", "failed": "ll: fail\n", "crashed": "ll: crash\n", "timed out": "ll: sleep\n"}


@pytest.mark.parametrize("how", KERNELS)
def test_build_that_ended_leaves_nothing(project, temporary, how):
    project.write("SConstruct", IMPATIENT if how == "timed out" else SCONSTRUCT)
    project.write("a.tilebc", f"kernel a\n{KERNELS[how]}")
    build = start(project, temporary, "-k")
    build.communicate(timeout=120)
    assert (build.returncode == 0) == (how == "well")
    assert held(temporary) == []


def test_exports_leave_nothing(project, temporary):
    """What is imported puts folders into the temporary folder, as cuTile does, and its worker is ended by a signal."""
    leaves = "import tempfile\ntempfile.mkdtemp()\ntempfile.mkstemp()\n"
    project.write("k.py", leaves + PYTHON.format(p="1", q="1"))
    build = start(project, temporary)
    _, errors = build.communicate(timeout=120)
    assert build.returncode == 0, errors
    assert held(temporary) == []


def test_real_kernels_leave_nothing(tmp_path, temporary):
    project = real_project(tmp_path / "real", "vector_add")
    script = (project.folder / "SConstruct").read_text().replace("Default(", "library = (")
    project.write("SConstruct", script + 'env.KernelPackage("k", library)\n')
    done = project.run("sm=90", ".", sm=None, seconds=300, TMPDIR=str(temporary), TILEIRAS_DUMP="")
    assert done.returncode == 0, done.stderr
    assert list((project.folder / "build/fatbin").iterdir())
    assert held(temporary) == []


def wait_until(condition) -> None:
    """A minute and a half at most, on a busy machine: what is waited for is in progress."""
    for _ in range(1800):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it does not happen")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_build_that_is_ended_by_a_signal_leaves_nothing(project, temporary, number):
    project.write("SConstruct", SCONSTRUCT.replace('env["TILEIRAS_TIMEOUT"] = 60', ""))
    project.write("a.tilebc", "kernel a\nll: sleep\n")
    build = start(project, temporary)
    while "ll      sm_90   a" not in build.stdout.readline():
        assert build.poll() is None
    assert held(temporary) != []
    build.send_signal(number)
    build.communicate(timeout=60)
    # Its fork server is the last to end, and sweeps.
    wait_until(lambda: held(temporary) == [])


SLOW_END = """
import os, signal, time
from multiprocessing import forkserver
from tileiras_build.workers.executor.worker_pool import WorkerPool

assert WorkerPool(1).run("tests.workers.executor.worker_tasks:double", 1) == 2
# What a kill does, with a pause in the middle: files are closed one after the other.
for descriptor in range(3, 4096):
    try:
        lock = os.readlink(f"/proc/self/fd/{descriptor}").startswith(os.environ["TMPDIR"])
        None if lock else os.close(descriptor)
    except OSError:
        pass
time.sleep(0.7)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lock_that_closes_last_leaves_nothing(temporary):
    """The pipe that the fork server waits for may close before the build's lock does: the folder is removed all the same."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, "-c", SLOW_END], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    wait_until(lambda: held(temporary) == [])


def test_build_sweeps_what_was_killed_altogether(project, temporary):
    """Workers, fork server and all: a container that ends, or a machine."""
    project.write("SConstruct", SCONSTRUCT.replace('env["TILEIRAS_TIMEOUT"] = 60', ""))
    project.write("a.tilebc", "kernel a\nll: sleep\n")
    build = start(project, temporary)
    while "ll      sm_90   a" not in build.stdout.readline():
        assert build.poll() is None
    for process in sorted(_descendants(build.pid)):
        os.kill(process, signal.SIGSTOP)
    for process in sorted(_descendants(build.pid)):
        os.kill(process, signal.SIGKILL)
    build.communicate(timeout=60)
    assert held(temporary) != []
    project.write("a.tilebc", "kernel a\n")
    again = start(project, temporary)
    again.communicate(timeout=120)
    assert again.returncode == 0
    assert held(temporary) == []


def _descendants(process: int) -> set[int]:
    return {process}.union(*(_descendants(child) for child, parent in _parents().items() if parent == process))


def _parents() -> dict[int, int]:
    """Each process and its parent: the fourth field of its line, after a name that may hold anything (proc(5))."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            lines.append(path.read_text())
    return {int(line.split()[0]): int(line.rpartition(")")[2].split()[1]) for line in lines}


def test_another_users_folder_of_our_name_is_left_alone(project, temporary):
    ours = temporary / f"tileiras-{os.geteuid()}"
    (project.folder / "victims").mkdir()
    ours.symlink_to(project.folder / "victims")
    build = start(project, temporary)
    _, errors = build.communicate(timeout=120)
    assert build.returncode == 0, errors
    assert held(temporary) == [ours.name]
    assert list((project.folder / "victims").iterdir()) == []
