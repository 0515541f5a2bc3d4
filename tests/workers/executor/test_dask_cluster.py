"""The cluster executor with real schedulers and workers: results, and messages when parts are lost."""

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fake_stages import TABLE
from tests.package_copy import copy_package
from tests.workers.executor.cache.http_servers import free_port
from tests.workers.executor.dask_cluster import cluster, kill, tasks_done
from tileiras_build.core.errors import InternalError, InvalidInput, Unsupported
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target
from tileiras_build.workers.executor import make_executor
from tileiras_build.workers.executor.dask_executor import DaskExecutor
from tileiras_build.workers.executor.speculative_steps import NextStep

LOWER = "tileiras_build.driver:lower"
TARGET = find_target("sm_90")
SECONDS = 300.0  # no call of these tests takes as long


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Two workers that no test harms; one is under a nanny, as ``dask worker`` starts them."""
    with cluster(tmp_path_factory.mktemp("dask")) as made:
        made.add_worker()
        made.add_worker(nanny=True)
        yield made


@pytest.fixture(scope="module")
def executor(shared):
    with connect(shared) as made:
        yield made


def connect(to, **more) -> DaskExecutor:
    options = {"log": lambda text: None, "connect": 60.0, "no_worker_timeout": SECONDS} | more
    return DaskExecutor(to.address, lambda: make_executor(0), **options)


def arguments(text: str = "kernel a\n", stage: int = 1, job: Job | None = None) -> tuple:
    rows = TABLE[stage - 1 : stage + 1]
    return text.encode(), rows[0].suffix, rows[1].suffix, job or Job(TARGET), "a.tilebc", rows


def paused(count: int) -> list[dict[str, bytes]]:
    """What ``together`` gives."""
    return [{".tileaa": f"kernel k{n}\ntileaa: pause\ntileaa {TARGET.name} O3\n".encode()} for n in range(count)]


def together(executor, count: int, text: str = "tileaa: pause\n"):
    """``count`` calls at once, each with another kernel; returns a function that waits for their results."""
    threads = ThreadPoolExecutor(count)
    calls = [threads.submit(executor.run, LOWER, *arguments(f"kernel k{n}\n{text}")) for n in range(count)]
    return lambda: [call.result(SECONDS) for call in calls]


def test_result_is_that_of_a_local_call(executor):
    assert executor.run(LOWER, *arguments()) == lower(*arguments())


def test_calls_are_spread_over_the_workers(executor, shared):
    assert together(executor, 6)() == paused(6)
    assert executor._used == set(shared.workers())
    assert executor.summary() == f"cluster {shared.address}: {executor._steps} steps on 2 workers"


def test_small_calls_that_wait_go_together(executor, shared):
    """Each keeps its own result and its own error."""
    texts = [f"kernel k{n}\n" + "tileaa: fail\n" * (n % 7 == 3) for n in range(100)]

    def call(text):
        try:
            return executor.run(LOWER, *arguments(text))
        except Unsupported as error:
            return str(error)

    before = tasks_done(executor._client)
    with ThreadPoolExecutor(100) as threads:
        results = list(threads.map(call, texts))
    failure = "k.py:3:4: error[fake-no-row]: no row in tileaa; use another"
    expected = [{".tileaa": f"{text}tileaa {TARGET.name} O3\n".encode()} for text in texts]
    assert results == [failure if n % 7 == 3 else made for n, made in enumerate(expected)]
    assert tasks_done(executor._client) - before < 70


def test_what_follows_is_made_in_the_same_task(executor):
    """Each step keeps its own result, and its own error, of which nothing is made."""
    before = tasks_done(executor._client)
    files = executor.run(LOWER, *arguments("kernel f\nll: fail\n"), lookahead=lambda: chain(2, 3, 4))
    made = [files]
    for step in chain(2):
        made.append(executor.run(LOWER, *step.arguments(made[-1][step.rows[0].suffix])))
    (failing,) = chain(3)
    with pytest.raises(Unsupported, match="no row in ll"):
        executor.run(LOWER, *failing.arguments(made[-1][".tileas"]))
    assert tasks_done(executor._client) - before == 1
    assert made[1] == lower(*chain(2)[0].arguments(files[".tileaa"]))


def test_what_follows_ends_where_another_step_has_to_run_first(executor):
    (step,) = chain(4)
    data = executor.run(LOWER, *arguments("kernel g\nptx: libdevice\n", 3), lookahead=lambda: (step,))[".ll"]
    assert executor._speculative.take((), step.arguments(data)) is None
    data = executor.run(LOWER, *arguments("kernel h\n", 3), lookahead=lambda: (step,))[".ll"]
    assert executor._speculative.take((), step.arguments(data)) is not None


def test_what_was_made_with_another_tool_is_not_taken(executor, tmp_path):
    tool = tmp_path / "ptxas"
    tool.write_text("ptxas 7")
    step = NextStep(Job(TARGET, ptxas=str(tool)), "a.ptx", TABLE[4:6])
    data = executor.run(LOWER, *arguments(stage=4), lookahead=lambda: (step,))[".ptx"]
    tool.write_text("ptxas 8")
    for _ in range(2):
        made = executor.run(LOWER, *step.arguments(data))
        assert made[".cubin"].decode().splitlines()[-1] == "cubin ptxas 8"


def chain(*stages: int) -> tuple[NextStep, ...]:
    return tuple(NextStep(Job(TARGET), "a.tilebc", TABLE[stage - 1 : stage + 1]) for stage in stages)


def test_diagnostic_arrives_whole(executor):
    with pytest.raises(Unsupported) as caught:
        executor.run(LOWER, *arguments("kernel a\ntileaa: fail\n"))
    assert str(caught.value) == "k.py:3:4: error[fake-no-row]: no row in tileaa; use another"


def test_crash_names_the_signal_and_leaves_the_workers_alone(executor, shared):
    before = shared.workers().keys()
    with pytest.raises(InternalError, match="worker-died.*SIGABRT; last output: LLVM ERROR: cannot select"):
        executor.run(LOWER, *arguments("kernel a\ntileaa: crash\n"))
    assert shared.workers().keys() == before


def test_timeout_ends_one_call(executor):
    with pytest.raises(InternalError, match="timed out after 0.5 s"):
        executor.run(LOWER, *arguments("kernel a\ntileaa: sleep\n"), timeout=0.5)


def test_workers_use_the_bytes_of_this_machines_tools(executor, tmp_path):
    """Not its paths: a worker has no tool of its own here, and is sent each one's bytes."""
    tool = tmp_path / "ptxas"
    for version in ("ptxas 7", "ptxas 8"):
        tool.write_text(version)
        made = executor.run(LOWER, *arguments(stage=5, job=Job(TARGET, ptxas=str(tool))))
        assert made[".cubin"].decode().splitlines()[-1] == f"cubin {version}"


