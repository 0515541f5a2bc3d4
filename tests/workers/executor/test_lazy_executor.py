"""An executor that is started once, or refused once."""

import threading

import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.workers.executor.in_process_executor import InProcessExecutor
from tileiras_build.workers.executor.lazy_executor import LazyExecutor


def test_it_is_started_at_first_need_and_kept():
    given = []

    def make(jobs):
        given.append(jobs)
        return InProcessExecutor()

    once = LazyExecutor(make)
    once.close()
    assert once.summary() == "" and not given
    assert once.get(2) is once.get(3) is once.started
    assert given == [2]


def test_refusal_is_repeated_without_another_attempt():
    attempts = []

    def make():
        attempts.append(1)
        raise InvalidInput("executor-unreachable", "nobody answers")

    once = LazyExecutor(make)
    for _ in range(3):
        with pytest.raises(InvalidInput, match="nobody answers"):
            once.get()
    assert len(attempts) == 1


def test_interrupt_ends_the_wait_for_its_start():
    """A scheduler that never answers; what comes of its start later is ended."""
    starting, answered, closed = threading.Event(), threading.Event(), threading.Event()

    class Late(InProcessExecutor):
        def close(self):
            closed.set()

    def make():
        starting.set()
        answered.wait(60)
        return Late()

    once, refused = LazyExecutor(make), []

    def need():
        with pytest.raises(InternalError, match="the build was interrupted"):
            once.get()
        refused.append(True)

    threads = [threading.Thread(target=need, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert starting.wait(20)
    once.interrupt()
    for thread in threads:
        thread.join(20)
    assert refused == [True, True]
    answered.set()
    assert closed.wait(20)


def test_nothing_is_started_after_an_interrupt():
    once = LazyExecutor(lambda: pytest.fail("it is started"))
    once.interrupt()
    with pytest.raises(InternalError, match="the build was interrupted"):
        once.get()
