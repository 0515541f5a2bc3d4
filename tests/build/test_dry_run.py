"""A dry run without nodes shows the steps that SCons finds with all nodes, and leaves to SCons what the records do not tell."""

import os
import shutil
from pathlib import Path

import pytest

from tests.build.test_build_session import CUT, SCONSTRUCT, Project, chain, cuts, steps_of

COUNT = """
import atexit
from tileiras_build.build import scons_entry
atexit.register(lambda: print("nodes:", len(scons_entry.current_session.artifacts)))
"""
EXPORT = "CASES = [Case('c', None, ()), Case('d', None, ())]\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Project:
    project = Project(tmp_path_factory.mktemp("original"))
    project.write("SConstruct", SCONSTRUCT + COUNT)
    project.write("c.py", EXPORT)
    assert project.run().returncode == 0
    return project


@pytest.fixture
def built(original, tmp_path) -> Project:
    """A copy that SCons has looked at, so that its records have the times of its files."""
    shutil.copytree(original.folder, tmp_path, dirs_exist_ok=True)
    project = Project.__new__(Project)
    project.folder = tmp_path
    assert "is up to date" in project.run().stdout
    return project


def decided_by_records(done) -> bool:
    """Whether only nodes of exports and of parts of libdevice were made."""
    assert done.returncode == 0, done.stderr
    return int(done.stdout.rpartition("nodes: ")[2].split()[0]) < 10


def shown(project: Project, *options: str, sm: str = "90") -> list[str] | None:
    """The steps of a dry run, which SCons finds as well; None if only SCons can tell."""
    done, by_scons = project.run("-n", *options, sm=sm), project.run("-n", "-i", *options, sm=sm)
    assert not decided_by_records(by_scons)
    assert steps_of(done) == steps_of(by_scons)
    return steps_of(done) if decided_by_records(done) else None


def edit(project: Project, name: str, text: str) -> None:
    (project.folder / name).write_text(text)


# What is changed, the options, and the steps that a dry run shows; None: SCons decides.
CHANGES = {
    "nothing": (lambda project: None, (), []),
    "an option": (lambda project: None, ("opt=2",), chain("a", "b", "c", "d")),
    "a source": (
        lambda project: edit(project, "a.tilebc", "kernel a\nedited\n"),
        (),
        chain("a", stages=["tileaa"]),
    ),
    "a tool": (lambda project: edit(project, "ptxas", "ptxas 2"), (), chain("a", "b", "c", "d", stages=["cubin"])),
    "libdevice": (lambda project: edit(project, "libdevice.bc", "libdevice 2"), (), cuts()),
    "a missing manifest": (
        lambda project: (project.folder / "build/sm_90/a.json").unlink(),
        (),
        chain("a", stages=["cubin"], targets=["sm_90"]),
    ),
    "a missing artifact between others": (
        lambda project: (project.folder / "build/sm_90/b.tileas").unlink(),
        (),
        chain("b", stages=["tileas", "ll"], targets=["sm_90"]),
    ),
    "a missing part of libdevice": (
        lambda project: next((project.folder / "build/sm_90").glob(f"*.{CUT}")).unlink(),
        (),
        [*chain("b", stages=["ptx"], targets=["sm_90"]), *cuts("sm_90")],
    ),
    "an artifact of another": (lambda project: edit(project, "build/sm_90/a.ll", "ll of somebody"), (), None),
    "a file that is exported": (lambda project: edit(project, "c.py", EXPORT + "# edited\n"), (), None),
    "another target than libraries": (
        lambda project: edit(project, "SConstruct", SCONSTRUCT + COUNT + 'Default(File("notes.txt"))\n'),
        (),
        None,
    ),
    "a dependency of an artifact": (
        lambda project: edit(
            project, "SConstruct", SCONSTRUCT + COUNT + 'env.Depends(File("build/sm_90/a.ll"), "ptxas")\n'
        ),
        (),
        None,
    ),
    "explanations": (lambda project: None, ("explain=1",), None),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_dry_run_shows_the_steps_that_scons_finds(built, what):
    change, options, steps = CHANGES[what]
    edit(built, "notes.txt", "notes")
    change(built)
    assert shown(built, *options) == (None if steps is None else sorted(steps))


def test_a_new_target_is_all_steps_of_it(built):
    steps = shown(built, sm="90,120")
    assert steps == chain("a", "b", "c", "d", targets=["sm_120"])


def test_without_records_the_export_is_left_to_scons(original, tmp_path):
    shutil.copytree(original.folder, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", ".scons*"))
    project = Project.__new__(Project)
    project.folder = tmp_path
    assert shown(project) is None
    (tmp_path / "c.py").unlink()
    assert shown(project) == chain("a", "b")


def test_the_default_package_is_left_to_scons(built):
    script = SCONSTRUCT.replace("Default(", "library = ").removesuffix(")\n")
    edit(built, "SConstruct", f'{script}\npackage = env.KernelPackage("p", library)\nDefault(package)\n{COUNT}')
    done = built.run("-n")
    assert not decided_by_records(done) and any(step.startswith("package") for step in done.stdout.splitlines())


def test_a_package_beside_the_library_is_no_obstacle(built):
    script = SCONSTRUCT.replace("Default(", "library = ").removesuffix(")\n")
    edit(built, "SConstruct", f'{script}\nenv.KernelPackage("p", library)\nDefault(library)\n{COUNT}')
    assert shown(built) == []


def test_an_invalid_option_is_reported_as_ever(built):
    script = SCONSTRUCT.replace("key=str)))", 'key=str), kernels={"zzz": {"opt": 2}}))')
    edit(built, "SConstruct", script)
    done, by_scons = built.run("-n"), built.run("-n", "-i")
    assert (done.returncode, done.stderr) == (by_scons.returncode, by_scons.stderr) and "zzz" in done.stderr


def test_nothing_is_written(built):
    before = {path: os.stat(path).st_ctime_ns for path in Path(built.folder).rglob("*") if path.is_file()}
    built.run("-n", "opt=2")
    after = {path: os.stat(path).st_ctime_ns for path in Path(built.folder).rglob("*") if path.is_file()}
    assert before == after
