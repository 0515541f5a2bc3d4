"""States of files from several processes equal those from one."""

import os
from array import array

import pytest

from tileiras_build.build.incremental import parallel_stat
from tileiras_build.build.incremental.parallel_stat import ABSENT, WIDTH, differences, stat_all
from tileiras_build.build.incremental.sconscript_trace import file_state


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_stat, "_PATHS_PER_PROCESS", 3)
    monkeypatch.setattr(parallel_stat, "has_threads", lambda: False)
    monkeypatch.setattr(parallel_stat, "cpu_count", lambda: 3)
    for number in range(10):
        (tmp_path / f"{number}").write_text("x" * number)
    return [str(tmp_path / f"{number}") for number in range(11)]


def seen(found: array) -> list[tuple]:
    return [tuple(found[at : at + WIDTH]) for at in range(0, len(found), WIDTH)]


def test_all_are_seen(paths, monkeypatch):
    forks = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or fork())
    assert seen(stat_all(paths)) == [file_state(path) or ABSENT for path in paths]
    assert len(forks) == 2
    assert stat_all([]) == array("q")


def _no_process() -> int:
    raise BlockingIOError


def _killed() -> int:
    """What a child that is killed leaves: nothing in its pipe."""
    if (child := _FORK()) == 0:
        os._exit(1)
    return child


_FORK = os.fork


@pytest.mark.parametrize("fork", [_no_process, _killed])
def test_a_process_that_is_not_there_is_not_missed(paths, monkeypatch, fork):
    monkeypatch.setattr(os, "fork", fork)
    assert seen(stat_all(paths)) == [file_state(path) or ABSENT for path in paths]


def test_threads_are_not_forked(paths, monkeypatch):
    monkeypatch.setattr(parallel_stat, "has_threads", lambda: True)
    monkeypatch.setattr(os, "fork", _no_process)
    assert len(stat_all(paths)) == WIDTH * len(paths)


@pytest.mark.parametrize("changed", [[], [0], [7], [2, 3, 10]])
def test_what_differs_is_found(changed):
    one = array("q", range(11 * WIDTH))
    other = one[:]
    for place in changed:
        other[place * WIDTH + place % WIDTH] += 1
    assert list(differences(one, other)) == changed
