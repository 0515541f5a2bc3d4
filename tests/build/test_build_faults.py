"""Faults: killed builds, two builds at once, a full disk, records that are written while a build runs."""

import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from tests.build.test_build_session import CHAIN, ROOT, SCONSTRUCT, Project, chain, steps_of
from tileiras_build.build.sconsign_writer import SconsignWriter


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def start(project, *options: str, **more) -> subprocess.Popen:
    command = [sys.executable, "-m", "SCons", "-j2", "sm=90", "ptxas=ptxas", "libdevice=libdevice.bc", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=project.folder, env=environment, **pipes, **more)


def wait_for(build: subprocess.Popen, *texts: str) -> None:
    """Until the build has said each of the texts, in any order."""
    missing = set(texts)
    while missing:
        line = build.stdout.readline()
        missing -= {text for text in missing if text in line}
        assert not missing or build.poll() is None, build.stderr.read()


def test_builds_that_are_killed_at_random_are_followed_by_right_ones(tmp_path):
    """Three rounds here; tools/crash_test_builds.py does any number."""
    command = [
        sys.executable,
        ROOT / "tools/crash_test_builds.py",
        "--kills",
        "3",
        "--kernels",
        "2",
        "--folder",
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 of 3" in done.stdout


def test_what_was_recorded_before_the_kill_is_not_built_again(project):
    project.write("a.tilebc", "kernel a\nptx: sleep\n")
    project.write("b.tilebc", "kernel b\nptx: sleep\n")
    changed = (
        "from tileiras_build.build import sconsign_writer\nsconsign_writer.WRITE_INTERVAL = sconsign_writer.MIN_PAUSE_FACTOR = 0\n"
        + SCONSTRUCT
    )
    project.write("SConstruct", changed.replace('env["TILEIRAS_TIMEOUT"] = 60', ""))
    build = start(project)
    # Neither ends; when the later one begins, all that came before is recorded.
    wait_for(build, "ptx     sm_90   a", "ptx     sm_90   b")
    time.sleep(0.5)
    build.send_signal(signal.SIGKILL)
    build.communicate(timeout=20)  # ends when no process holds the pipe: the workers stop in the middle of their steps
    project.write("SConstruct", SCONSTRUCT.replace("= 60", "= 1"))
    done = project.run("-k", sm="90")
    assert steps_of(done) == ["ptx sm_90 a", "ptx sm_90 b"]


def test_second_build_waits_for_the_first(project):
    project.write("a.tilebc", "kernel a\nll: sleep\n")
    first = start(project)
    wait_for(first, "ll      sm_90   a")
    second = start(project)
    assert "another build is running in this folder; waiting for it to finish" in second.stderr.readline()
    assert second.poll() is None
    project.write("a.tilebc", "kernel a\n")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    output, errors = second.communicate(timeout=60)
    assert second.returncode == 0, errors
    assert "cubin   sm_90   a" in output


CAP_DAC_OVERRIDE = 1  # of linux/capability.h
PR_CAPBSET_DROP = 24  # of linux/prctl.h


def respect_modes() -> None:
    """The superuser, too, may write only where the modes of files say so: what another user's folder answers."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.fixture
def closed(project):
    """Closes folders of the project to writers, until the test ends."""
    folders = []

    def close(*names: str) -> None:
        for name in names:
            folders.append(project.folder / name)
            folders[-1].chmod(0o555)

    yield close
    for folder in folders:
        folder.chmod(0o755)


def test_folder_without_space_for_records_is_one_sentence(project, closed):
    project.write("a.tilebc", "kernel a\n")
    closed(".")
    output, errors = start(project, preexec_fn=respect_modes).communicate(timeout=60)
    assert re.fullmatch(
        r"scons: .{3} error.records-write.: .*: permission denied; build in a writable copy .*\n", errors
    )
    assert not (project.folder / "build").exists() and "a" not in output.split()


@pytest.mark.parametrize("folder", ["build/sm_90", "build"])
def test_what_others_have_made_is_not_made_anew(project, closed, folder):
    project.write("a.tilebc", "kernel a\n")
    assert project.run(sm="90" if folder == "build/sm_90" else "100").returncode == 0
    project.write("a.tilebc", "kernel a\nmore\n")
    closed(folder)
    build = start(project, preexec_fn=respect_modes)
    output, errors = build.communicate(timeout=60)
    sentence = "build/sm_90/a.tileaa: error[write-failed]: cannot write the file: permission denied\n"
    assert build.returncode == 2 and sentence in output and sentence in errors and "Traceback" not in errors
    assert "\n0 steps in " in output


def limit_files() -> None:
    """Files may have 1 kB: what a full disk answers, for files of that size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_disk_that_is_full_fails_steps_and_leaves_nothing_half_written(project):
    project.write("a.tilebc", "kernel a\n" + "line\n" * 1000)
    done = start(project, "-k", preexec_fn=limit_files)
    _, errors = done.communicate(timeout=60)
    assert done.returncode == 2
    assert "error[write-failed]: cannot write the file" in errors and "Traceback" not in errors
    assert "error[records-write]: cannot write .sconsign.dblite" in errors
    assert not [path for path in (project.folder / "build").rglob("*") if "a." in path.name]
    assert project.run(sm="90").returncode == 0
    assert project.run(sm="90").returncode == 0
    lines = (project.folder / "build/sm_90/a.cubin").read_text().splitlines()
    assert len(lines) == 1001 + len(CHAIN)


def test_one_failing_kernel_fails_alone(project):
    project.write("c.tilebc", "kernel c\nll: crash\n")
    assert project.run("-k", sm="90").returncode != 0
    project.write("c.tilebc", "kernel c\n")
    assert project.steps(sm="90") == chain("c", targets=["sm_90"])


def test_step_that_takes_too_much_memory_fails_alone(project):
    project.write("SConstruct", SCONSTRUCT.replace('env["TILEIRAS_TIMEOUT"] = 60', 'env["TILEIRAS_MEMORY"] = 1024'))
    project.write("c.tilebc", "kernel c\nll: hoard\n")
    done = project.run("-k", sm="90")
    assert "internal error[worker-memory]: " in done.stderr and "1024 MiB" in done.stderr
    assert {"a.cubin", "b.cubin"} <= {path.name for path in (project.folder / "build/sm_90").iterdir()}


def test_records_are_written_when_due_and_seldom():
    now, written = [0.0], []
    records = SconsignWriter(interval=60, clock=lambda: now[0])

    def write():
        written.append(now[0])
        now[0] += 10

    import tileiras_build.build.sconsign_writer as module

    original, module._write_now = module._write_now, write
    try:
        for now[0] in (1.0, 61.0, 130.0, 270.0, 272.0):
            records.step()
    finally:
        module._write_now = original
    # Ten seconds of writing are followed by two hundred without.
    assert written == [61.0, 272.0]
