"""How many processes a launch has: asked for, or as many as pay."""

import multiprocessing
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from ptx_kernels import kernel, run

from tileiras_build import emulator
from tileiras_build.emulator import jobs
from tileiras_build.emulator.jobs import Plan
from tileiras_build.emulator.program import load

THREADS = 256
ADD = f"""mov.u32 t0, %ctaid.x; mov.u32 t1, %tid.x; mad.lo.u32 t2, t0, {THREADS}, t1; mul.wide.u32 u5, t2, 4;
 add.u64 u6, u0, u5; ld.global.u32 t3, [u6]; add.u32 t3, t3, t2; st.global.u32 [u6], t3;"""
RED = "red.global.add.u32 [u0], 1;"
CTAS = 64


@pytest.fixture
def alone(monkeypatch):
    """A process that has four cores to itself, as far as the launches of a test can tell."""
    monkeypatch.setattr(jobs, "cores", lambda: 4)
    monkeypatch.setattr(jobs, "has_company", lambda: False)
    monkeypatch.setattr(jobs, "free_memory", lambda: 1 << 30)
    monkeypatch.delenv(jobs.VARIABLE, raising=False)


def plan(body: str = ADD, asked: int | None = None, ctas: int = CTAS, seconds: float = np.inf, size: int = 0) -> Plan:
    """Of a launch whose CTAs take ``seconds`` each, with ``size`` bytes of arrays."""
    program = load(kernel(body, 1, THREADS), "k", None)
    program.seconds_per_cta = seconds
    return Plan(program, asked, ctas, THREADS, SimpleNamespace(regions=[SimpleNamespace(size=size)]))


# ---- the rule
@pytest.mark.parametrize(
    ("asked", "ctas", "seconds", "expected"),
    [
        (1, 64, 1.0, 1), (3, 64, 1.0, 3), (3, 2, 1.0, 2), (3, 64, np.inf, 3), (3, 64, 1e-4, 1),
        (None, 64, 1.0, 4), (None, 3, 1.0, 3), (None, 1, 1.0, 1), (None, 64, np.inf, 1),
        (None, 64, 3.1 * jobs.SHARE / 64, 3), (None, 64, 1.9 * jobs.SHARE / 64, 1),
    ],
)  # fmt: skip
def test_how_many_processes(alone, asked, ctas, seconds, expected):
    assert plan(asked=asked, ctas=ctas, seconds=seconds).processes(ctas) == expected


def test_nobody_shares_what_atomics_order(alone):
    assert plan(RED, seconds=1.0).processes(CTAS) == plan(RED, asked=4, seconds=1.0).processes(CTAS) == 1


def test_arrays_that_cost_more_than_they_give_are_not_copied(alone):
    assert plan(seconds=1.0, size=1 << 27).processes(CTAS) == 4
    assert plan(seconds=1.0, size=1 << 29).processes(CTAS) == 1  # memory
    assert plan(seconds=1e-2, size=1 << 27).processes(CTAS) == 1  # time
    assert plan(asked=2, seconds=1e-2, size=1 << 29).processes(CTAS) == 2


def test_only_a_large_launch_that_nobody_knows_has_a_sample(alone):
    assert plan().sample(128) == 4
    assert plan(ctas=jobs.LONG // THREADS - 1).sample(128) == 0
    assert plan(asked=4).sample(128) == plan(seconds=1.0).sample(128) == 0


def test_all_processes_have_as_many_ctas_at_once_as_one_would(alone):
    assert plan(ctas=1 << 12).batch(16, 4) == 4
    assert plan(asked=4, ctas=1 << 12).batch(16, 4) == 16


# ---- launches
def test_a_long_launch_is_shared_and_leaves_what_one_process_leaves(alone, monkeypatch):
    forks, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or fork())
    monkeypatch.setattr(jobs, "SHARE", 1e-9)
    monkeypatch.setattr(jobs, "WORTH", 0.0)
    ptx, memories = kernel(ADD, 1, THREADS), []
    for asked in (1, None):
        load(ptx, "k", None).seconds_per_cta = np.inf
        memories.append(np.arange(CTAS * THREADS, dtype=np.uint32))
        run(ptx, memories[-1], grid=CTAS, jobs=asked)
    np.testing.assert_array_equal(*memories)
    assert len(forks) == 3 and memories[0][-1] == 2 * (CTAS * THREADS - 1)


def test_a_process_among_others_runs_launches_by_itself(monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert not jobs.has_company()
    for change in (
        lambda patch: patch.setenv("PYTEST_XDIST_WORKER", "gw0"),
        lambda patch: patch.setattr(threading, "active_count", lambda: 2),
        lambda patch: patch.setattr(multiprocessing.process, "parent_process", lambda: object()),
    ):
        with monkeypatch.context() as patch:
            change(patch)
            assert jobs.has_company()


def test_cores_are_those_of_the_process_and_of_its_control_group(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    monkeypatch.setattr(jobs, "_QUOTA", tmp_path / "cpu.max")
    assert jobs.cores() == 6
    for text, expected in (("max 100000\n", 6), ("250000 100000\n", 2), ("10000 100000\n", 1), ("900000 100000\n", 6)):
        (tmp_path / "cpu.max").write_text(text)
        assert jobs.cores() == expected


# ---- what is said
def launch_of(asked: int | None) -> None:
    emulator.run_ptx(kernel("ret;", 0, THREADS), "k", 1, jobs=asked)


def test_fewer_than_one_job_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="jobs cannot be 0: use 1 or more"):
        launch_of(0)
    monkeypatch.setenv("TILEIRAS_EMULATOR_JOBS", "many")
    with pytest.raises(ValueError, match="TILEIRAS_EMULATOR_JOBS cannot be 'many'"):
        launch_of(None)


def test_the_environment_says_how_many_jobs(monkeypatch):
    monkeypatch.setenv("TILEIRAS_EMULATOR_JOBS", "2")
    assert jobs.asked_for(None) == 2 and jobs.asked_for(3) == 3
    monkeypatch.setenv("TILEIRAS_EMULATOR_JOBS", "")
    assert jobs.asked_for(None) is None
