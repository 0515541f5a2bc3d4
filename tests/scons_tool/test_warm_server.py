"""Builds whose workers a warm server forks make what other builds make, and go on without it."""

import os
import signal
import time

import pytest

from tests.scons_tool.test_build import Project
from tests.scons_tool.test_caching import artifacts
from tileiras_build.server import look


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("project"))
    runtime = tmp_path_factory.mktemp("run")
    runtime.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEIRAS_SERVER", "1")
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        yield made
        look.find_servers("stop")


def _build(project, *options) -> None:
    done = project.run(*options, sm="90")
    assert done.returncode == 0, done.stdout + done.stderr


def _warm(project) -> look.Found:
    """The server that has forked the workers of a build that has just ended."""
    for number in range(5):
        project.write("a.tilebc", f"kernel a\n# {time.time_ns()}\n")
        _build(project)
        if (found := look.find_servers()) and any(server.requests for server in found):
            return found[0]
    raise AssertionError(f"no server after {number} builds")


def test_a_server_makes_what_a_build_makes(project):
    before = _warm(project)
    project.write("a.tilebc", "kernel a\n# new\n")
    project.write(
        "k.py",
        "import helper\nfrom tileiras_build.cases import Case\nCASES = [Case('k', None, ())]\nVALUE = helper.V\n",
    )
    for value in (1, 2):
        # The helper's module is of one request.
        project.write("helper.py", f"V = {value}\n")
        _build(project)
    (after,) = [found for found in look.find_servers() if found.process == before.process]
    # A look is a request, too.
    assert after.requests > before.requests + 1
    made = artifacts(project)
    _build(project, "-c")
    _build(project, "server=0")
    assert artifacts(project) == made
    (now,) = [found for found in look.find_servers() if found.process == before.process]
    assert now.requests == after.requests + 1


def test_a_server_that_is_killed_is_not_missed(project):
    server = _warm(project)
    os.kill(server.process, signal.SIGKILL)
    project.write("a.tilebc", "kernel a\n# after\n")
    _build(project)
    assert _warm(project).process != server.process
