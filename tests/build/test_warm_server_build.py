"""Builds with workers from a compile server give the same results, and continue without the server."""

import os
import signal
import time

import pytest

from tests.build.test_build_session import SCONSTRUCT, Project
from tests.build.test_caching_executor import artifacts
from tests.build.test_incremental_correctness import during
from tests.build.test_interrupts import end, start
from tests.workers.server.test_server_requests import wait_for
from tileiras_build.workers.server import list_servers


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("project"))
    runtime = tmp_path_factory.mktemp("run")
    runtime.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEIRAS_SERVER", "1")
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        yield made
        list_servers.find_servers("stop")


def _build(project, *options) -> None:
    done = project.run(*options, sm="90")
    assert done.returncode == 0, done.stdout + done.stderr


def _warm(project) -> list_servers.ServerInfo:
    """The server that has forked the workers of a build that has just ended."""
    for number in range(5):
        project.write("a.tilebc", f"kernel a\n# {time.time_ns()}\n")
        _build(project)
        if (found := list_servers.find_servers()) and any(server.requests for server in found):
            return found[0]
    raise AssertionError(f"no server after {number} builds")


def _running(server: list_servers.ServerInfo) -> int:
    """How many requests it has in flight."""
    return sum(found.running for found in list_servers.find_servers() if found.process == server.process)


def test_a_server_makes_what_a_build_makes(project):
    before = _warm(project)
    project.write("a.tilebc", "kernel a\n# new\n")
    project.write(
        "k.py",
        "import helper\nfrom tileiras_build.frontend.cases_api import Case\nCASES = [Case('k', None, ())]\nVALUE = helper.V\n",
    )
    for value in (1, 2):
        # The helper's module is of one request.
        project.write("helper.py", f"V = {value}\n")
        _build(project)
    (after,) = [found for found in list_servers.find_servers() if found.process == before.process]
    # A look is a request, too.
    assert after.requests > before.requests + 1
    made = artifacts(project)
    _build(project, "-c")
    _build(project, "server=0")
    assert artifacts(project) == made
    (now,) = [found for found in list_servers.find_servers() if found.process == before.process]
    assert now.requests == after.requests + 1


def test_a_server_that_is_killed_is_not_missed(project):
    server = _warm(project)
    os.kill(server.process, signal.SIGKILL)
    project.write("a.tilebc", "kernel a\n# after\n")
    _build(project)
    assert _warm(project).process != server.process


def test_a_kernel_that_is_edited_while_a_fork_reads_it(project):
    before = _warm(project)
    project.write("a.tilebc", "kernel a\ntileaa: gate\nvalue 1\n")
    done = during(project, lambda folder: (folder / "a.tilebc").write_text("kernel a\ntileaa: gate\nvalue 2\n"))
    assert done.returncode == 0, done.stdout + done.stderr
    (now,) = [found for found in list_servers.find_servers() if found.process == before.process]
    assert now.requests > before.requests + 1
    assert b"value 2" in (project.folder / "build/sm_90/a.cubin").read_bytes()
    made = artifacts(project)
    _build(project)
    assert artifacts(project) == made


def test_ctrl_c_ends_the_forks_of_a_build_and_not_the_server(project):
    server = _warm(project)
    script = (project.folder / "SConstruct").read_text()
    project.write("SConstruct", SCONSTRUCT.replace('env["TILEIRAS_TIMEOUT"] = 5', ""))
    project.write("a.tilebc", f"kernel a\nll: sleep\n# {time.time_ns()}\n")
    old = (project.folder / "build/sm_90/a.ll").read_bytes()
    # As in its other builds: another environment has another server.
    build = start(project, TILEIRAS_DUMP=str(project.folder / "dump"), PYTEST_CURRENT_TEST="")
    while "ll      sm_90   a" not in build.stdout.readline():
        assert build.poll() is None
    wait_for(lambda: _running(server))
    assert "interrupted" in end(build)
    wait_for(lambda: not _running(server))
    # SCons has removed what the step was to make, or not begun it.
    assert not (path := project.folder / "build/sm_90/a.ll").exists() or path.read_bytes() == old
    project.write("SConstruct", script)
    assert _warm(project).process == server.process
