"""The worker pool: results and diagnostics are transferred, and a lost worker fails only its own call."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tileiras_build.core.errors import InternalError, Unsupported
from tileiras_build.workers.executor import make_executor
from tileiras_build.workers.executor.call_result import describe_exit
from tileiras_build.workers.executor.worker_pool import WorkerPool, memory_share

TASKS = "tests.workers.executor.worker_tasks"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module", autouse=True)
def importable_tasks():
    sys.path.insert(0, str(ROOT))
    yield
    sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def pool(importable_tasks):
    with WorkerPool(2) as pool:
        yield pool


def test_result_comes_back(pool):
    assert pool.run(f"{TASKS}:double", b"ab") == b"abab"


def test_workers_are_other_processes_and_are_kept(pool):
    first = pool.run(f"{TASKS}:process_id")
    assert first != os.getpid()
    assert pool.run(f"{TASKS}:process_id") == first


def test_a_file_is_read_by_the_worker_that_wrote_it(tmp_path):
    with WorkerPool(2) as pool, ThreadPoolExecutor(2) as threads:
        written = list(threads.map(lambda _: pool.run(f"{TASKS}:meet", str(tmp_path), 2)[".pid"], range(2)))
        for data in written + written[::-1]:
            assert pool.run(f"{TASKS}:read", data) == int(data)


def test_diagnostic_arrives_whole(pool):
    with pytest.raises(Unsupported) as caught:
        pool.run(f"{TASKS}:fail", "no row")
    assert str(caught.value) == "k.py:3:4: error[mma-no-row]: no row; use another"


def test_crash_names_the_signal_and_last_words(pool):
    with pytest.raises(InternalError, match="SIGSEGV.*LLVM ERROR: bad"):
        pool.run(f"{TASKS}:crash", "LLVM ERROR: bad")
    assert pool.run(f"{TASKS}:double", 2) == 4


def test_call_that_takes_too_much_memory_fails_alone():
    with WorkerPool(1, memory=1 << 30) as pool:
        for _ in range(2):
            with pytest.raises(InternalError, match="worker-memory.*limit of 1024 MiB.*TILEIRAS_MEMORY"):
                pool.run(f"{TASKS}:hoard")
        assert pool.run(f"{TASKS}:double", 2) == 4


def test_compiler_that_aborts_for_memory_is_reported(pool):
    with pytest.raises(InternalError, match="worker-memory"):
        pool.run(f"{TASKS}:crash", "LLVM ERROR: out of memory")


def test_share_of_memory_leaves_enough_for_one_step():
    assert memory_share(1) > memory_share(10_000) >= 4 << 30


def test_exit_status_is_named(pool):
    with pytest.raises(InternalError, match="exited with status 7"):
        pool.run(f"{TASKS}:leave", 7)


def test_crash_leaves_other_calls_alone(pool):
    results = []
    slow = threading.Thread(target=lambda: results.append(pool.run(f"{TASKS}:sleep", 0.3)))
    slow.start()
    with pytest.raises(InternalError, match="worker-died"):
        pool.run(f"{TASKS}:crash", "")
    slow.join()
    assert results == [None]


def test_timeout_ends_one_call(pool):
    start = time.monotonic()
    with pytest.raises(InternalError, match="timed out after 0.2 s"):
        pool.run(f"{TASKS}:sleep", 600, timeout=0.2)
    assert time.monotonic() - start < 300
    assert pool.run(f"{TASKS}:double", 1) == 2


def test_interrupt_does_not_reach_workers(pool):
    assert pool.run(f"{TASKS}:interrupted") == "still here"


def test_output_of_a_call_is_shown(pool, capsys):
    pool.run(f"{TASKS}:say", "12 ms  stage ll")
    assert "12 ms  stage ll" in capsys.readouterr().err


@pytest.mark.parametrize("function", ["unpicklable", "unpicklable_error"])
def test_result_that_cannot_travel_is_a_diagnostic(pool, function):
    with pytest.raises(InternalError, match="cannot return .* from a worker"):
        pool.run(f"{TASKS}:{function}")


def test_unknown_function_is_a_diagnostic(pool):
    with pytest.raises(InternalError, match="has no function absent"):
        pool.run(f"{TASKS}:absent")


def test_workers_are_replaced_after_their_share_of_tasks():
    with WorkerPool(1, tasks_per_worker=2) as pool:
        ids = [pool.run(f"{TASKS}:process_id") for _ in range(4)]
    assert ids[0] == ids[1] != ids[2] == ids[3]


def test_closing_ends_workers():
    pool = WorkerPool(1)
    worker = pool.run(f"{TASKS}:process_id")
    pool.close()
    assert not _alive(worker)


def test_workers_die_with_the_build(tmp_path):
    script = tmp_path / "build.py"
    script.write_text(
        textwrap.dedent(f"""
        import os, signal, sys
        sys.path.insert(0, {str(ROOT)!r})
        from tileiras_build.workers.executor.worker_pool import WorkerPool
        assert __name__ == "__main__", "a worker ran the main script"
        pool = WorkerPool(1)
        print(pool.run("{TASKS}:process_id"), pool.run("{TASKS}:main_module_file"), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    worker, main = done.stdout.split()
    assert main != str(script)
    assert _ends_soon(int(worker))


def test_resource_trackers_start_only_for_shared_memory():
    script = f"""
        from multiprocessing import resource_tracker
        from {TASKS} import resource_tracker_after_sharing_memory
        from tileiras_build.workers.executor.worker_pool import WorkerPool

        tracker = resource_tracker._resource_tracker
        with WorkerPool(1) as pool:
            print(pool.run("{TASKS}:double", 2), tracker._fd, tracker._pid)
            print(*sorted((resource_tracker_after_sharing_memory(), pool.run("{TASKS}:resource_tracker_after_sharing_memory"))))
            print(pool.run("{TASKS}:double", 3), tracker._pid)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    first, trackers, last = map(str.split, done.stdout.splitlines())
    assert first == ["4", "None", "None"]
    assert len(set(trackers)) == 2 and last[1] in trackers
    assert done.stderr == ""


def test_in_process_executor_has_the_same_face():
    with make_executor(0) as executor:
        assert executor.run(f"{TASKS}:process_id") == os.getpid()
        with pytest.raises(Unsupported):
            executor.run(f"{TASKS}:fail", "no row")


def test_signals_without_a_name_are_numbered():
    assert describe_exit(-63) == "was killed by signal 63"
    assert describe_exit(-6) == "was killed by SIGABRT"


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _ends_soon(process: int) -> bool:
    deadline = time.monotonic() + 60
    while _alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not _alive(process)
