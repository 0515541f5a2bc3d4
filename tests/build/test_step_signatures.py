"""Change by stage by rebuilt: each change rebuilds exactly what it can affect, and explains why in one line."""

import os
import shutil
from pathlib import Path

import pytest

from tests.build.test_build_session import CHAIN, CUT, ROOT, SCONSTRUCT, Project, steps_of
from tests.compiled_once import once, shared_folder

# The stages of kernel p (of k.py, with libdevice, of which it gets what is cut) and of kernel q (beside it) that each change builds again.
# A stage that runs and comes out the same ends the chain: that is why a comment in k.py stops where it does.
CHANGES = {
    "p's body": (["tilebc", *CHAIN], ["tilebc"]),
    "a comment in k.py": (["tilebc"], ["tilebc"]),
    "a module that k.py imports": (["tilebc"], ["tilebc"]),
    "opt=2": (CHAIN, CHAIN),
    "lineinfo=yes": (CHAIN, CHAIN),
    "ptxas": (["cubin"], ["cubin"]),
    "libdevice": (["cut", "ptx"], []),
    "a comment in libdevice": (["cut"], []),
    "the passes of .tileaa": (["tileaa"], ["tileaa"]),
    "the passes of .ll": (["ll"], ["ll"]),
    "the making of closures of libdevice": (["cut", "ptx"], ["ptx"]),
    "the driver": (["cut", *CHAIN], CHAIN),
    "the manifest's rules": (["cubin"], ["cubin"]),
    "the tables of targets": (["cut", *CHAIN], CHAIN),
    "a version of LLVM": (["cut", "ptx"], ["ptx"]),
    "nothing, ptxas touched": ([], []),
}
SOURCE = """{comment}
import shared
CASES = [Case("p", None, ()), Case("q", None, ())]
BODY_p = "{body}"
BODY_q = 1
"""
# The fake stages with the code of the real ones: a copy of the package stands in for it, where a test edits it.
TOOL = """
from dataclasses import replace
from pathlib import Path
from tileiras_build import scons_tool
from tileiras_build.pipeline import stages
from tileiras_build.build import stage_actions
from tests import fake_stages

package = Path("package").resolve()
stage_actions.source_digest = lambda stage: stages.source_digest(stage, package)
version = Path("llvm").read_text()
stages.library_version = lambda name: version if name == "llvmlite" else "1"
real = {stage.suffix: stage for stage in (*stages.STAGES, stages.LIBDEVICE)}
def files(stage):
    return tuple(str(path.relative_to(stages.PACKAGE)) for path in stages.source_files(stage))

def coded(fake):
    inputs = tuple(replace(file, extract=file.extract and coded(file.extract)) for file in fake.inputs)
    return replace(fake, inputs=inputs, sources=files(real[fake.suffix]), libraries=real[fake.suffix].libraries)

fakes = fake_stages.TABLE
table = tuple(map(coded, fakes))
"""


@pytest.fixture(scope="module")
def first():
    """The folder of a project that is built once; tests copy it."""
    return once(("signatures",), _first)


def _first() -> Path:
    project = Project(shared_folder())
    for name in ("a.tilebc", "b.tilebc"):
        (project.folder / name).unlink()
    text = SCONSTRUCT.replace("from tests import fake_stages\nfrom tileiras_build import scons_tool\n", TOOL)
    text = text.replace("fake_stages.TABLE)", "table)").replace('Glob("*.tilebc") + Glob("*.py")', 'Glob("k.py")')
    project.write("SConstruct", text)
    project.write("k.py", SOURCE.format(comment="# one", body="ptx: libdevice"))
    project.write("shared.py", "VALUE = 1\n")
    project.write("llvm", "22.1")
    shutil.copytree(ROOT / "tileiras_build", project.folder / "package", ignore=shutil.ignore_patterns("__pycache__"))
    done = project.run(sm="90")
    assert done.returncode == 0, done.stderr
    return project.folder


def copied(first: Path, folder: Path) -> Project:
    """A copy of the project; the files of its package are links, which ``append`` replaces."""

    def copy(source: str, target: str) -> None:
        (os.link if Path(source).is_relative_to(first / "package") else shutil.copy2)(source, target)

    shutil.copytree(first, folder, dirs_exist_ok=True, symlinks=True, copy_function=copy)
    project = Project.__new__(Project)
    project.folder = folder
    return project


def append(path, text: str) -> None:
    before = path.read_text()
    path.unlink()
    path.write_text(before + text)


