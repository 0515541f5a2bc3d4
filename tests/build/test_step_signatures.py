"""Each change rebuilds exactly what it can affect, and explains why in one line.

Which files are the code of which stage: tests/pipeline/test_stages.py.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.build.test_build_session import CHAIN, CUT, SCONSTRUCT, Project, steps_of
from tests.compiled_once import once, shared_folder

SOURCE = """import shared
CASES = [Case("p", None, ()), Case("q", None, ())]
BODY_p = "{body}"
BODY_q = 1
"""
# A file stands for the code of each stage.
CODE = """
from pathlib import Path
from tileiras_build.build import stage_actions
stage_actions.source_digest = lambda stage: Path("code", stage.name).read_text()
"""


@dataclass(frozen=True)
class Change:
    """The stages of kernels p (of k.py, with libdevice, of which it gets what is cut) and q (beside it) that are built
    again, and the reasons for those of p."""

    p: list[str]
    q: list[str]
    why: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)


# A stage that runs and comes out the same ends the chain.
CHANGES = {
    "p's body": Change(
        ["tilebc", *CHAIN],
        ["tilebc"],
        {"tilebc": "k.py changed", "tileaa": "build/tilebc/p.tilebc changed", "cubin": "build/sm_90/p.ptx changed"},
        {"k.py": SOURCE.format(body="ptx: libdevice ")},
    ),
    "options": Change(
        CHAIN,
        CHAIN,
        {
            "tileaa": "lineinfo changed from False to True, opt_level changed from 3 to 2",
            "cubin": "lineinfo changed from False to True, opt_level changed from 3 to 2, build/sm_90/p.ptx changed",
        },
        options=["opt=2", "lineinfo=yes"],
    ),
    "ptxas and libdevice": Change(
        [CUT, "ptx", "cubin"],
        ["cubin"],
        {CUT: "libdevice.bc changed", "ptx": "build/sm_90/CUT changed", "cubin": "ptxas changed"},
        {"ptxas": "ptxas 2", "libdevice.bc": "libdevice 2"},
    ),
    "the code of two stages": Change(
        ["ll", CUT],
        ["ll"],
        {"ll": "compiler code of stage ll changed", CUT: f"compiler code of stage {CUT} changed"},
        {"code/ll": "2", f"code/{CUT}": "2"},
    ),
}


@pytest.fixture
def project(tmp_path) -> Project:
    """A copy of a project that is built once."""
    shutil.copytree(once(("signatures",), _first), tmp_path, dirs_exist_ok=True)
    project = Project.__new__(Project)
    project.folder = tmp_path
    return project


def _first() -> Path:
    project = Project(shared_folder())
    text = SCONSTRUCT.replace('Glob("*.tilebc") + Glob("*.py")', 'Glob("k.py")')
    project.write("SConstruct", text.replace("fake_stages.use", f"{CODE}fake_stages.use"))
    project.write("k.py", SOURCE.format(body="ptx: libdevice"))
    project.write("shared.py", "VALUE = 1\n")
    (project.folder / "code").mkdir()
    for stage in ("tilebc", *CHAIN, CUT):
        project.write(f"code/{stage}", "1")
    done = project.run(sm="90")
    assert done.returncode == 0, done.stderr
    return project.folder


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_rebuilds_what_it_can_affect_and_says_why(project, change):
    for name, text in change.files.items():
        project.write(name, text)
    done = project.run("explain=1", *change.options, sm="90")
    assert done.returncode == 0, done.stderr
    (cut,) = (path.name for path in project.folder.glob(f"build/sm_90/*.{CUT}"))
    said = {}
    for line in steps_of(done):
        step, _, reason = line.partition(": ")
        stage, *_, kernel = step.split()
        said[stage, kernel] = reason.replace(f"{project.folder}/", "").replace(cut, "CUT")
    # An export is that of both kernels; only p asks for libdevice.
    both = {"tilebc": "k.py", CUT: "f"}
    expected = {(stage, both.get(stage, name)) for name in "pq" for stage in getattr(change, name)}
    assert set(said) == expected
    assert {stage: said[stage, both.get(stage, "p")] for stage in change.why} == change.why


def test_explain_names_what_is_missing_or_changed(project):
    (project.folder / "build/sm_90/p.ll").unlink()
    project.write("build/sm_90/q.ll", "damaged")
    done = project.run("explain=1", sm="90")
    assert "ll      sm_90   p: output missing" in done.stdout
    assert "ll      sm_90   q: output modified" in done.stdout
    shutil.rmtree(project.folder / "build")
    (project.folder / ".sconsign.dblite").unlink()
    assert "cubin   sm_90   q: not built before" in project.run("explain=1", sm="90").stdout
