"""``tileiras-build watch``: relevant changes, failures, and a session from the first build to Ctrl-C."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.build.test_build_session import SCONSTRUCT as FAKE_SCONSTRUCT
from tests.build.test_build_session import Project
from tests.examples.example_library import bytecode_of
from tileiras_build.build.watch import watch_session
from tileiras_build.build.watch.report_files_to_watcher import VARIABLE
from tileiras_build.build.watch.watch_session import WatchSession
from tileiras_build.cli.dispatch import main
from tileiras_build.reports.build_diff import KernelMetrics

ROOT = Path(__file__).resolve().parents[3]
SCONSTRUCT = """
from tileiras_build import scons_tool
env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=["tileiras"])
Default(env.KernelLibrary("kernels", Glob("*.tilebc")))
"""


@pytest.mark.parametrize("place", ["project", ".venv/project", "node_modules/x/.hidden/project"])
@pytest.mark.parametrize(
    ("path", "concerned"),
    [
        ("kernels/a.py", True),
        ("kernels/helper.hpp", True),
        ("SConstruct", True),
        ("build/sm_90/a.cubin", False),
        (".sconsign.dblite", False),
        (".git/index", False),
        ("kernels/__pycache__/a.cpython-311.pyc", False),
        ("kernels/a.py~", False),
        ("build_helpers.py", True),
        ("buildings/a.py", True),
        (".data/rows", True),
        (".data/other", False),
        ("node_modules/a.py", False),
        ("node_modules/read.py", True),
        ("/elsewhere/helper.py", True),
        ("/elsewhere/other.py", False),
    ],
)
def test_what_concerns_a_build(tmp_path, place, path, concerned):
    """Whatever the folders are called that the project lies in; what a kernel has read concerns it wherever it lies."""
    from watchfiles import Change

    root = tmp_path / place
    read = {Path("/elsewhere/helper.py"), root / ".data/rows", root / "node_modules/read.py"}
    concerns = WatchSession(root, [], None).is_relevant(read)
    assert concerns(Change.modified, str(root / path)) == concerned


def test_the_build_tells_where_it_builds_and_from_what(tmp_path, monkeypatch):
    """Its script may name another folder, and a kernel that was deleted leaves its files there."""
    (tmp_path / "node_modules").mkdir()
    project = Project(tmp_path / "node_modules")
    helpers = "import build_helpers\n"
    project.write("build_helpers.py", "")
    project.write("SConstruct", helpers + FAKE_SCONSTRUCT.replace("variables=", 'build_dir="out", variables='))
    watched = WatchSession(project.folder, [], None)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "told"))

    def build(*words):
        done = project.run(*words, sm="90")
        watched._receive_message()
        return done.stdout, sorted(path.name for path in watched.measures.cubins), watched.read_files()

    _, cubins, read = build()
    assert cubins == ["a.cubin", "b.cubin"] and watched.message.folders == {str(project.folder / "out")}
    assert {project.folder / name for name in ("a.tilebc", "b.tilebc", "build_helpers.py", "SConstruct")} <= read
    assert not any(path.is_relative_to(project.folder / "out") for path in read)
    (tmp_path / "told").unlink()
    said, cubins, again = build()
    assert "is up to date" in said and cubins == ["a.cubin", "b.cubin"] and again == read
    (project.folder / "a.tilebc").unlink()
    _, cubins, _ = build()
    assert cubins == ["b.cubin"] and (project.folder / "out/sm_90/a.cubin").exists()


def test_the_build_folder_is_the_one_of_the_build(tmp_path):
    assert WatchSession(tmp_path, ["sm=90"], None).folder == tmp_path / "build"
    (tmp_path / "pyproject.toml").write_text('[tool.tileiras]\nbuild_dir = "made"\n')
    assert WatchSession(tmp_path, [], None).folder == tmp_path / "made"
    assert WatchSession(tmp_path, ["build_dir=other"], None).folder == tmp_path / "other"


def test_a_failure_is_shown_with_its_line_and_what_was_good_is_kept(tmp_path, monkeypatch, capsys):
    (tmp_path / "k.py").write_text("import x\nwrong\n")
    watched, key = WatchSession(tmp_path, [], None), ("k", "sm_90")
    answers = iter([(0, ""), (2, "scons: *** [k.tilebc] k.py:2:1: error[export]: no wrong"), (0, ""), (0, "")])
    states = iter([{key: KernelMetrics(registers, 0, 0, 0, 1, None)} for registers in (10, 12, 12)])
    monkeypatch.setattr(watch_session, "run_scons", lambda root, words: next(answers))
    monkeypatch.setattr(watched.measures, "read", lambda: next(states))
    said = []
    for _ in range(4):
        watched.build({str(tmp_path / "k.py")})
        said.append(capsys.readouterr().out)
    assert "build succeeded" in said[0] and all("  k.py\n" in text for text in said)
    assert "k.py:2:1: error[export]: no wrong\n\n     2 | wrong\n" in said[1] and "build failed" in said[1]
    assert "10 -> 12" in said[2] and "1 changed, 0 new, 0 removed, 0 unchanged" in said[2]
    assert "0 changed, 0 new, 0 removed, 1 unchanged" in said[3] and "10 -> 12" not in said[3]


def test_where_there_is_no_project(tmp_path, capsys):
    assert main(["watch", "-C", str(tmp_path)]) == 1
    assert "error[watch-project]: no SConstruct here; use -C FOLDER" in capsys.readouterr().err


def test_a_session(tmp_path):
    (tmp_path / "SConstruct").write_text(SCONSTRUCT)
    (tmp_path / "k.tilebc").write_bytes(bytecode_of("vector_add_f32"))
    command = [sys.executable, "-m", "tileiras_build", "watch", "sm=sm_80"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as watched:
        ender = threading.Timer(300, watched.kill)
        ender.start()

        def said() -> str:
            lines = []
            while (line := watched.stdout.readline()) and not line.startswith("watching for changes"):
                lines.append(line)
            return "".join(lines)

        try:
            assert "build succeeded" in said()
            (tmp_path / "new.tilebc").write_bytes(b"damaged")
            os.replace(tmp_path / "new.tilebc", tmp_path / "k.tilebc")
            assert "k.tilebc: " in (failure := said()) and "build failed: fix it and save" in failure
            (tmp_path / "k.tilebc").write_bytes(bytecode_of("softmax_f32"))
            assert (
                "softmax_f32" in (good := said())
                and ": 0 changed, 1 new, 1 removed, 0 unchanged" in good
                and "-> removed" in good
            )
            watched.send_signal(signal.SIGINT)
            assert watched.wait() == 0 and "stopped" in watched.stdout.read()
        finally:
            ender.cancel()
            watched.kill()
    shutil.rmtree(tmp_path / "build")
