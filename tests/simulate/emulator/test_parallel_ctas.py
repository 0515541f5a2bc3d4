"""Launches in several processes: the same memory, faults, counters and warnings as in one, and no leaked processes."""

import contextlib
import ctypes
import mmap
import os
import signal

import numpy as np
import pytest
from ptx_kernels import aligned, kernel, run

from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import Counters, EmulatorFault, EmulatorWarning, parallel_ctas
from tileiras_build.simulate.emulator.batch_time_model import BatchCostModel, launch_history_of
from tileiras_build.simulate.emulator.errors import TIME_LIMIT
from tileiras_build.simulate.emulator.launch import LaunchOptions
from tileiras_build.simulate.emulator.ptx.program import load
from tileiras_build.simulate.emulator.simt.scheduler import Scheduler

CTAS, THREADS = 24, 64
# out[i] = in[i] * ctaid + table[tid & 1], where table is a variable of the module.
INDEX = f"mov.u32 t0, %ctaid.x; mov.u32 t1, %tid.x; mad.lo.u32 t2, t0, {THREADS}, t1; cvt.u64.u32 u5, t2; shl.b64 u5, u5, 2;"
BODY = f"""{INDEX} add.u64 u6, u0, u5; add.u64 u7, u1, u5; ld.global.u32 t3, [u6];
 and.b32 t4, t1, 1; mul.wide.u32 u8, t4, 4; mov.u64 u9, table; add.u64 u9, u9, u8; ld.global.u32 t5, [u9];
 mad.lo.u32 t6, t3, t0, t5; st.global.u32 [u7], t6;"""
TABLE = ".global .align 4 .u32 table[2] = {7, 9};"
FAULT = f"{INDEX} add.u64 u6, u0, u5; setp.gt.u32 p0, t0, 4; @p0 mov.u64 u6, 8; st.global.u32 [u6], t0;"


@pytest.fixture
def forks(monkeypatch):
    """The ids of created forks."""
    made, fork = [], os.fork

    def counted():
        pid = fork()
        made.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", counted)
    return made


def inputs():
    return aligned(np.arange(CTAS * THREADS, dtype=np.uint32)), np.zeros(CTAS * THREADS, np.uint32)


def ptx_of(body: str, params: int = 2, extra: str = "") -> str:
    return kernel(body, params, THREADS, extra)


def fresh(body: str, params: int = 2, extra: str = "") -> str:
    """A kernel without measured launches."""
    ptx = ptx_of(body, params, extra)
    launch_history_of(load(ptx, "k", None)).costs = BatchCostModel()
    return ptx


