"""The forking executor of the command line: results and diagnostics come back, a dead child is a diagnostic."""

import os

import pytest

from tests.executor import tasks
from tileiras_build.errors import InternalError, Unsupported
from tileiras_build.executor.forked import ForkedExecutor

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