def test_call_that_reads_this_machines_files_stays_here(executor):
    assert executor.run("tests.workers.executor.worker_tasks:process_id") == os.getpid()


def test_interrupt_ends_waiting_calls(shared):
    with connect(shared) as executor:
        wait = together(executor, 2, "tileaa: sleep\n")
        threading.Timer(1, executor.interrupt).start()
        with pytest.raises(InternalError, match="interrupted"):
            wait()


def test_few_jobs_get_a_hint(shared):
    said = []
    connect(shared, log=said.append, jobs=1).close()
    assert said == [f"cluster {shared.address}: 2 workers with 2 threads; -j1 limits the build to 1 of them: use -j4"]


def test_scheduler_that_is_away_is_one_sentence():
    with pytest.raises(InvalidInput) as caught:
        DaskExecutor(f"tcp://127.0.0.1:{free_port()}", lambda: make_executor(0), connect=1)
    assert caught.value.id == "executor-unreachable"
    assert "no Dask scheduler at tcp://127.0.0.1:" in str(caught.value)
    assert "build with executor=local" in str(caught.value)


def test_server_that_is_no_scheduler_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(InvalidInput) as caught:
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        DaskExecutor(address, lambda: make_executor(0), connect=1)
    assert caught.value.id == "executor-unreachable"


def test_lost_workers_lose_no_call(tmp_path):
    """One dies in the middle of its steps; then all do, and another one comes."""
    with cluster(tmp_path) as made:
        first, second = made.add_worker(threads=2), made.add_worker(threads=2)
        with connect(made) as executor:
            wait = together(executor, 12)
            until(lambda: len(executor._used) == 2)
            kill(first)
            assert wait() == paused(12)
            wait = together(executor, 4)
            time.sleep(0.5)
            kill(second)
            made.add_worker()
            assert wait() == paused(4)
            assert len(executor._used) == 3


def until(ready) -> None:
    deadline = time.monotonic() + SECONDS
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_workers_of_another_version_get_nothing(tmp_path):
    other, older = tmp_path / "other", tmp_path / "older"
    for copy in (other, older):
        copy_package(copy / "tileiras_build")
    with open(other / "tileiras_build/pipeline/ll_to_ptx/__init__.py", "a") as stream:
        stream.write("\n# another version\n")
    (older / "tileiras_build/workers/executor/dask_worker.py").unlink()
    with cluster(tmp_path) as made:
        made.add_worker(code=other)
        with pytest.raises(InvalidInput, match="this build has tileiras-build .* install the same version") as caught:
            connect(made)
        assert caught.value.id == "executor-version" and "has tileiras-build" in str(caught.value)
        made.add_worker(code=older)
        made.add_worker()
        said = []
        with connect(made, log=said.append) as executor:
            assert together(executor, 6)() == paused(6)
            assert len(executor._used) == 1
        assert "1 worker with 1 thread" in said[0]
        assert "warning[executor-version]: worker tcp://" in said[1] and said[1].endswith("it gets no work")


def test_worker_whose_code_changes_under_it_gets_nothing(tmp_path):
    """What it has loaded is the one code, what it would still load the other."""
    code = tmp_path / "code"
    copy_package(code / "tileiras_build")
    with cluster(tmp_path) as made:
        made.add_worker(code=code)
        with connect(made) as executor:
            assert together(executor, 1)() == paused(1)
            with open(code / "tileiras_build/pipeline/ll_to_ptx/__init__.py", "a") as stream:
                stream.write("\n# another version\n")
            with pytest.raises(InternalError, match="the code of a worker has changed after .* restart the worker"):
                executor.run(LOWER, *arguments())


def test_parts_that_stay_away_end_the_calls(tmp_path):
    with cluster(tmp_path) as made:
        with pytest.raises(InvalidInput, match="has no workers; start one with") as caught:
            connect(made, gather=0.5)
        assert caught.value.id == "executor-empty"
        worker = made.add_worker()
        with connect(made, no_worker_timeout=2) as executor:
            wait = together(executor, 2, "tileaa: sleep\n")
            time.sleep(1)
            kill(worker)
            with pytest.raises(InternalError, match="cluster-lost.*no compatible worker on scheduler .* for 2 s"):
                wait()
            with pytest.raises(InternalError, match="cluster-lost"):
                executor.run(LOWER, *arguments())
        made.add_worker()
        with connect(made) as executor:
            wait = together(executor, 2, "tileaa: sleep\n")
            time.sleep(1)
            kill(made.scheduler)
            with pytest.raises(InternalError, match="cluster-lost.*lost connection to scheduler .*"):
                wait()
