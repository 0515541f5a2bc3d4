"""``scons ninja`` writes an edge for each stage of each kernel, with what ninja must know to build it again."""

import re
import shlex
from pathlib import Path

import pytest

from tests.build.test_build_session import SCONSTRUCT, Project
from tileiras_build.pipeline.stages import PACKAGE

STAGES = ("tileaa", "tileas", "ll", "ptx", "cubin")
EXPORTED = "from tileiras_build.frontend.export_cutile import Case\nCASES = [Case('k', None, ())]\n"


def edges(project: Project) -> dict[str, tuple[str, list[str], dict[str, str]]]:
    """By the first output: the statement's rule with its inputs, all outputs, and the variables."""
    found = {}
    for block in (project.folder / "build/build.ninja").read_text().split("\n\n"):
        if block.startswith("build "):
            head, *lines = block.split("\n")
            made, rule = head.removeprefix("build ").split(": ", 1)
            values = dict(line.strip().split(" = ", 1) for line in lines)
            found[made.split(" ")[0]] = (rule, made.split(" "), values)
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("ninja"))
    made.write("SConstruct", SCONSTRUCT.replace("fake_stages.TABLE", "fake_stages.PROGRAM_TABLE"))
    made.write("k.py", EXPORTED)
    assert made.run("ninja", sm="90").returncode == 0
    return made


def test_each_stage_of_each_kernel_is_an_edge(project):
    found = edges(project)
    for before, stage in zip(("", *STAGES), STAGES, strict=False):
        rule, made, values = found[f"build/sm_90/a.{stage}"]
        source = f"build/sm_90/a.{before}" if before else "a.tilebc"
        assert rule == f"lower {source} | tileiras_build"
        words = shlex.split(values["words"])
        assert words[:5] == ["tileiras-build", "lower", source, "--to", stage]
        assert words[-2:] == ["-MF", values["dependencies"]] and words[words.index("-o") + 1] == made[0]
    assert found["build/sm_90/a.cubin"][1] == ["build/sm_90/a.cubin", "build/sm_90/a.json"]
    assert not list(project.folder.glob("build/sm_90/*"))  # nothing is built


def test_a_python_file_is_exported_by_the_first_stage_which_lists_what_it_reads(project):
    rule, _, values = edges(project)["build/sm_90/k.tileaa"]
    assert rule == "lower k.py | tileiras_build" and "--kernel k -MF" in values["words"]
    assert not any(made.startswith("build/tilebc/") for made in edges(project))


def test_all_depends_on_the_code_and_the_file_on_the_build_scripts(project):
    found, text = edges(project), (project.folder / "build/build.ninja").read_text()
    assert f" {PACKAGE / 'build/ninja_file.py'}" in found["tileiras_build"][0]
    rule, _, values = found["build/build.ninja"]
    assert rule == "scons SConstruct" and "ninja" in shlex.split(values["words"])
    assert re.search(r"^default .*build/sm_90/a\.cubin", text, re.MULTILINE)


def test_names_are_escaped(tmp_path):
    project = Project(tmp_path)
    (tmp_path / "a.tilebc").rename(tmp_path / "a $b.tilebc")
    assert project.run("ninja", sm="90").returncode == 0
    text = (tmp_path / "build/build.ninja").read_text()
    assert "build build/sm_90/a$ $$b.tileaa: lower a$ $$b.tilebc | tileiras_build\n" in text
    words = re.search("words = (.*a .*--to tileaa.*)", text)
    assert "a $b.tilebc" in shlex.split(words[1].replace("$$", "$"))


def test_a_step_without_dependencies_is_an_error(tmp_path):
    project = Project(tmp_path)
    Path(tmp_path, "SConstruct").write_text(
        SCONSTRUCT.partition("Default(")[0]
        + "made = env.Command('c.tilebc', 'a.tilebc', Copy('$TARGET', '$SOURCE'))\n"
        + "Default(env.KernelLibrary('kernels', made))\n"
    )
    done = project.run("ninja", sm="90")
    assert done.returncode != 0 and "error[ninja-step]" in done.stdout + done.stderr
