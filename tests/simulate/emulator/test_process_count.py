"""The number of processes of a launch: as requested, or chosen by cost."""

import multiprocessing
import os
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from ptx_kernels import kernel, run

from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import process_count
from tileiras_build.simulate.emulator.batch_time_model import BatchCostModel, launch_history_of
from tileiras_build.simulate.emulator.process_count import ProcessPlan
from tileiras_build.simulate.emulator.ptx.program import load

THREADS = 256
ADD = f"""mov.u32 t0, %ctaid.x; mov.u32 t1, %tid.x; mad.lo.u32 t2, t0, {THREADS}, t1; mul.wide.u32 u5, t2, 4;
 add.u64 u6, u0, u5; ld.global.u32 t3, [u6]; add.u32 t3, t3, t2; st.global.u32 [u6], t3;"""
RED = "red.global.add.u32 [u0], 1;"
CTAS = 64
launch = sys.modules[emulator.run_ptx.__module__]


@pytest.fixture
def alone(monkeypatch):
    """Simulate a process with four idle cores."""
    monkeypatch.setattr(process_count, "idle_cores", lambda: 4)
    monkeypatch.setattr(process_count, "shares_cores", lambda: False)
    monkeypatch.setattr(process_count, "free_memory", lambda: 1 << 30)
    monkeypatch.delenv(process_count.JOBS_VARIABLE, raising=False)


SIZE = 32  # CTAs of a batch


def plan(
    body: str = ADD, asked: int | None = None, ctas: int = CTAS, took: dict[int, float] | None = None, size: int = 0
) -> ProcessPlan:
    """The plan of a launch after batches that ``took`` seconds (by CTAs), with ``size`` bytes of arrays."""
    program = load(kernel(body, 1, THREADS), "k", None)
    history = launch_history_of(program)
    history.costs, history.is_single_process = BatchCostModel(), False
    for count, seconds in (took or {}).items():
        history.costs.add_sample(count, seconds)
    return ProcessPlan(program, asked, ctas, THREADS, SIZE, SimpleNamespace(regions=[SimpleNamespace(size=size)]))


# ---- costs of batches
def test_fixed_and_per_cta_costs():
    costs = BatchCostModel()
    assert costs.fixed_and_per_cta() is None
    costs.add_sample(10, 1.0)
    assert costs.fixed_and_per_cta() == (0.5, 0.05)  # a single sample
    costs.add_sample(5, 0.6)
    assert costs.fixed_and_per_cta() == pytest.approx((0.2, 0.08))
    costs.add_sample(9, 1.08)  # of similar size: replaces the first sample
    assert costs.fixed_and_per_cta() == pytest.approx((0.0, 0.12))
    costs.add_sample(20, 1.2)  # the former large sample becomes the small one
    assert costs.fixed_and_per_cta() == pytest.approx((0.9, 0.015))


# ---- the rule
LONG, SHORT = {SIZE: 3.2, SIZE // 2: 1.7}, {SIZE: 0.032, SIZE // 2: 0.017}  # 0.1 and 0.001 s for a CTA


@pytest.mark.parametrize(
    ("asked", "ctas", "took", "expected"),
    [
        (1, 64, LONG, 1), (3, 64, LONG, 3), (3, 2, LONG, 2), (3, 64, None, 3), (3, 32, SHORT, 1),
        (None, 64, LONG, 4), (None, 3, LONG, 3), (None, 1, LONG, 1), (None, 64, None, 1), (None, 64, SHORT, 1),
        (None, 32, {32: 0.3, 16: 0.29}, 1), (None, 32, {32: 0.5, 16: 0.25}, 3), (None, 64, {32: 0.2, 16: 0.19}, 2),
    ],
)  # fmt: skip
def test_number_of_processes(alone, asked, ctas, took, expected):
    assert plan(asked=asked, ctas=ctas, took=took).processes(ctas) == expected


def test_kernels_with_atomics_use_one_process(alone):
    assert plan(RED, took=LONG).processes(CTAS) == plan(RED, asked=4, took=LONG).processes(CTAS) == 1


def test_large_arrays_are_not_copied(alone):
    assert plan(took=LONG, size=1 << 27).processes(CTAS) == 4
    assert plan(took=LONG, size=1 << 29).processes(CTAS) == 1  # memory
    assert plan(took={SIZE: 0.2}, size=1 << 27).processes(CTAS) == 1  # time
    assert plan(asked=2, took={SIZE: 0.2}, size=1 << 29).processes(CTAS) == 2


def test_batches_are_small_if_their_overhead_is_low():
    assert plan(ctas=64, took={32: 3.2, 16: 1.6}).batch(64, 2) == 8  # four for each
    assert plan(ctas=64, took={32: 3.2, 16: 2.0}).batch(64, 2) == 32  # one for each
    assert plan(ctas=1 << 12, took=LONG).batch(1 << 12, 2) == SIZE
    assert plan(ctas=80, took={32: 3.2, 16: 3.0}).batch(80, 2) == 20  # two for each, as large as the others


# ---- launches
def test_remaining_ctas_of_a_long_launch_are_divided(alone, monkeypatch):
    forks, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or fork())
    monkeypatch.setattr(process_count, "MIN_SECONDS_SAVED", 0.0)
    monkeypatch.setattr(launch, "BATCH_THREADS", 16 * THREADS)
    ptx, memories = kernel(ADD, 1, THREADS), []
    for asked in (1, None):
        launch_history_of(load(ptx, "k", None)).costs = BatchCostModel()
        memories.append(np.arange(CTAS * THREADS, dtype=np.uint32))
        run(ptx, memories[-1], grid=CTAS, jobs=asked)
    np.testing.assert_array_equal(*memories)
    assert len(forks) == 3 and memories[0][-1] == 2 * (CTAS * THREADS - 1)


def test_process_with_siblings_does_not_fork(monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert not process_count.shares_cores()
    for change in (
        lambda patch: patch.setenv("PYTEST_XDIST_WORKER", "gw0"),
        lambda patch: patch.setattr(threading, "active_count", lambda: 2),
        lambda patch: patch.setattr(multiprocessing.process, "parent_process", lambda: object()),
    ):
        with monkeypatch.context() as patch:
            change(patch)
            assert process_count.shares_cores()


def test_busy_cores_are_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(process_count, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(process_count, "_RUNNING", tmp_path / "loadavg")
    assert process_count.idle_cores() == 4
    for running, expected in ((1, 4), (5, 2), (40, 1)):
        (tmp_path / "loadavg").write_text(f"9.00 8.00 7.00 {running}/512 4711\n")
        assert process_count.idle_cores() == expected


# ---- requests
def launch_of(asked: int | None) -> None:
    emulator.run_ptx(kernel("ret;", 0, THREADS), "k", 1, jobs=asked)


def test_fewer_than_one_job_is_invalid(monkeypatch):
    with pytest.raises(ValueError, match="invalid jobs 0: use 1 or more"):
        launch_of(0)
    monkeypatch.setenv("TILEIRAS_EMULATOR_JOBS", "many")
    with pytest.raises(ValueError, match="invalid TILEIRAS_EMULATOR_JOBS=.many."):
        launch_of(None)


def test_jobs_from_the_environment(monkeypatch):
    monkeypatch.setenv("TILEIRAS_EMULATOR_JOBS", "2")
    assert process_count.requested_jobs(None) == 2 and process_count.requested_jobs(3) == 3
    monkeypatch.setenv("TILEIRAS_EMULATOR_JOBS", "")
    assert process_count.requested_jobs(None) is None
