"""``executor=``: builds on a real Dask cluster give the bytes of local ones, also if a worker is killed."""

import re
import threading
import time

import pytest

from tests.build.test_build_session import SCONSTRUCT, Project, steps_of
from tests.build.test_caching_executor import ALL, STEPS, artifacts, real_project, run_scons
from tests.workers.executor.cache.http_servers import free_port
from tests.workers.executor.dask_cluster import cluster, kill

# Behind a build's script, whose steps connect later.
IMPATIENT = """
from tileiras_build.workers.executor import dask_executor
dask_executor.DaskExecutor.__init__.__kwdefaults__["connect"] = 1.0
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("dask")) as made:
        made.add_worker(compiles=True)
        made.add_worker(compiles=True)
        yield made


@pytest.fixture
def checkout(tmp_path):
    def make(name: str) -> Project:
        (tmp_path / name).mkdir()
        return Project(tmp_path / name)

    return make


def test_cluster_build_gives_the_bytes_of_a_local_one(shared, checkout):
    local, remote = checkout("local"), checkout("remote")
    local.run()
    done = remote.run(f"executor={shared.address}", "-j4")
    assert done.returncode == 0, done.stderr
    assert steps_of(done) == ALL
    assert artifacts(remote) == artifacts(local)
    assert f"cluster {shared.address}: {STEPS} steps on 2 workers" in done.stdout
    assert f"cluster {shared.address}: 2 workers with 2 threads\n" in done.stderr
    assert remote.steps(f"executor={shared.address}") == []


def test_real_artifacts_are_those_of_a_local_build(shared, tmp_path):
    local, remote = (real_project(tmp_path / name, "vector_add") for name in ("local", "remote"))
    assert run_scons(local, "sm=90", "-j2").returncode == 0
    done = run_scons(remote, "sm=90", "-j4", f"executor={shared.address}")
    assert done.returncode == 0, done.stderr
    assert artifacts(remote) == artifacts(local)


def test_a_chain_of_new_artifacts_is_one_task(shared, checkout):
    """Or two, where what the kernel asks of libdevice is cut in between; what is there already is no such thing."""
    project = checkout("project")
    before = shared.tasks()
    assert f"{STEPS} steps on" in project.run(f"executor={shared.address}", "-j4").stdout
    # a in one task, b in two, and what b asks for; and workers that do not have the tools yet ask for them.
    assert 1 + 2 + 1 <= shared.tasks() - before < STEPS
    project.write("a.tilebc", "kernel a, changed\n")
    before = shared.tasks()
    assert "5 steps on" in project.run(f"executor={shared.address}", "-j4").stdout
    assert shared.tasks() - before >= 5


def test_failures_are_those_of_a_local_build(shared, checkout):
    project = checkout("project")
    project.write("c.tilebc", "kernel c\nptx: crash\n")
    project.write("d.tilebc", "kernel d\nll: fail\n")
    done = project.run("-k", f"executor={shared.address}")
    assert done.returncode == 2
    assert "was killed by SIGABRT; last output: LLVM ERROR: cannot select" in done.stderr
    assert "k.py:3:4: error[fake-no-row]: no row in ll; use another" in done.stderr
    assert {"a.cubin", "b.cubin"} <= {path.name for path in (project.folder / "build/sm_90").iterdir()}


def test_cache_and_cluster_work_together(shared, checkout, tmp_path):
    options = [f"executor={shared.address}", f"cache={tmp_path / 'cache'}"]
    first, second = checkout("first"), checkout("second")
    assert f"{STEPS} steps on 2 workers" in first.run(*options, "-j4").stdout
    done = second.run(f"executor=tcp://127.0.0.1:{free_port()}", options[1])
    assert done.returncode == 0 and f"{STEPS} of {STEPS} steps found" in done.stdout
    assert artifacts(second) == artifacts(first)


def test_worker_that_is_killed_in_the_middle_loses_nothing(checkout, tmp_path):
    local, remote = checkout("local"), checkout("remote")
    for project in (local, remote):
        for name in "cdef":
            project.write(f"{name}.tilebc", f"kernel {name}\ntileas: pause\nll: pause\n")
    local.run("-j4")
    with cluster(tmp_path) as made:
        doomed = made.add_worker(threads=2)
        made.add_worker(threads=2)

        def kill_in_the_middle() -> None:
            while len(list(remote.folder.glob("build/*/*.tileas"))) < 2:
                time.sleep(0.05)
            kill(doomed)

        threading.Thread(target=kill_in_the_middle, daemon=True).start()
        done = remote.run(f"executor={made.address}", "-j8", seconds=500)
    assert done.returncode == 0, done.stderr
    assert doomed.returncode == -9
    assert artifacts(remote) == artifacts(local)


def test_scheduler_that_is_away_is_one_sentence_a_step(checkout):
    project = checkout("project")
    project.write("SConstruct", SCONSTRUCT + IMPATIENT)
    done = project.run(f"executor=tcp://127.0.0.1:{free_port()}", "-j1")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    (line,) = re.findall("error.executor-unreachable.: no Dask scheduler at .*", done.stderr)
    assert line.endswith("or build with executor=local")
    assert project.run("executor=local").returncode == 0
