"""The command line of ``scons``: defaults and options of a project, unknown names, and the number of parallel steps."""

import os

import pytest

from tests import forked_scons
from tests.build.test_build_session import SCONSTRUCT, Project
from tileiras_build.core.cpu_count import cpu_count

# No options but those that the tool gives every environment; and one that the script reads itself.
PLAIN = (
    SCONSTRUCT.replace("variables=scons_tool.variables(ARGUMENTS), ", "")
    + 'print("size", ARGUMENTS.get("size"), "sm", env["sm"], "jobs", GetOption("num_jobs"))\n'
)
CORES = cpu_count()


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    made.write("SConstruct", PLAIN)
    made.write("pyproject.toml", '[tool.tileiras]\nsm = [90]\nptxas = "ptxas"\nlibdevice = "libdevice.bc"\n')
    return made


def said(done) -> set[str]:
    return {" ".join(line.split()) for line in done.stdout.splitlines()}


def test_defaults_come_from_the_projects_file(project):
    done = project.run("-Q", "size=3", sm=None)
    assert done.returncode == 0, done.stderr
    assert "size 3 sm 90 jobs 2" in done.stdout and (project.folder / "build/sm_90/a.cubin").is_file()
    # The command line goes before it; a change of the file is seen.
    assert "sm 100 " in project.run("-Q", "-n", "sm=100", sm=None).stdout
    assert "is up to date" in project.run("-Q", "size=3", sm=None).stdout
    project.write("pyproject.toml", (project.folder / "pyproject.toml").read_text().replace("90", "100"))
    assert (done := project.run("-Q", "size=3", sm=None)).returncode == 0
    assert (project.folder / "build/sm_100/a.cubin").is_file(), done.stdout


def test_help_says_where_values_come_from(project):
    project.write("SConstruct", PLAIN.replace("tools=[lambda", 'opt="1", tools=[lambda'))
    lines = said(project.run("-h", "lineinfo=yes", sm=None, SCONSFLAGS="-j1"))
    expected = {"sm 90 [pyproject.toml]", "opt 1 [SConstruct]", "lineinfo yes [command line]", "debug no [default]"}
    assert expected | {"-j N 2 [command line or SCONSFLAGS]"} <= lines


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["keep=v1"], "error[option-unknown]: unknown option keep=; keep was renamed to report_label"),
        (["ms=90"], "error[option-unknown]: unknown option ms=; did you mean sm? use one of sm, opt"),
        (
            ["verfy"],
            "error[target-unknown]: unknown target 'verfy'; did you mean verify? use one of ",
        ),
    ],
)
def test_what_nothing_is_called_is_refused(project, words, sentence):
    done = project.run(*words, sm=None)
    assert done.returncode == 1 and f"scons: *** {sentence}" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (project.folder / "build").exists()


def test_a_file_that_is_made_is_a_target(project):
    assert project.run("-Q", "build/sm_90/a.ptx", sm=None).returncode == 0
    assert (project.folder / "build/sm_90/a.ptx").is_file() and not (project.folder / "build/sm_90/a.cubin").exists()


@pytest.mark.parametrize(
    ("script", "words", "flags", "jobs"),
    [
        ("", [], "", CORES),
        ("", ["-j1"], "", 1),
        ("", [], "-j3", 3),
        ("SetOption('num_jobs', 5)\n", [], "", 5),
        ("SetOption('num_jobs', 1)\n", ["-j4"], "", 4),
    ],
)
def test_all_cores_unless_somebody_says_how_many(tmp_path, script, words, flags, jobs):
    text = 'print("jobs", GetOption("num_jobs"))\n'
    head = 'from tileiras_build import scons_tool\nEnvironment(tools=["tileiras"])\n'
    (tmp_path / "SConstruct").write_text(script + head + text)
    done = forked_scons.run(["-Q", "-n", *words], tmp_path, os.environ | {"SCONSFLAGS": flags}, 120)
    assert f"jobs {jobs}\n" in done.stdout, done.stdout + done.stderr
