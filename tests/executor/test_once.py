"""An executor that is started once, or refused once."""

import pytest

from tileiras_build.errors import InvalidInput
from tileiras_build.executor.in_process import InProcessExecutor
from tileiras_build.executor.once import Once


def test_it_is_started_at_first_need_and_kept():
    given = []

    def make(jobs):
        given.append(jobs)
        return InProcessExecutor()

    once = Once(make)
    once.interrupt()
    once.close()
    assert once.summary() == "" and not given
    assert once.get(2) is once.get(3) is once.started
    assert given == [2]


def test_refusal_is_repeated_without_another_attempt():
    attempts = []

    def make():
        attempts.append(1)
        raise InvalidInput("executor-away", "nobody answers")

    once = Once(make)
    for _ in range(3):
        with pytest.raises(InvalidInput, match="nobody answers"):
            once.get()
    assert len(attempts) == 1
