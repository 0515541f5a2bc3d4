"""What counts as current: the recorded inputs, and also the artifact's own file. All by real SCons runs."""

import os
import shutil
from pathlib import Path

import pytest

from tests.build.test_build_session import CHAIN, SCONSTRUCT, Project, chain

TARGETS = ["sm_90"]


@pytest.fixture
def built(tmp_path):
    project = Project(tmp_path)
    done = project.run(sm="90")
    assert done.returncode == 0, done.stderr
    return project


def replace_contents(path, old: str, new: str) -> None:
    """A same-size edit in place whose modification time is set back."""
    before = path.stat()
    text = path.read_text().replace(old, new)
    assert len(text) == before.st_size
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


# Of each kernel every other artifact: none of them is made of another that is spoiled, so that each is noticed by itself.
SPOILED = {"a": ["tileaa", "ll", "cubin"], "b": ["tileas", "ptx", "json"]}


@pytest.mark.parametrize(
    "spoil", [lambda path: replace_contents(path, "kernel", "cornel"), Path.unlink], ids=["changed", "deleted"]
)
def test_artifact_that_was_spoiled_is_built_again(built, spoil):
    paths = [built.folder / f"build/sm_90/{kernel}.{suffix}" for kernel, inside in SPOILED.items() for suffix in inside]
    right = [path.read_bytes() for path in paths]
    for path in paths:
        spoil(path)
    assert built.steps(sm="90") == sorted(
        [
            *chain("a", stages=SPOILED["a"], targets=TARGETS),
            *chain("b", stages=["tileas", "ptx", "cubin"], targets=TARGETS),
        ]
    )
    assert [path.read_bytes() for path in paths] == right
    assert built.steps(sm="90") == []


def test_artifact_with_another_time_and_the_same_contents_is_current(built):
    for path in (built.folder / "build/sm_90").iterdir():
        os.utime(path, (1, 1))
    assert built.steps(sm="90") == []
    assert built.steps(sm="90") == []


def test_artifacts_of_an_unrecorded_build_are_not_taken_for_current(built):
    """A build that was killed before SCons wrote its records leaves newer artifacts beside older records."""
    records = built.folder / ".sconsign.dblite"
    first = {path.name: path.read_bytes() for path in (built.folder / "build/sm_90").iterdir()}
    shutil.copy(records, built.folder / "saved")
    source = (built.folder / "a.tilebc").read_text()
    built.write("a.tilebc", "kernel x\n")
    assert built.run(sm="90").returncode == 0
    (built.folder / "saved").rename(records)
    built.write("a.tilebc", source)
    assert built.steps(sm="90")
    assert {path.name: path.read_bytes() for path in (built.folder / "build/sm_90").iterdir()} == first


@pytest.mark.parametrize("days", [0, 30])
def test_swapped_tool_of_the_same_size_and_time_is_seen(built, days):
    tool = built.folder / "ptxas"
    time = tool.stat().st_mtime - 86400 * days
    os.utime(tool, (time, time))
    assert built.steps(sm="90") == []
    replace_contents(tool, "1", "2")
    assert built.steps(sm="90") == chain("a", "b", stages=["cubin"], targets=TARGETS)


def test_source_edited_to_the_same_size_and_time_is_seen(built):
    replace_contents(built.folder / "a.tilebc", "a\n", "z\n")
    assert built.steps(sm="90") == chain("a", targets=TARGETS)


def test_named_artifact_is_reported_to_be_up_to_date(built):
    done = built.run("build/sm_90/a.ptx", sm="90")
    assert "`build/sm_90/a.ptx' is up to date." in done.stdout
    built.write("a.tilebc", "kernel a\nedited\n")
    assert built.steps("build/sm_90/a.ptx", sm="90") == chain("a", stages=CHAIN[:4], targets=TARGETS)


def test_folder_of_artifacts_can_be_named(built):
    built.write("a.tilebc", "kernel a\nedited\n")
    assert built.steps("build", sm="90") == chain("a", targets=TARGETS)
    assert "`build' is up to date." in built.run("build", sm="90").stdout


def extend(project, lines: str) -> None:
    project.write("SConstruct", SCONSTRUCT + lines)


def test_action_that_the_build_script_adds_is_part_of_the_step(built):
    extend(built, "AddPostAction('build/sm_90/a.ll', Copy('copy.ll', '$TARGET'))\n")
    assert "ll sm_90 a" in built.steps(sm="90")
    assert (built.folder / "copy.ll").exists()
    assert built.steps(sm="90") == []


def test_dependency_that_the_build_script_adds_counts(built):
    built.write("notes", "1")
    extend(built, "Depends('build/sm_90/a.ll', 'notes')\n")
    assert built.steps(sm="90") == chain("a", stages=["ll"], targets=TARGETS)
    assert built.steps(sm="90") == []
    built.write("notes", "2")
    assert built.steps(sm="90") == chain("a", stages=["ll"], targets=TARGETS)


def test_dependency_that_is_itself_built_counts(built):
    built.write("notes.in", "1")
    extend(built, "Depends('build/sm_90/a.ll', env.Command('notes', 'notes.in', Copy('$TARGET', '$SOURCE')))\n")
    assert built.steps(sm="90") == chain("a", stages=["ll"], targets=TARGETS)
    built.write("notes.in", "2")
    assert built.steps(sm="90") == chain("a", stages=["ll"], targets=TARGETS)
    assert built.steps(sm="90") == []


def test_step_that_always_runs_does(built):
    extend(built, "AlwaysBuild('build/sm_90/a.ll')\n")
    for _ in range(2):
        assert built.steps(sm="90") == chain("a", stages=["ll"], targets=TARGETS)


def test_other_files_made_from_artifacts_follow_them(built):
    extend(built, "Default(env.Command('copy', 'build/sm_90/a.ptx', Copy('$TARGET', '$SOURCE')))\n")
    assert built.run(sm="90").returncode == 0
    first = (built.folder / "copy").read_text()
    built.write("a.tilebc", "kernel a\nedited\n")
    built.steps(sm="90")
    assert (built.folder / "copy").read_text() == first.replace("kernel a\n", "kernel a\nedited\n")


def test_file_named_before_the_library_is_its_artifact(built):
    text = SCONSTRUCT.replace("Default(", "File('build/sm_90/a.ll'), env.Entry('build/sm_90/a.ptx')\nDefault(")
    built.write("SConstruct", text)
    assert built.steps(sm="90") == []
    built.write("a.tilebc", "kernel a\nedited\n")
    assert built.steps(sm="90") == chain("a", targets=TARGETS)


def test_cleaning_removes_every_artifact(built):
    assert built.run("-c", sm="90").returncode == 0
    assert [path for path in (built.folder / "build/sm_90").rglob("*.*")] == []
