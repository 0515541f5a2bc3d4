"""Calls with a deadline: results, exceptions, and the threads that run them."""

import threading

import pytest

from tileiras_build.workers.executor import calls_with_deadline
from tileiras_build.workers.executor.calls_with_deadline import DeadlineCalls


def test_result_and_error_are_the_calls_own():
    calls = DeadlineCalls()
    assert calls.run(lambda: 7, 20) == 7
    with pytest.raises(ZeroDivisionError):
        calls.run(lambda: 1 // 0, 20)


def test_calls_one_after_the_other_share_a_thread():
    calls = DeadlineCalls()
    assert len({calls.run(threading.get_ident, 20) for _ in range(5)}) == 1


def test_call_that_is_left_behind_is_forgotten():
    """Its thread takes calls again when it is done; what it found then is nobody's."""
    calls, ended = DeadlineCalls(), threading.Event()
    with pytest.raises(TimeoutError):
        calls.run(lambda: ended.wait(60) and "late", 0.1)
    assert calls.run(lambda: "in time", 20) == "in time"
    ended.set()
    assert calls.run(lambda: "later", 20) == "later"


def test_threads_without_calls_end(monkeypatch):
    monkeypatch.setattr(calls_with_deadline, "IDLE_SECONDS", 0.05)
    calls = DeadlineCalls()
    thread = calls.run(threading.current_thread, 20)
    thread.join(20)
    assert not thread.is_alive()
    assert calls.run(threading.current_thread, 20) is not thread
