"""Null builds report "up to date" without a graph, and any relevant change causes a full check."""

import os
import shutil
from pathlib import Path

import pytest

from tests.build.test_artifact_node import replace_contents
from tests.build.test_build_session import CUT, ROOT, SCONSTRUCT, Project, chain, cuts, steps_of

IMPORTS = "from tests import fake_stages\nfrom tileiras_build import scons_tool\n"
WATCHED = SCONSTRUCT.replace(IMPORTS, "".join(reversed(IMPORTS.splitlines(keepends=True))))
ON_90 = {"targets": ["sm_90"]}


@pytest.fixture
def built(tmp_path):
    project = Project(tmp_path)
    project.write("SConstruct", WATCHED)
    assert project.run(sm="90").returncode == 0
    return project


def is_short(done) -> bool:
    assert done.returncode == 0, done.stderr
    return "done reading SConscript files" not in done.stdout


def change(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def test_second_run_reads_no_further_than_the_tool(built):
    done = built.run(sm="90")
    assert is_short(done)
    assert "scons: `kernels' is up to date." in done.stdout
    assert is_short(built.run("-j3", "-k", sm="90"))
    assert built.run("-Q", "-s", sm="90").stdout == ""


def test_variant_directory_without_copies_is_watched_where_its_files_lie(tmp_path):
    project = Project(tmp_path)
    call = 'SConscript("kernels/SConscript", variant_dir="out", duplicate=0, exports="env")\n'
    project.write("SConstruct", WATCHED.partition("Default(")[0] + call)
    script = tmp_path / "kernels/SConscript"
    script.parent.mkdir()
    script.write_text('Import("env")\nDefault(env.KernelLibrary("kernels", ["c.tilebc"]))\n')
    for name in "cd":
        project.write(f"kernels/{name}.tilebc", f"kernel {name}\n")
    assert project.steps(sm="90") == chain("c", **ON_90)
    assert is_short(project.run(sm="90"))
    project.write("kernels/c.tilebc", "kernel c, edited\n")
    assert project.steps(sm="90") == chain("c", **ON_90)
    assert is_short(project.run(sm="90"))
    project.write("out/c.tilebc", "kernel c, in its place\n")
    assert project.steps(sm="90") == chain("c", **ON_90)
    change(script, "c.tilebc", "d.tilebc")
    assert project.steps(sm="90") == chain("d", **ON_90)


def copy_back(path: Path) -> None:
    """The same bytes, size and modification time in another file."""
    shutil.copy2(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


# What is done to the project, and the steps that the next run makes; more changes: test_partial_scons_graph.py.
FOOLING = {
    "source touched back in time": (lambda folder: os.utime(folder / "a.tilebc", (1, 1)), []),
    "source replaced by itself": (lambda folder: copy_back(folder / "a.tilebc"), []),
    "libdevice of the same size and time": (
        lambda folder: replace_contents(folder / "libdevice.bc", "1", "2"),
        [*cuts("sm_90"), *chain("b", stages=["ptx"], **ON_90)],
    ),
    "what was cut from it, of the same size and time": (
        lambda folder: replace_contents(next(folder.glob(f"build/sm_90/*.{CUT}")), "cut", "cot"),
        cuts("sm_90"),
    ),
    "deleted build folder": (
        lambda folder: shutil.rmtree(folder / "build"),
        sorted(chain("a", "b", **ON_90) + cuts("sm_90")),
    ),
}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """A project of all these tests: what each of them changes is built, and the next run is short."""
    project = Project(tmp_path_factory.mktemp("lasting"))
    project.write("SConstruct", WATCHED)
    assert not is_short(project.run(sm="90")) and is_short(project.run(sm="90"))
    return project


@pytest.mark.parametrize("what", FOOLING)
def test_change_is_noticed(lasting, what):
    mutate, steps = FOOLING[what]
    mutate(lasting.folder)
    done = lasting.run(sm="90")
    assert not is_short(done)
    assert steps_of(done) == steps
    assert is_short(lasting.run(sm="90"))


def test_new_kernel_in_a_folder_that_is_listed(built):
    built.write("c.tilebc", "kernel c\n")
    done = built.run(sm="90")
    assert not is_short(done)
    assert steps_of(done) == chain("c", **ON_90)
    assert is_short(built.run(sm="90"))


def test_the_default_tools_are_no_doubt(built):
    """SCons looks for compilers where a build script does not say that it needs none."""
    change(built.folder / "SConstruct", "DefaultEnvironment(tools=[])\n", "")
    assert not is_short(built.run(sm="90"))
    assert is_short(built.run(sm="90"))


def test_each_command_line_and_environment_has_its_own_record(built):
    assert not is_short(built.run(sm="90,100"))
    assert is_short(built.run(sm="90")) and is_short(built.run(sm="90,100"))
    assert not is_short(built.run("opt=2", sm="90"))
    assert not is_short(built.run(sm="90", SOME_VARIABLE="1"))
    # Options that ask for something else than a build are SCons' own matter.
    assert "Removed build/sm_90/a.cubin" in built.run("-c", sm="90").stdout


@pytest.mark.parametrize("damage", [b"", b"nothing of the sort"])
def test_damaged_record_is_no_record(built, damage):
    (record,) = (built.folder / "build").glob(".build_record-*")
    record.write_bytes(record.read_bytes()[: -len(damage) or None][:-8] + damage)
    assert not is_short(built.run(sm="90"))


def test_files_that_the_build_script_reads_count(built):
    built.write("names", "a.tilebc b.tilebc")
    change(built.folder / "SConstruct", 'Glob("*.tilebc")', 'open("names").read().split()')
    assert built.steps(sm="90") == []
    assert is_short(built.run(sm="90"))
    built.write("names", "b.tilebc")
    assert not is_short(built.run(sm="90"))


UNWATCHED = {
    "it does more before the tool is imported": lambda text: 'names = open("names").read()\n' + text,
    "it imports what may do more": lambda text: "import project_module\n" + text,
    "it runs a program": lambda text: text + 'import subprocess; subprocess.run(["true"], check=True)\n',
    "it writes a file": lambda text: text + 'open("written", "w").write("1")\n',
    "a step always runs": lambda text: text + "AlwaysBuild('build/sm_90/a.ll')\n",
}


@pytest.mark.parametrize("why", UNWATCHED)
def test_build_script_that_cannot_be_watched_has_no_shortcut(built, why):
    built.write("names", "")
    (built.folder / "modules").mkdir()
    built.write("modules/project_module.py", "")
    built.write("SConstruct", UNWATCHED[why](WATCHED))
    for _ in range(2):
        assert not is_short(built.run(sm="90", PYTHONPATH=f"{ROOT}:{built.folder}/modules"))


def test_source_that_is_edited_during_the_build_is_built_again(built):
    """The edit comes after SCons has read the source: no record may say that it was built."""
    edit = "Command('edit', 'build/sm_90/a.cubin', Copy('a.tilebc', 'edited'))"
    built.write("edited", "kernel a\nedited\n")
    built.write("SConstruct", WATCHED + f"Default({edit})\n")
    assert built.run(sm="90").returncode == 0
    assert built.steps(sm="90")[-5:] == chain("a", **ON_90)[-5:]


def test_failed_build_is_not_recorded(built):
    built.write("a.tilebc", "kernel a\nll: fail\n")
    assert built.run(sm="90").returncode != 0
    assert built.run(sm="90").returncode != 0


def test_other_files_of_the_build_script_count(built):
    make = "env.Command('copy', 'notes', Copy('$TARGET', '$SOURCE'))"
    built.write("notes", "1")
    built.write(
        "SConstruct",
        WATCHED.replace("Default(", "env.Default(").replace("Glob(", "env.Glob(") + f"env.Default({make})\n",
    )
    assert built.run(sm="90").returncode == 0
    assert is_short(built.run(sm="90"))
    built.write("notes", "2")
    assert not is_short(built.run(sm="90"))
    assert (built.folder / "copy").read_text() == "2"
    (built.folder / "copy").unlink()
    assert not is_short(built.run(sm="90"))
    assert (built.folder / "copy").exists()


# -- workers that start beside the reading of the build scripts ------------------------------------------------------
STARTED = """
from tileiras_build.workers.executor import worker_pool
print("fork server:", worker_pool.forkserver._forkserver._forkserver_pid is not None)
"""


def starts_early(done) -> bool:
    assert done.returncode == 0, done.stderr
    assert "fork server: " in done.stdout
    return "fork server: True" in done.stdout


def forget_builds(folder: Path) -> None:
    for path in (folder / "build").glob(".build_record-*"):
        path.unlink()


@pytest.mark.parametrize(
    ("mutate", "options", "early"),
    [
        (lambda folder: (folder / "a.tilebc").write_text("kernel a\nedited\n"), [], True),
        (lambda folder: shutil.rmtree(folder / "build"), [], True),
        (forget_builds, [], False),  # all may be current
        (lambda folder: (folder / "a.tilebc").write_text("kernel a\nedited\n"), ["-n"], False),
        (lambda folder: (folder / "a.tilebc").write_text("kernel a\nedited\n"), ["-c"], False),
        (lambda folder: shutil.rmtree(folder / "build"), ["cache=shared"], False),  # it may have all of it
    ],
    ids=["edit", "no build", "no record", "dry run", "clean", "cache"],
)
def test_workers_start_beside_the_reading_where_there_is_work(tmp_path, mutate, options, early):
    project = Project(tmp_path)
    project.write("SConstruct", WATCHED + STARTED)
    assert starts_early(project.run(sm="90"))
    mutate(tmp_path)
    assert starts_early(project.run(*options, sm="90")) is early


def test_workers_see_what_the_build_script_changes_after_they_have_begun(tmp_path):
    """The environment and the folder are those of the build's steps, not those of the fork server's start."""
    project = Project(tmp_path)
    (tmp_path / "sub").mkdir()
    project.write("a.tilebc", "kernel a\ntileaa: surroundings\n")
    project.write("SConstruct", "from tileiras_build import scons_tool\nSConscript('sub/SConscript')\n")
    shutil.copy(tmp_path / "ptxas", tmp_path / "sub")
    shutil.copy(tmp_path / "libdevice.bc", tmp_path / "sub")
    late = "import os\nos.environ['NEW'] = 'new'\ndel os.environ['GONE']\n"
    project.write(
        "sub/SConscript",
        "ARGUMENTS.update(build_dir='#build')\n" + WATCHED.replace('Glob("', 'Glob("#/') + STARTED + late,
    )
    done = project.run(sm="90", GONE="there", NEW="old")
    assert starts_early(done)
    assert f"surroundings: new None {tmp_path}" in done.stderr
