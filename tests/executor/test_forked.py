"""The forking executor of the command line: results and diagnostics come back, a dead child is a diagnostic."""

import os
from pathlib import Path

import pytest

from tests.executor import tasks
from tileiras_build.errors import InternalError, Unsupported
from tileiras_build.executor.forked import ForkedExecutor, ProcessEnded

TASKS = tasks.__name__


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
    with pytest.raises(InternalError, match="was ended by SIGKILL"):
        ForkedExecutor().run(f"{TASKS}:end_itself")


def test_a_call_ends_at_its_deadline_with_what_it_started(tmp_path):
    note = tmp_path / "pid"
    with pytest.raises(InternalError, match="worker-timeout.: no result after 0.5 seconds"):
        ForkedExecutor().run(f"{TASKS}:start_a_sleeper", str(note), timeout=0.5)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    sleeper = int(note.read_text())
    status = Path(f"/proc/{sleeper}/stat")
    assert not status.exists() or status.read_text().split()[2] in "ZX"


def test_a_long_answer_within_the_deadline_arrives():
    assert ForkedExecutor().run(f"{TASKS}:double", b"x" * 3_000_000, timeout=60) == b"x" * 6_000_000


@pytest.mark.parametrize("task, outside", [("end_itself", True), ("leave", False), ("crash", False)])
def test_who_ended_the_process_is_known(task, outside):
    arguments = {"leave": (7,), "crash": ("last words",)}.get(task, ())
    with pytest.raises(ProcessEnded) as caught:
        ForkedExecutor().run(f"{TASKS}:{task}", *arguments)
    assert caught.value.from_outside is outside
