"""The forking executor of the command line: results and diagnostics come back, a dead child is a diagnostic.

Whether the process is a fork of this one or comes from the fork server makes no difference, but for who its parent is.
"""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.workers.executor import worker_tasks
from tileiras_build.core.errors import InternalError, Unsupported
from tileiras_build.workers.executor.forked_executor import ForkedExecutor, ProcessEnded

TASKS = worker_tasks.__name__


@pytest.fixture(autouse=True, params=["fork", "fork server"])
def threads(request, monkeypatch):
    monkeypatch.setattr(
        "tileiras_build.workers.executor.forked_executor.has_threads", lambda: request.param == "fork server"
    )
    return request.param == "fork server"


def test_result_comes_back_from_another_process():
    with ForkedExecutor() as executor:
        assert executor.run(f"{TASKS}:double", b"x" * 200_000) == b"x" * 400_000
        assert executor.run(f"{TASKS}:process_id") != os.getpid()


def test_diagnostic_arrives_whole():
    with pytest.raises(Unsupported, match="k.py:3:4: error.mma-no-row.: no row; use another"):
        ForkedExecutor().run(f"{TASKS}:fail", "no row")


def test_exit_status_is_named():
    with pytest.raises(InternalError, match="exited with status 7"):
        ForkedExecutor().run(f"{TASKS}:leave", 7)


def test_signal_is_named():
    with pytest.raises(InternalError, match="was killed by SIGKILL"):
        ForkedExecutor().run(f"{TASKS}:end_itself")


def test_a_call_ends_at_its_deadline_with_what_it_started(tmp_path):
    note = tmp_path / "pid"
    for seconds in (0.5, 5, 50):  # on a busy machine the program starts late
        with pytest.raises(InternalError, match=f"worker-timeout.: timed out after {seconds} s"):
            ForkedExecutor().run(f"{TASKS}:start_a_sleeper", str(note), timeout=seconds)
        if note.exists() and note.read_text():
            break
    with suppress(ChildProcessError):
        assert os.waitpid(-1, os.WNOHANG)[0] == 0, "the ended process is forgotten"
    sleeper = int(note.read_text())
    until = time.monotonic() + 60  # a killed process ends when it is its turn
    while _runs(sleeper):
        assert time.monotonic() < until
        time.sleep(0.01)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False


def test_a_long_answer_within_the_deadline_arrives():
    assert ForkedExecutor().run(f"{TASKS}:double", b"x" * 3_000_000, timeout=60) == b"x" * 6_000_000


@pytest.mark.parametrize("task, outside", [("end_itself", True), ("leave", False), ("crash", False)])
def test_who_ended_the_process_is_known(task, outside):
    arguments = {"leave": (7,), "crash": ("last words",)}.get(task, ())
    with pytest.raises(ProcessEnded) as caught:
        ForkedExecutor().run(f"{TASKS}:{task}", *arguments)
    assert caught.value.from_outside is outside


def test_last_output_is_reported(threads):
    if threads:
        with pytest.raises(ProcessEnded, match="was killed by SIGSEGV; last output: the end is near"):
            ForkedExecutor().run(f"{TASKS}:crash", "the end is near")


WITH_A_THREAD = f"""
import os, threading, time
from tileiras_build.workers.executor.forked_executor import ForkedExecutor
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
parent = ForkedExecutor().run("{TASKS}:parent_process_id")
print(parent != os.getpid(), flush=True)
os._exit(0)
"""


def test_a_process_with_threads_is_not_forked(tmp_path):
    """From 3.12 on Python warns of it: another thread's lock would stay locked in the child for ever."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", WITH_A_THREAD]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