def change(project, what: str) -> list[str]:
    """Make the change; returns the options for the build."""
    folder = project.folder
    edits = {
        "p's body": lambda: project.write("k.py", SOURCE.format(comment="# one", body="ptx: libdevice ")),
        "a comment in k.py": lambda: project.write("k.py", SOURCE.format(comment="# two", body="ptx: libdevice")),
        "a module that k.py imports": lambda: project.write("shared.py", "VALUE = 2\n"),
        "ptxas": lambda: project.write("ptxas", "ptxas 2"),
        "libdevice": lambda: project.write("libdevice.bc", "libdevice 2"),
        "a comment in libdevice": lambda: project.write("libdevice.bc", "# new\nlibdevice 1"),
        "the passes of .tileaa": lambda: append(folder / "package/pipeline/tilebc_to_tileaa/__init__.py", "# edited\n"),
        "the passes of .ll": lambda: append(folder / "package/pipeline/tileas_to_ll/__init__.py", "# edited\n"),
        "the making of closures of libdevice": lambda: append(
            folder / "package/libdevice/extract_subset.py", "# edited\n"
        ),
        "the driver": lambda: append(folder / "package/driver.py", "# edited\n"),
        "the manifest's rules": lambda: append(folder / "package/pipeline/launch_manifest_json.py", "# edited\n"),
        "the tables of targets": lambda: append(folder / "package/target/targets.py", "# edited\n"),
        "a version of LLVM": lambda: project.write("llvm", "22.2"),
        "nothing, ptxas touched": lambda: (folder / "ptxas").touch(),
    }
    edits.get(what, lambda: None)()
    return [what] if "=" in what else []


@pytest.mark.parametrize("what", CHANGES)
def test_change_rebuilds_what_it_can_affect(first, tmp_path, what):
    project = copied(first, tmp_path)
    done = project.run(*change(project, what), sm="90")
    assert done.returncode == 0, done.stderr
    steps = steps_of(done)
    exported = "tilebc 2 of k.py" in steps
    for kernel, expected in zip("pq", CHANGES[what], strict=True):
        rebuilt = {stage for stage in CHAIN if f"{stage} sm_90 {kernel}" in steps}
        # Only p asks for libdevice.
        rebuilt |= {"cut"} if kernel == "p" and f"{CUT} sm_90 f" in steps else set()
        assert rebuilt | ({"tilebc"} if exported else set()) == set(expected)


WHY = {
    "p's body": {
        "tilebc": "k.py changed",
        "tileaa": "build/tilebc/p.tilebc changed",
        "cubin": "build/sm_90/p.ptx changed",
    },
    "opt=2": {
        "tileaa": "opt_level changed from 3 to 2",
        "cubin": "opt_level changed from 3 to 2, build/sm_90/p.ptx changed",
    },
    "ptxas": {"cubin": "ptxas changed"},
    "the passes of .ll": {"ll": "compiler code of stage ll changed"},
}


@pytest.mark.parametrize("what", WHY)
def test_explain_says_why(first, tmp_path, what):
    project = copied(first, tmp_path)
    done = project.run("explain=1", *change(project, what), sm="90")
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines() if line.startswith("[")]
    said = {line.split()[0]: line.partition(": ")[2] for line in lines if " p:" in line or "k.py:" in line}
    for stage, reason in WHY[what].items():
        assert said[stage].replace(f"{project.folder}/", "") == reason


def test_explain_says_why_it_cuts_and_links(first, tmp_path):
    project = copied(first, tmp_path)
    said = project.run("explain=1", *change(project, "libdevice"), sm="90").stdout
    assert f"{CUT} sm_90   f: libdevice.bc changed" in said
    (cut,) = (path.name for path in tmp_path.glob(f"build/sm_90/*.{CUT}"))
    assert f"ptx     sm_90   p: build/sm_90/{cut} changed" in said


def test_explain_names_what_is_missing_or_changed(first, tmp_path):
    project = copied(first, tmp_path)
    (tmp_path / "build/sm_90/p.ll").unlink()
    (tmp_path / "build/sm_90/q.ll").write_text("damaged")
    done = project.run("explain=1", sm="90")
    assert "ll      sm_90   p: output missing" in done.stdout
    assert "ll      sm_90   q: output modified" in done.stdout
    shutil.rmtree(tmp_path / "build")
    (tmp_path / ".sconsign.dblite").unlink()
    assert "cubin   sm_90   q: not built before" in project.run("explain=1", sm="90").stdout
