"""What a shell or a container withholds is reported in a sentence with a remedy, never as a traceback."""

import errno
import os
import resource
import shutil
import subprocess
import sys

import pytest

from tests.fresh_environment import ROOT
from tileiras_build.core import system_limit_errors
from tileiras_build.core.errors import InvalidInput
from tileiras_build.workers.executor.run_traced import run_traced
from tileiras_build.workers.executor.worker_pool import WorkerDied, WorkerPool

EXAMPLE = ROOT / "examples/prebuilt/vector_add_f32.tilebc"
SCRIPT = 'from tileiras_build import scons_tool\nenv = Environment(tools=["tileiras"])\nDefault(env.KernelLibrary("k", ["k.tilebc"]))\n'

WITHHELD = {
    OSError(errno.EMFILE, "x"): "ulimit -n",
    BlockingIOError(errno.EAGAIN, "x"): "ulimit -u",
    RuntimeError("can't start new thread"): "ulimit -u",
    OSError(errno.ENOMEM, "x"): "ulimit -v",
    OSError(errno.EFBIG, "x"): "ulimit -f",
    FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"): "TMPDIR",
}


@pytest.mark.parametrize("error", WITHHELD, ids=str)
def test_what_is_withheld_has_a_remedy(error):
    with pytest.raises(InvalidInput, match=WITHHELD[error]) as raised, system_limit_errors.start_errors():
        raise error
    assert raised.value.id == "system-limit"


def test_what_no_limit_causes_stays(monkeypatch):
    unloaded = ImportError("libx.so: failed to map segment from shared object")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert [system_limit_errors.withheld(error) for error in (OSError(errno.ENOENT, "x"), ValueError(), unloaded)] == [
        None
    ] * 3
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 28, 1 << 28))
    assert "ulimit -v" in str(system_limit_errors.withheld(unloaded))


def test_a_machine_without_proc_is_reported(monkeypatch):
    monkeypatch.setattr(system_limit_errors, "_PROC", "/proc/absent")
    with WorkerPool(1) as pool, pytest.raises(InvalidInput, match=r"/proc is not mounted.*mount -t proc"):
        pool.run("os:getpid")


def test_a_container_has_its_own_memory(monkeypatch, tmp_path):
    machine = system_limit_errors.memory()
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text("4096\n")
    monkeypatch.setattr(system_limit_errors, "_CONTAINER_MEMORY", (str(tmp_path / "max"), str(tmp_path / "absent")))
    assert system_limit_errors.memory() >= machine
    monkeypatch.setattr(system_limit_errors, "_CONTAINER_MEMORY", (str(tmp_path / "limit"),))
    assert system_limit_errors.memory() == 4096


@pytest.mark.parametrize("code", [-9, 1])
def test_a_file_whose_process_had_too_little_memory_is_reported(code, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 28, 1 << 28))

    def run():
        raise WorkerDied(code, "")

    with pytest.raises(InvalidInput, match="more memory" if code == -9 else r"ulimit -v\), which is 256 MiB"):
        run_traced(run, "k.py", "/")


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
@pytest.mark.parametrize("limit", ["-n 12", "-n 8", "-f 0"])
def test_a_build_under_a_limit_says_which(limit, tmp_path):
    (tmp_path / "SConstruct").write_text(SCRIPT)
    shutil.copy(EXAMPLE, tmp_path / "k.tilebc")
    command = f"ulimit {limit}; exec {sys.executable} -m SCons -Q sm=90"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TILEIRAS_SERVER": "0"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    said = done.stdout + done.stderr
    assert done.returncode == 2 and "Traceback" not in said and 'File "' not in said
    assert "error[system-limit]" in said and "ulimit" in said
