"""What a real build leaves for reports: the time, lane and outcome of every step."""

import itertools

import pytest

from tests.build.test_build_session import SCONSTRUCT, Project, chain, cuts
from tileiras_build.reports.build_timeline import BUILT, CACHED, FAILED, read_timeline


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def timeline(project):
    return read_timeline(project.folder / "build/report/timeline.json")


def steps(spans):
    return sorted(f"{span.stage} {span.target} {span.kernel}" for span in spans)


# SCons starts its first worker outside of its lock: a second that asks before the first is counted starts a third.
UNCOUNTED = """
import threading, time
from SCons.Taskmaster.Job import NewParallel
start = NewParallel.Worker.start
def start_slowly(worker):
    start(worker)
    if threading.current_thread() is threading.main_thread():
        time.sleep(1)
NewParallel.Worker.start = start_slowly
"""


@pytest.mark.parametrize("script", [SCONSTRUCT, UNCOUNTED + SCONSTRUCT], ids=["counted", "a worker too many"])
def test_every_step_is_timed_on_its_lane(project, script):
    project.write("SConstruct", script)
    assert project.run().returncode == 0
    kept = timeline(project)
    assert steps(kept.spans) == sorted([*chain("a", "b"), *cuts()])
    assert {span.outcome for span in kept.spans} == {BUILT} and kept.jobs == 2
    assert {span.lane for span in kept.spans} <= {0, 1}
    for lane in (0, 1):
        mine = sorted((span for span in kept.spans if span.lane == lane), key=lambda span: span.start)
        assert all(0 <= span.start <= span.end for span in mine)
        assert all(first.end <= second.start for first, second in itertools.pairwise(mine))


def test_run_that_makes_nothing_keeps_the_last_timeline(project):
    project.run()
    before = (project.folder / "build/report/timeline.json").read_bytes()
    project.run()
    assert (project.folder / "build/report/timeline.json").read_bytes() == before


def test_failed_steps_are_marked(project):
    project.write("a.tilebc", "kernel a\nll: fail\n")
    project.run("-k", sm="90")
    failed = [span for span in timeline(project).spans if span.outcome == FAILED]
    assert steps(failed) == ["ll sm_90 a"]


def test_steps_from_a_cache_are_marked(project):
    project.write("SConstruct", SCONSTRUCT + '\nCacheDir("cache")\n')
    project.run(sm="90")
    assert project.run("-c", sm="90").returncode == 0
    project.run(sm="90")
    spans = timeline(project).spans
    assert steps(spans) == sorted([*chain("a", "b", targets=["sm_90"]), *cuts("sm_90")])
    assert {span.outcome for span in spans} == {CACHED}


def test_dry_run_keeps_nothing(project):
    project.run("-n")
    assert not (project.folder / "build").exists()
