"""After any change of an input, an incremental build, a clean build, and a clean build with the cache agree.

The rows of ``input_edits.py`` are the kernels of one project, so that every change is seen beside all others; what
is not a kernel's own is changed in a project of its own below.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.build.incremental.untraced_reads import UNUSUAL_WAYS
from tests.build.input_edits import WAYS as USUAL_WAYS
from tests.build.input_edits import Way, in_place, renamed, write
from tests.build.library_side_effects import LIBRARY_WAYS
from tests.build.test_build_session import ROOT, SCONSTRUCT, Project, chain, cuts, steps_of
from tests.build.test_caching_executor import artifacts
from tests.compiled_once import once, shared_folder
from tests.package_copy import copy_package

PROGRAMS = SCONSTRUCT.replace("fake_stages.TABLE", "fake_stages.PROGRAM_TABLE").replace(
    'sorted(Glob("*.tilebc") + Glob("*.py"), key=str)', 'sorted(Glob("*/k.py"), key=str)'
)
CASE = "from tileiras_build.frontend.export_cutile import Case\nCASES = [Case({name!r}, None, ())]\n"
WAYS = USUAL_WAYS | UNUSUAL_WAYS | LIBRARY_WAYS
UNKEPT = {
    "another program's output",
    "/proc/self/cwd",
    "getenv of C",
    "a process of its own",
    "a hard link that it makes",
    "a tree that it copies",
}
ROW = {name: f"w{number:03}" for number, name in enumerate([*WAYS, "nothing"])}


class Programs(Project):
    """A project with the first stage and the last one, with a folder and a kernel for each way, and one kernel that nothing changes."""

    def __init__(self, folder: Path, ways: dict[str, Way]):
        self.folder, self.ways = folder, ways
        self.write("SConstruct", PROGRAMS.replace("PROGRAM_TABLE", "SHORT_PROGRAM_TABLE"))
        self.write("ptxas", "ptxas 1")
        self.write("libdevice.bc", "libdevice 1")
        self.environment: dict[str, str] = {}
        for name, way in (ways | {"nothing": Way("VALUE = 1")}).items():
            self._add(ROW[name], way)

    def _add(self, row: str, way: Way) -> None:
        here = self.folder / row
        here.mkdir()
        program = CASE.format(name=row) + way.program + "\n"
        for path, text in way.files.items():
            (here / path).parent.mkdir(parents=True, exist_ok=True)
            (here / path).write_text(CASE.format(name=row) + text if path.endswith("k.py") else text)
        way.before(here)
        if way.kernel.startswith("link:"):
            (here / "k.py").symlink_to(way.kernel.removeprefix("link:"))
        else:
            (here / "k.py").write_text(program)
        self.set(here, way.environment)

    def set(self, here: Path, variables: dict[str, str]) -> None:
        for name, value in variables.items():
            value = value.replace("{here}", str(here))
            before = self.environment.get(name)
            self.environment[name] = f"{before}:{value}" if name == "PYTHONPATH" and before else value

    def build(self, *arguments: str):
        path = os.pathsep.join(filter(None, (self.environment.get("PYTHONPATH"), str(Path(__file__).parents[2]))))
        done = self.run(*arguments, sm="90", **self.environment | {"PYTHONPATH": path})
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def change(self) -> None:
        self.environment.pop("HOME", None)
        for name, way in self.ways.items():
            way.change(self.folder / ROW[name])
            self.set(self.folder / ROW[name], way.later)

    def clean(self, *arguments: str):
        shutil.rmtree(self.folder / "build")
        (self.folder / ".sconsign.dblite").unlink()
        return self.build(*arguments)


@pytest.fixture(scope="module")
def builds():
    """The artifacts before the changes, and those of the three builds after them."""
    return once(("ways to change",), _builds)


def _builds() -> dict:
    project, cache = Programs(shared_folder(), WAYS), f"cache={shared_folder()}"
    project.build(cache)
    made = {"before": artifacts(project)}
    made["unchanged"] = steps_of(project.build(cache))
    project.change()
    made["steps"] = steps_of(project.build(cache, "explain=1"))
    made["incremental"] = artifacts(project)
    project.clean(cache)
    made["cached"] = artifacts(project)
    project.clean()
    made["clean"] = artifacts(project)
    made["again"] = steps_of(project.build())
    return made


def of(made: dict[str, str], name: str) -> dict[str, str]:
    return {path: digest for path, digest in made.items() if Path(path).stem == ROW[name]}


def test_three_builds_agree_after_each_change(builds):
    for name in WAYS:
        made = of(builds["incremental"], name)
        assert (name, made) == (name, of(builds["clean"], name)) == (name, of(builds["cached"], name))
        assert (name, made) != (name, of(builds["before"], name)), "the change changes nothing"


def test_what_nothing_changes_is_not_built(builds):
    assert not [step for step in builds["steps"] if ROW["nothing"] in step.split(":")[0]]
    # Only what cannot be followed is exported again and again, and ends there.
    assert builds["unchanged"] == builds["again"] == ["tilebc 1 of k.py"] * len(UNKEPT)


# ---- what is not a kernel's own
@dataclass(frozen=True)
class Change:
    """A change of a project with ``SOURCES``, the options of the builds after it, and artifacts of which each must differ."""

    change: Callable[[Path], None] = lambda folder: None
    differ: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def _edit(name: str, old: str, new: str, how: Callable = in_place) -> Callable[[Path], None]:
    return lambda folder: how(name, (folder / name).read_text().replace(old, new))(folder)


def _all(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda folder: [change(folder) for change in changes]


SOURCES = {
    "a.tilebc": "kernel a\nvalue 1\n",
    "b.tilebc": "kernel b\nptx: libdevice\nptx: linked\n",
    "c.tilebc": "kernel c\n",
    "k.py": CASE.format(name="k") + "import os; VALUE = os.environ.get('SIZE', 1)\n",
    "l.py": CASE.format(name="l") + "try:\n    from far import VALUE\nexcept ImportError:\n    VALUE = 1\n",
}


def _edit_all(how: Callable) -> Callable[[Path], None]:
    return _all(
        _edit("a.tilebc", "value 1", "value 2", how),
        how("libdevice.bc", "libdevice 2"),
        how("ptxas", "ptxas 2"),
        _edit("SConstruct", '"opt": 2', '"opt": 1', how),
    )


# Changes that are made together: each decides alone of one of the artifacts that differ.
EDITED = ("sm_90/a.tileaa", "sm_90/b.ptx", "sm_90/k.cubin", "sm_90/c.tileaa")
CHANGES = {
    "a source, libdevice, ptxas and the build script, in place": Change(_edit_all(in_place), EDITED),
    "a source, libdevice, ptxas and the build script, by rename": Change(_edit_all(renamed), EDITED),
    "a variable, where Python looks for modules, another ptxas, opt, and the targets": Change(
        _all(write("first/far.py", "VALUE = 5\n"), write("ptxas-2", "ptxas 2")),
        ("tilebc/k.tilebc", "tilebc/l.tilebc", "sm_90/c.cubin", "sm_90/a.tileaa", "sm_100/a.tileaa"),
        ("ptxas=ptxas-2", "opt=1", "sm=90,100"),
        {"SIZE": "2", "PYTHONPATH": "first"},
    ),
}


class Changing(Project):
    """A project with ``SOURCES``."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        for name, text in SOURCES.items():
            self.write(name, text)
        script = PROGRAMS.replace('"*/k.py"', '"*.py"').replace('Glob("', 'Glob("*.tilebc") + Glob("')
        self.write("SConstruct", script.replace('"kernels", ', '"kernels", kernels={"c": {"opt": 2}}, sources='))
        self.path: tuple = (ROOT,)

    def build(self, change: Change, *arguments: str) -> dict[str, str]:
        path = [change.environment.get("PYTHONPATH"), *self.path]
        environment = change.environment | {"PYTHONPATH": os.pathsep.join(map(str, filter(None, path)))}
        # Of an option that is given twice the last counts.
        done = self.run(*change.options, *arguments, sm="90", **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return artifacts(self)

    def clean(self) -> None:
        shutil.rmtree(self.folder / "build")
        (self.folder / ".sconsign.dblite").unlink()

    def check(self, before: dict[str, str], change: Change, cache: str) -> dict[str, str]:
        """The artifacts after ``change``, which three builds make alike."""
        change.change(self.folder)
        incremental = self.build(change, cache)
        self.clean()
        cached = self.build(change, cache)
        self.clean()
        assert incremental == cached == self.build(change)
        assert incremental != before, "the change changes nothing"
        assert [path for path in change.differ if incremental[path] == before.get(path)] == []
        return incremental


@pytest.mark.parametrize("name", CHANGES)
def test_three_builds_agree_after_a_change_of_the_project(tmp_path, name):
    project, cache = Changing(tmp_path), f"cache={tmp_path / 'cache'}"
    project.check(project.build(Change(), cache), CHANGES[name], cache)


# A stage whose code lies in a package of the project's own, which is put before the real one.
STAGE_CODE = "code/tileiras_build/pipeline/edited_edge.py"
TO_LL = "CODE = {}\n\n\ndef to_ll(text, job):\n    return text + f'code {{CODE}}\\n'\n"
WITH_STAGE = (
    PROGRAMS.replace("*/k.py", "k.py")
    .replace('Glob("', 'Glob("*.tilebc") + Glob("')
    .replace(
        "from tests import fake_stages\n",
        """from dataclasses import replace
from tests import fake_stages
edge = "tileiras_build.pipeline.edited_edge:to_ll"
rows = [replace(row, edge=edge, sources=("pipeline/edited_edge.py",)) if row.suffix == ".ll" else row for row in fake_stages.PROGRAM_TABLE]
fake_stages.PROGRAM_TABLE = tuple(rows)
""",
    )
)


def test_three_builds_agree_after_changes_of_a_stages_code(tmp_path):
    """Of a size and a time that Python takes for unchanged."""
    project, cache = Changing(tmp_path), f"cache={tmp_path / 'cache'}"
    copy_package(tmp_path / "code/tileiras_build")
    project.write(STAGE_CODE, TO_LL.format(1))
    project.write("SConstruct", WITH_STAGE)
    project.path = (tmp_path / "code", ROOT)
    made = project.check(project.build(Change(), cache), Change(in_place(STAGE_CODE, TO_LL.format(2))), cache)
    project.check(made, Change(renamed(STAGE_CODE, TO_LL.format(3))), cache)


# ---- changes while a step runs
def during(project: Project, change: Callable[[Path], None], *arguments: str):
    """Build, and make ``change`` while a step waits at its gate."""
    done = []
    build = threading.Thread(target=lambda: done.append(project.run(*arguments, sm="90")))
    build.start()
    deadline = time.monotonic() + 100
    while not (project.folder / "started").exists() and build.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    change(project.folder)
    (project.folder / "go").touch()
    build.join()
    return done[0]


GATED = {
    "a source": ({"a.tilebc": "kernel a\ntileaa: gate\nvalue 1\n"}, _edit("a.tilebc", "value 1", "value 2")),
    "ptxas, by rename": ({"a.tilebc": "kernel a\ncubin: gate\n"}, renamed("ptxas", "ptxas 2")),
    "libdevice": (
        {"a.tilebc": "kernel a\nptx: libdevice\nptx: linked\ncut: gate\n"},
        in_place("libdevice.bc", "libdevice 2"),
    ),
    "a module that a file imports": (
        {
            "k.py": CASE.format(name="k")
            + "import os, time\nfrom sizes import VALUE\nopen('started', 'w').close()\n"
            + "while not os.path.exists('go'): time.sleep(0.01)\n",
            "sizes.py": "VALUE = 1\n",
        },
        in_place("sizes.py", "VALUE = 2\n"),
    ),
}


@pytest.mark.parametrize("name", GATED)
def test_what_changes_during_a_step_is_made_from_one_state_of_its_inputs(tmp_path, name):
    """And the cache has nothing of the new state under the key of the old one: another checkout has that."""
    files, change = GATED[name]
    cache = f"cache={tmp_path / 'cache'}"

    def checkout(name: str) -> Project:
        (tmp_path / name).mkdir()
        made = Project(tmp_path / name)
        made.write("SConstruct", PROGRAMS.replace('"*/k.py"', '"k.py"').replace('Glob("', 'Glob("a.tilebc") + Glob("'))
        for path, text in files.items():
            made.write(path, text)
        return made

    edited, old = checkout("edited"), checkout("old")
    done = during(edited, change, cache)
    assert done.returncode == 0, done.stdout + done.stderr
    (old.folder / "go").touch()
    assert edited.run(cache, sm="90").returncode == old.run(cache, sm="90").returncode == 0
    made = [artifacts(project) for project in (edited, old)]
    for project, with_cache in zip((edited, old), made):
        shutil.rmtree(project.folder / "build")
        (project.folder / ".sconsign.dblite").unlink()
        assert project.run(sm="90").returncode == 0
        assert artifacts(project) == with_cache
    assert made[0] != made[1]


@pytest.mark.parametrize(("name", "linked"), [("a source", "a.tilebc"), ("a module that a file imports", "sizes.py")])
def test_what_gets_more_names_during_a_step_has_not_changed(tmp_path, name, linked):
    """As installers give the files of an environment: time of change and number of names are others, the contents are the same."""
    project, is_done = Project(tmp_path), threading.Event()
    project.write("SConstruct", PROGRAMS.replace('"*/k.py"', '"k.py"').replace('Glob("', 'Glob("a.tilebc") + Glob("'))
    for path, text in GATED[name][0].items():
        project.write(path, text)

    def link(folder: Path) -> None:
        for number in range(100_000):
            os.link(folder / linked, folder / f"{number}.link")
            if is_done.wait(0.001):
                return

    linking = threading.Thread(target=link, args=(project.folder,))
    done = during(project, lambda folder: linking.start())
    is_done.set()
    linking.join()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_source_that_always_changes_fails_its_step(tmp_path):
    project = Project(tmp_path)
    project.write("a.tilebc", "kernel a\ntileaa: rewrite\n")
    done = project.run("-k", sm="90")
    assert done.returncode == 2
    message = "a.tilebc: error[input-changed]: file kept changing while a step was reading it"
    assert message in done.stderr
    assert steps_of(done) == sorted(["tileaa sm_90 a", *chain("b", targets=["sm_90"]), *cuts("sm_90")])


def test_an_import_that_always_changes_fails_its_step(tmp_path):
    project = Project(tmp_path)
    project.write("SConstruct", PROGRAMS.replace("*/k.py", "k.py"))
    project.write("sizes_of_k.txt", "")
    project.write(
        "k.py",
        CASE.format(name="k") + "import subprocess\nVALUE = open('sizes_of_k.txt').read()\n"
        "subprocess.run('echo >> sizes_of_k.txt', shell=True)\n",
    )
    done = project.run(sm="90")
    assert done.returncode == 2
    assert "k.py: error[input-changed]: sizes_of_k.txt changed during export, twice in a row" in done.stderr


TAMPER = """
from tileiras_build.build import stage_actions
write_files = stage_actions.write_files


def write(files):
    write_files(files)
    for path in files:
        if path.name == "a.ll":
            path.write_bytes(b"kernel a, by somebody else")


if ARGUMENTS.get("prefix") == "tampered":
    stage_actions.write_files = write
"""


def test_an_artifact_that_somebody_else_changes_is_not_taken_for_the_steps(tmp_path):
    project = Project(tmp_path)
    project.write("SConstruct", SCONSTRUCT.replace("DefaultEnvironment", TAMPER + "\nDefaultEnvironment", 1))
    done = project.run("prefix=tampered", "-k", sm="90")
    assert done.returncode == 2
    assert "build/sm_90/a.ll: error[input-changed]: file was modified after the step that builds it" in done.stderr
    assert not (tmp_path / "build/sm_90/a.ptx").exists()
    assert project.steps(sm="90") == [f"{stage} sm_90 a" for stage in ("cubin", "ll", "ptx")]


def test_a_file_that_another_step_makes_is_made_before_it_is_read(tmp_path):
    """The build script does not say that the export reads it."""
    project = Project(tmp_path)
    made = '\nDefault(env.Command("made.txt", "in.txt", Copy("$TARGET", "$SOURCE")))\n'
    project.write("SConstruct", PROGRAMS.replace('"*/k.py"', '"k.py"') + made)
    project.write("k.py", CASE.format(name="k") + "VALUE = open('made.txt').read()\n")
    project.write("in.txt", "1")
    assert project.run("made.txt", sm="90").returncode == 0
    assert project.run(sm="90").returncode == 0
    project.write("in.txt", "2")
    assert project.run(sm="90").returncode == 0
    assert "value '2'" in (tmp_path / "build/sm_90/k.ptx").read_text()
    assert project.steps(sm="90") == []
