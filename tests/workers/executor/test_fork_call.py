"""Calls in forks: their effects on the process end with it, and so do their child processes."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tileiras_build.core.errors import InternalError
from tileiras_build.core.tracing.seccomp_listener import FileOperation, Listener
from tileiras_build.workers.executor.call_result import ProcessEnded
from tileiras_build.workers.executor.fork_call import call_in_fork


def _change_process(folder: Path) -> int:
    os.environ["LEFT_BEHIND"] = "1"
    os.chdir(folder)
    return os.getpid()


def test_what_a_call_does_to_its_process_ends_with_it(tmp_path):
    before = os.getcwd()
    assert call_in_fork(partial(_change_process, tmp_path)) != os.getpid()
    assert "LEFT_BEHIND" not in os.environ and os.getcwd() == before


def test_its_exception_is_raised():
    with pytest.raises(ZeroDivisionError):
        call_in_fork(lambda: 1 // 0)


class Hostile(Exception):
    """Breaks wherever it is looked at."""

    def __getattribute__(self, name):
        raise SystemExit(0)

    __eq__ = __bool__ = __str__ = __getattribute__
    __traceback__ = __cause__ = property(lambda self: 1 / 0)


def _raise_from_hostile() -> None:
    raise ValueError("x") from Hostile()


def _raise_hostile() -> None:
    raise Hostile


def test_an_exception_that_breaks_where_it_is_looked_at_ends_no_process():
    with pytest.raises(ValueError, match="x"):
        call_in_fork(_raise_from_hostile)
    with pytest.raises(InternalError, match=r"worker-result.*result of type Hostile cannot be pickled \(SystemExit\)"):
        call_in_fork(_raise_hostile)


def _leave_child_and_die() -> None:
    if os.fork() == 0:
        time.sleep(1000)
    os.kill(os.getpid(), signal.SIGKILL)


def test_its_death_is_noticed_though_a_child_of_its_own_holds_the_pipe():
    with pytest.raises(ProcessEnded) as raised:
        call_in_fork(_leave_child_and_die)
    assert raised.value.code == -signal.SIGKILL


def _leave_child() -> int:
    if (child := os.fork()) == 0:
        time.sleep(1000)
    return child


def test_what_it_leaves_running_is_ended():
    child = call_in_fork(_leave_child)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{child}").exists() and _state(child) != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def _descriptors() -> int:
    return sum(os.path.exists(f"/proc/self/fd/{number}") for number in range(3, 1000))


def test_it_has_no_open_file_of_its_parent(tmp_path):
    with open(tmp_path / "open", "w") as stream:
        assert stream.fileno() > 2
        assert call_in_fork(_descriptors) == 1  # the pipe that the answer goes through


def test_a_system_without_descriptors_of_processes_will_do(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    assert call_in_fork(os.getpid) != os.getpid()
    with pytest.raises(ProcessEnded):
        call_in_fork(partial(os._exit, 3))


def test_a_result_that_cannot_be_sent_is_reported():
    with pytest.raises(Exception, match=r"worker-result.*result of type function cannot be pickled"):
        call_in_fork(lambda: lambda: 1)


def test_its_calls_are_reported_also_those_of_its_children(tmp_path):
    (tmp_path / "a.txt").write_text("")

    def read() -> None:
        if (child := os.fork()) == 0:
            os.open(tmp_path / "a.txt", os.O_RDONLY)
            os._exit(0)
        os.waitpid(child, 0)

    seen = []
    call_in_fork(read, lambda asked, process: seen.append((asked, process)))
    if not seen:
        pytest.skip("this system tells no system calls")
    (opened, process) = next(item for item in seen if item[0].path == str(tmp_path / "a.txt"))
    assert opened.kind is FileOperation.OPEN and opened.thread != process


def test_calls_that_nobody_looks_at_go_on_untold(tmp_path):
    seen = []
    made = call_in_fork(lambda: os.mkdir(tmp_path / "a"), lambda asked, _: seen.append(asked), lambda: False)
    assert made is None and (tmp_path / "a").is_dir() and not seen


def test_nothing_is_received_when_nobody_is_left_who_could_ask(monkeypatch, tmp_path):
    receive, received = Listener.receive, []
    monkeypatch.setattr(
        Listener, "receive", lambda self, *is_looked_at: received.append(1) or receive(self, *is_looked_at)
    )
    seen = []
    call_in_fork(lambda: os.path.exists(tmp_path / "a"), lambda asked, _: seen.append(asked))
    assert len(received) == len(seen)