def test_results_equal_those_of_one_process(forks):
    source, out = inputs()
    run(fresh(BODY, extra=TABLE), source, out, grid=CTAS, jobs=3)
    index = np.arange(CTAS * THREADS)
    np.testing.assert_array_equal(out, index * (index // THREADS) + np.where(index % 2, 9, 7))
    assert len(forks) == 2


def test_read_only_memory_is_not_written():
    """Only changed bytes are copied back: writing to these pages would kill the process."""
    data = np.arange(CTAS * THREADS, dtype=np.uint32)
    with mmap.mmap(-1, mmap.PAGESIZE * 2) as pages:
        held = np.frombuffer(pages, np.uint32)
        held[: len(data)] = data
        address = held.ctypes.data
        libc = ctypes.CDLL(None)
        assert libc.mprotect(ctypes.c_void_p(address), mmap.PAGESIZE * 2, mmap.PROT_READ) == 0
        memory, out = emulator.Memory(), np.zeros_like(data)
        memory.map(address, data.nbytes)
        parameters = [p.to_bytes(8, "little") for p in (address, memory.map_array(out))]
        emulator.run_ptx(fresh(BODY, extra=TABLE), "k", CTAS, None, parameters, memory=memory, jobs=2)
        del held
    assert out[-1] == data[-1] * (CTAS - 1) + 9


def test_faults_equal_those_of_one_process(forks):
    found, memories = [], []
    for jobs in (1, 2):
        out = np.zeros(CTAS * THREADS, np.uint32)
        with pytest.raises(EmulatorFault, match="outside mapped memory") as fault:
            run(fresh(FAULT, 1), out, grid=CTAS, jobs=jobs)
        found.append((str(fault.value), fault.value.thread, fault.value.address))
        memories.append(out)
    assert found[0] == found[1] and found[0][1:] == (((5, 0, 0), (0, 0, 0)), 8)
    np.testing.assert_array_equal(*memories)
    assert len(forks) == 1


def test_short_launch_does_not_fork(forks):
    source, out = inputs()
    ptx = fresh(BODY, extra=TABLE)
    run(ptx, source, out, grid=CTAS)
    run(ptx, source, out, grid=CTAS, jobs=2)
    assert not forks


def test_counters_are_added():
    alone, shared = Counters(), Counters()
    for counters, jobs in ((alone, 1), (shared, 3)):
        run(fresh(BODY, extra=TABLE), *inputs(), grid=CTAS, jobs=jobs, counters=counters)
    assert shared.thread_instructions == alone.thread_instructions > 0
    counters = Counters()
    counters.bank_conflicts = {(1, "a"): 2}
    shared.bank_conflicts = {(1, "a"): 3, (2, "b"): 1}
    counters.add(shared)
    assert counters.bank_conflicts == {(1, "a"): 5, (2, "b"): 1}


UNREAD = """.shared .align 128 .b8 tile[128]; mov.u32 t9, tile; cvta.to.global.u64 u2, u0;
 cp.async.bulk.global.shared::cta.bulk_group [u2], [t9], 16;"""


UNREAD_PTX = ptx_of(UNREAD, 1)


def test_findings_warn_once(forks):
    texts = []
    for jobs in (1, 2, 2):
        with pytest.warns(EmulatorWarning) as found:
            run(UNREAD_PTX, aligned(np.zeros(64, np.uint32)), grid=CTAS, jobs=jobs, findings="warning")
        texts.append([str(warning.message) for warning in found])
        launch_history_of(load(UNREAD_PTX, "k", None)).costs = BatchCostModel()
    assert len(texts[0]) == 1 and "(finding exit-before-read)" in texts[0][0]
    assert texts == texts[:1] * 3
    assert len(forks) == 1  # after a finding, the kernel runs in one process


# -- kernels ----------------------------------------------------------------------------------
ALONE = {
    "atomics": ("red.global.add.u32 [u0], 1;", "atomic operations"),
    "generic": ("atom.add.u32 t0, [u0], 1;", "atomic operations"),
    "flags": ("ld.volatile.global.u32 t0, [u0];", "wait for each other's stores"),
    "acquire": ("ld.acquire.gpu.u32 t0, [u0];", "wait for each other's stores"),
    "reductions": (
        ".shared .align 128 .b8 s[128]; mov.u32 t0, s; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [u0], [t0], 16;",
        "reduce into global memory",
    ),
    "stolen": (
        ".shared .align 16 .b8 s[32]; mov.u32 t0, s;"
        " clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [t0], [t0+16];",
        "cancel each other",
    ),
}
APART = (
    ".shared .align 4 .b8 s[128]; mov.u32 t0, s; atom.shared.add.u32 t1, [t0], 1; red.shared::cta.add.u32 [t0], 1;",
    ".shared .align 4 .b8 s[128]; mov.u32 t0, s; ld.volatile.shared.u32 t1, [t0];",
    "ld.global.u32 t0, [u0]; st.global.u32 [u0], t0;",
)
PRINTING = """.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.visible .entry k() { { .param .b64 a; .param .b64 b; .param .b32 r; call.uni (r), vprintf, (a, b); } ret; }"""


@pytest.mark.parametrize("body, why", ALONE.values(), ids=ALONE)
def test_communicating_ctas_run_in_one_process(body, why):
    assert why in parallel_ctas.single_process_reason(load(ptx_of(body, 1), "k"))


def test_printing_ctas_run_in_one_process():
    text = ".version 9.0\n.target sm_120a\n.address_size 64\n" + PRINTING
    assert "print or allocate memory" in parallel_ctas.single_process_reason(load(text, "k"))


@pytest.mark.parametrize("body", APART)
def test_independent_ctas_run_in_several_processes(body):
    assert parallel_ctas.single_process_reason(load(ptx_of(body, 1), "k")) is None


def test_atomics_of_all_ctas_are_counted(forks):
    out = np.zeros(1, np.uint32)
    run(fresh("red.global.add.u32 [u0], 1;", 1), out, grid=CTAS, jobs=4)
    assert out[0] == CTAS * THREADS and not forks


# -- failures ---------------------------------------------------------------------------------
def batches(count: int) -> list[tuple[int, int]]:
    return [(first, 1) for first in range(count)]


def run_here_and_there(here, there, count: int = 40) -> bool:
    """Run batches in two processes with different functions; returns whether they ran."""
    parent = os.getpid()

    def one(first, number, options):
        (here if os.getpid() == parent else there)(first)

    return parallel_ctas.run_batches(one, batches(count), 2, emulator.Memory(), LaunchOptions())


def until_ended(forks):
    """Work of the launching process until its first fork has exited."""
    return lambda first: os.waitid(os.P_PID, forks[0], os.WEXITED | os.WNOWAIT)


def test_killed_process_counts_as_failed(forks):
    assert not run_here_and_there(until_ended(forks), lambda first: os.kill(os.getpid(), signal.SIGKILL))


def test_failed_batches_are_repeated_in_one_process(forks, monkeypatch):
    """An out-of-memory killer does not fail a launch."""
    parent, step = os.getpid(), Scheduler.step

    def killed(scheduler, group):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # already reaped
            until_ended(forks)(0)
        return step(scheduler, group)

    monkeypatch.setattr(Scheduler, "step", killed)
    source, out = inputs()
    run(fresh(BODY, extra=TABLE), source, out, grid=CTAS, jobs=2)
    index = np.arange(CTAS * THREADS)
    np.testing.assert_array_equal(out, index * (index // THREADS) + np.where(index % 2, 9, 7))


def test_interrupted_launch_leaves_no_process(forks):
    def interrupted(first):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_here_and_there(interrupted, lambda first: signal.pause())
    with pytest.raises(ProcessLookupError):
        os.kill(forks[0], 0)


def test_time_limit_in_another_process(forks):
    def late(first):
        raise EmulatorFault("too late", kind=TIME_LIMIT)

    with pytest.raises(EmulatorFault, match="too late"):
        run_here_and_there(until_ended(forks), late)


def test_more_batches_than_the_pipe_holds(monkeypatch, tmp_path):
    monkeypatch.setattr(parallel_ctas, "PIPE_BATCHES", 3)
    seen = tmp_path / "seen"

    def note(first):
        with seen.open("a") as file:
            file.write(f"{first}\n")

    assert run_here_and_there(note, note, 10)
    assert sorted(map(int, seen.read_text().split())) == list(range(10))
