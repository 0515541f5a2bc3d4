"""tests/forked_scons.py: a build script in a fork sees the same as in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked_scons

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import json, os, signal, sys, time
import SCons.Script
sys.stderr.write("an error\\n")
print(json.dumps({
    "path": sys.path, "argv": sys.argv, "main": sys.modules["__main__"].__file__, "flags": list(sys.flags),
    "folder": os.getcwd(), "environment": dict(os.environ), "terminal": [sys.stdin.isatty(), sys.stdout.isatty()],
    "signals": [str(signal.getsignal(number)).partition(" at ")[0] for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
    "young": abs(time.time() - SCons.Script.start_time) < 60, "jobs": GetOption("num_jobs"),
    "ours": sorted(name for name in sys.modules if name.partition(".")[0] in ("tests", "tileiras_build")),
    "open": sorted(os.readlink(f"/proc/self/fd/{number}").partition(":")[0] for number in (0, 1, 2)),
    "files": len(os.listdir("/proc/self/fd")),
}))
Exit(int(ARGUMENTS["status"]))
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "SConstruct").write_text(SCRIPT)
    return tmp_path


@pytest.mark.parametrize("path", [None, os.pathsep.join(["first", "", "/usr", "first"])])
def test_a_script_sees_the_same(project, path):
    words = ["-Q", "-j3", "status=3"]
    environment = os.environ | {"WORD": "1"} | ({"PYTHONPATH": path} if path else {})
    command = [sys.executable, "-m", "SCons", *words]
    alone = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    forked = forked_scons.run(words, project, environment, 100)
    assert forked.returncode == alone.returncode == 3, forked.stderr + alone.stderr
    assert forked.stderr == alone.stderr == "an error\n"
    found = json.loads(forked.stdout)
    found["files"] -= len(forked_scons.STARTED)  # each spare is asked through one
    assert found == json.loads(alone.stdout)


TRACED = """
import json, sys
{before}
from tileiras_build import scons_tool
from tileiras_build.build.scons_entry import TRACE
print(json.dumps([TRACE.untraceable, sorted(TRACE.scripts), TRACE.has_started, "tileiras_build.build" in sys.modules]))
Exit(0)
"""


@pytest.mark.parametrize("before", ["", "import json as other", "open('SConstruct').read()"])
def test_a_script_is_traced_from_its_import_of_the_tool_on(project, before):
    (project / "SConstruct").write_text(TRACED.format(before=before))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "SCons", "-Q"]
    alone = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    forked = forked_scons.run(["-Q"], project, environment, 100)
    assert json.loads(forked.stdout) == json.loads(alone.stdout), forked.stderr + alone.stderr


def test_what_python_reads_when_it_starts_makes_a_process_of_its_own(project):
    done = forked_scons.run(["-Q", "status=0"], project, os.environ | {"PYTHONOPTIMIZE": "1"}, 100)
    assert json.loads(done.stdout)["flags"][3] == 1, done.stderr


def test_what_takes_too_long_is_killed(project):
    (project / "SConstruct").write_text("import time; time.sleep(1000)")
    with pytest.raises(subprocess.TimeoutExpired):
        forked_scons.run(["-Q"], project, dict(os.environ), 1)


def test_a_run_that_is_killed_has_a_signal_for_its_status(project):
    (project / "SConstruct").write_text("import os; os.kill(os.getpid(), 9)")
    assert forked_scons.run(["-Q"], project, dict(os.environ), 100).returncode == -9


def test_runs_add_up(project):
    before = forked_scons.processor_seconds()
    forked_scons.run(["-Q", "status=0"], project, dict(os.environ), 100)
    assert forked_scons.processor_seconds() > before
