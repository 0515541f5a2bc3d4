"""workers/executor/crash_isolation.py: LLVM may abort on input from outside, and the calling process continues."""

import multiprocessing
import os
import threading

import pytest

import tileiras_build
from tests.hostile_names import bytecode
from tileiras_build import driver
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.libdevice import find_libdevice
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target
from tileiras_build.workers.executor import crash_isolation
from tileiras_build.workers.executor.allow_crash import crash_allowed
from tileiras_build.workers.executor.forked_executor import ForkedExecutor
from tileiras_build.workers.executor.in_process_executor import InProcessExecutor

PID = "os:getpid"
LL = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() {
  call void asm sideeffect "bar.sync %s;", ""() convergent
  ret void
}
"""
ABORTS, COMPILES = LL % "$9", LL % "0"
JOB = Job(find_target("sm_80"))


@pytest.fixture(autouse=True)
def dump_here(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path / "dump"))


@pytest.fixture
def asked(monkeypatch):
    """What was asked of another process, which answers."""
    calls = []
    run = crash_isolation.run_isolated

    def record(function, *arguments):
        calls.append(function)
        return run(function, *arguments)

    monkeypatch.setattr(driver, "run_isolated", record)
    return calls


def test_llvm_text_from_outside_cannot_end_this_process():
    with pytest.raises(InternalError, match="worker-died.*SIGABRT"):
        driver.lower(ABORTS.encode(), "ll", "ptx", JOB)
    assert b".entry k(" in driver.lower(COMPILES.encode(), "ll", "ptx", JOB)[".ptx"]


def test_from_several_threads_at_once():
    found = []
    threads = [threading.Thread(target=lambda: found.append(crash_isolation.run_isolated(PID))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and os.getpid() not in found


def test_what_may_die_works_in_its_own_process():
    assert crash_isolation.run_isolated(PID) != os.getpid()
    with crash_allowed():
        assert crash_isolation.run_isolated(PID) == os.getpid()
    assert InProcessExecutor().run("tileiras_build.workers.executor.crash_isolation:run_isolated", PID) == os.getpid()
    assert crash_isolation.run_isolated(PID) != os.getpid()
    forked = ForkedExecutor().run("tests.workers.executor.test_crash_isolation:own_and_isolated")
    assert forked[0] == forked[1] != os.getpid()


def own_and_isolated():
    """The process this runs in, and the one that is asked for."""
    return os.getpid(), crash_isolation.run_isolated(PID)


def test_a_worker_is_no_place_to_start_others():
    own, isolated = crash_isolation.run_isolated("tests.workers.executor.test_crash_isolation:own_and_isolated")
    assert own == isolated != os.getpid()


def _answer(connection):
    connection.send(own_and_isolated())


def test_a_daemon_may_ask_too():
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_answer, args=(theirs,), daemon=True)
    process.start()
    assert ours.poll(120)
    own, isolated = ours.recv()
    process.join(30)
    assert own != isolated and process.exitcode == 0


def test_what_this_compiler_has_just_written_stays_here(asked):
    made = tileiras_build.compile(bytecode("k"), "sm_80", stop_at="ptx", libdevice=str(find_libdevice()))
    assert asked == [] and made.ptx == tileiras_build.compile(bytecode("k"), "sm_80", stop_at="ptx").ptx


def test_a_library_of_the_caller_s_own_is_read_elsewhere(asked, tmp_path):
    library = tmp_path / "own.bc"
    library.write_bytes(find_libdevice().read_bytes())
    made = tileiras_build.compile(bytecode("k"), "sm_80", stop_at="ptx", libdevice=str(library))
    assert asked == ["tileiras_build.pipeline.ll_to_ptx:lower"]
    assert made.ptx == tileiras_build.compile(bytecode("k"), "sm_80", stop_at="ptx").ptx


def test_a_damaged_library_is_refused(tmp_path):
    library = tmp_path / "own.bc"
    data = bytearray(find_libdevice().read_bytes())
    data[1000:3000] = bytes(reversed(data[1000:3000]))
    library.write_bytes(data)
    with pytest.raises(InvalidInput, match="libdevice-broken"):
        tileiras_build.compile(bytecode("k"), "sm_80", stop_at="ptx", libdevice=str(library))
    with pytest.raises(InvalidInput, match="libdevice-missing"):
        tileiras_build.compile(bytecode("k"), "sm_80", stop_at="ptx", libdevice=str(tmp_path / "none.bc"))
